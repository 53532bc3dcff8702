package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributary-lake/tributary/lake/schema"
)

// ErrCorrupt is returned for a file that is not what its name says. Reading again does not help.
var ErrCorrupt = errors.New("corrupt table metadata")

// ID numbers a table's snapshots from 1; 0 means none.
type ID int64

// Kind tells what a commit did.
type Kind string

// The kinds of Paimon's Snapshot.CommitKind.
const (
	// Append only added rows.
	Append Kind = "APPEND"
	// Compact rewrote files and changed no row.
	Compact Kind = "COMPACT"
	// Overwrite took rows out.
	Overwrite Kind = "OVERWRITE"
	// Analyze added statistics.
	Analyze Kind = "ANALYZE"
)

// FormatVersion is the version of the snapshot's JSON, the same in all releases since 0.x.
const FormatVersion = 3

// Snapshot is a table at one moment (org.apache.paimon.Snapshot). Pointers and empty strings stand for keys that are
// absent.
type Snapshot struct {
	Version int
	// UUID is written by Paimon 2.0 and later.
	UUID string
	ID   ID
	// SchemaID is the table's latest schema when the snapshot was made.
	SchemaID schema.ID
	// The manifest lists, by bare file name and size: the base is the table before, the delta what this commit changed.
	BaseManifestList          string
	BaseManifestListSize      *int64
	DeltaManifestList         string
	DeltaManifestListSize     *int64
	ChangelogManifestList     string
	ChangelogManifestListSize *int64
	// IndexManifest names all live index files.
	IndexManifest string
	CommitUser    string
	// CommitIdentifier grows with the commits of one user. Java's batch jobs all use the largest int64.
	CommitIdentifier int64
	CommitKind       Kind
	// TimeMillis is the wall clock of the committer.
	TimeMillis int64
	// TotalRecordCount counts the rows of all live files, DeltaRecordCount those that this commit added less those it removed.
	TotalRecordCount     int64
	DeltaRecordCount     int64
	ChangelogRecordCount *int64
	Watermark            *int64
	// Statistics names a file of ANALYZE.
	Statistics string
	// Properties are what this commit passed; they are not inherited.
	Properties map[string]string
	// NextRowID is 0 for tables without row tracking, nil before Paimon 1.3.
	NextRowID *int64
	// Operation is written by Paimon 2.0 and later.
	Operation string
}

// wire is the JSON form. Numbers are int64 throughout: a float would break identifiers above 2^53.
type wire struct {
	Version                   *int              `json:"version"`
	UUID                      string            `json:"uuid"`
	ID                        ID                `json:"id"`
	SchemaID                  *schema.ID        `json:"schemaId"`
	BaseManifestList          string            `json:"baseManifestList"`
	BaseManifestListSize      *int64            `json:"baseManifestListSize"`
	DeltaManifestList         string            `json:"deltaManifestList"`
	DeltaManifestListSize     *int64            `json:"deltaManifestListSize"`
	ChangelogManifestList     string            `json:"changelogManifestList"`
	ChangelogManifestListSize *int64            `json:"changelogManifestListSize"`
	IndexManifest             string            `json:"indexManifest"`
	CommitUser                *string           `json:"commitUser"`
	CommitIdentifier          *int64            `json:"commitIdentifier"`
	CommitKind                Kind              `json:"commitKind"`
	TimeMillis                int64             `json:"timeMillis"`
	TotalRecordCount          *int64            `json:"totalRecordCount"`
	DeltaRecordCount          *int64            `json:"deltaRecordCount"`
	ChangelogRecordCount      *int64            `json:"changelogRecordCount"`
	Watermark                 *int64            `json:"watermark"`
	Statistics                string            `json:"statistics"`
	Properties                map[string]string `json:"properties"`
	NextRowID                 *int64            `json:"nextRowId"`
	Operation                 string            `json:"operation"`
}

// Parse reads a snapshot's JSON. Unknown keys are ignored.
func Parse(data []byte) (*Snapshot, error) {
	// The decoder would take other bytes than UTF-8 for a question mark.
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%w: it is not UTF-8", ErrCorrupt)
	}
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if w.Version != nil && *w.Version > FormatVersion {
		return nil, fmt.Errorf("%w: snapshot version %d; up to %d can be read, use a newer release", ErrCorrupt, *w.Version, FormatVersion)
	}
	if missing := w.missing(); missing != "" {
		return nil, fmt.Errorf("%w: %q is missing or not allowed", ErrCorrupt, missing)
	}
	s := &Snapshot{
		UUID: w.UUID, ID: w.ID, SchemaID: *w.SchemaID,
		BaseManifestList: w.BaseManifestList, BaseManifestListSize: w.BaseManifestListSize,
		DeltaManifestList: w.DeltaManifestList, DeltaManifestListSize: w.DeltaManifestListSize,
		ChangelogManifestList: w.ChangelogManifestList, ChangelogManifestListSize: w.ChangelogManifestListSize,
		IndexManifest: w.IndexManifest, CommitUser: *w.CommitUser, CommitIdentifier: *w.CommitIdentifier, CommitKind: w.CommitKind,
		TimeMillis: w.TimeMillis, TotalRecordCount: orZero(w.TotalRecordCount), DeltaRecordCount: orZero(w.DeltaRecordCount),
		ChangelogRecordCount: w.ChangelogRecordCount, Watermark: w.Watermark, Statistics: w.Statistics, Properties: w.Properties,
		NextRowID: w.NextRowID, Operation: w.Operation,
	}
	if w.Version != nil {
		s.Version = *w.Version
	}
	return s, nil
}

// missing names the first key without which a snapshot cannot be used, or whose value could lead out of the table.
func (w *wire) missing() string {
	switch {
	case w.ID < 1:
		return "id"
	case w.SchemaID == nil || *w.SchemaID < 0:
		return "schemaId"
	case w.CommitUser == nil:
		return "commitUser"
	case w.CommitIdentifier == nil:
		return "commitIdentifier"
	case w.CommitKind == "":
		return "commitKind"
	case w.counted() && w.TotalRecordCount == nil:
		return "totalRecordCount"
	case w.counted() && w.DeltaRecordCount == nil:
		return "deltaRecordCount"
	case !bare(w.BaseManifestList):
		return "baseManifestList"
	case !bare(w.DeltaManifestList):
		return "deltaManifestList"
	}
	for key, name := range map[string]string{
		"changelogManifestList": w.ChangelogManifestList, "indexManifest": w.IndexManifest, "statistics": w.Statistics,
	} {
		if name != "" && !bare(name) {
			return key
		}
	}
	return ""
}

// counted tells that a snapshot is of a version whose writers always count rows.
func (w *wire) counted() bool { return w.Version != nil && *w.Version >= FormatVersion }

func bare(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00")
}

func orZero(v *int64) int64 {
	if v == nil {
		return 0
	}
	return *v
}

// Marshal gives the JSON that Java writes: the same keys in the same order, nulls left out.
func (s *Snapshot) Marshal() ([]byte, error) {
	j := jsonObject{}
	j.number("version", int64(s.Version))
	j.text("uuid", s.UUID)
	j.number("id", int64(s.ID))
	j.number("schemaId", int64(s.SchemaID))
	j.text("baseManifestList", s.BaseManifestList)
	j.optional("baseManifestListSize", s.BaseManifestListSize)
	j.text("deltaManifestList", s.DeltaManifestList)
	j.optional("deltaManifestListSize", s.DeltaManifestListSize)
	j.text("changelogManifestList", s.ChangelogManifestList)
	j.optional("changelogManifestListSize", s.ChangelogManifestListSize)
	j.text("indexManifest", s.IndexManifest)
	j.any("commitUser", s.CommitUser)
	j.number("commitIdentifier", s.CommitIdentifier)
	j.text("commitKind", string(s.CommitKind))
	j.number("timeMillis", s.TimeMillis)
	j.number("totalRecordCount", s.TotalRecordCount)
	j.number("deltaRecordCount", s.DeltaRecordCount)
	j.optional("changelogRecordCount", s.ChangelogRecordCount)
	j.optional("watermark", s.Watermark)
	j.text("statistics", s.Statistics)
	j.properties("properties", s.Properties)
	j.optional("nextRowId", s.NextRowID)
	j.text("operation", s.Operation)
	return j.finish()
}

// jsonObject writes an object in the layout of Jackson's default pretty printer.
type jsonObject struct {
	b   bytes.Buffer
	err error
}

func (j *jsonObject) key(k string) {
	if j.b.Len() == 0 {
		j.b.WriteString("{\n  ")
	} else {
		j.b.WriteString(",\n  ")
	}
	j.encode(k)
	j.b.WriteString(" : ")
}

func (j *jsonObject) encode(v any) {
	e := json.NewEncoder(&j.b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		j.err = errors.Join(j.err, err)
		return
	}
	j.b.Truncate(j.b.Len() - 1) // the encoder's newline
}

func (j *jsonObject) any(k string, v any) {
	j.key(k)
	j.encode(v)
}

func (j *jsonObject) number(k string, v int64) {
	j.key(k)
	j.b.WriteString(strconv.FormatInt(v, 10))
}

func (j *jsonObject) optional(k string, v *int64) {
	if v != nil {
		j.number(k, *v)
	}
}

func (j *jsonObject) text(k, v string) {
	if v != "" {
		j.any(k, v)
	}
}

func (j *jsonObject) properties(k string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	j.key(k)
	separator := "{\n    "
	for _, name := range slices.Sorted(maps.Keys(m)) {
		j.b.WriteString(separator)
		j.encode(name)
		j.b.WriteString(" : ")
		j.encode(m[name])
		separator = ",\n    "
	}
	j.b.WriteString("\n  }")
}

func (j *jsonObject) finish() ([]byte, error) {
	if j.err != nil {
		return nil, fmt.Errorf("marshal a snapshot: %w", j.err)
	}
	j.b.WriteString("\n}")
	return j.b.Bytes(), nil
}
