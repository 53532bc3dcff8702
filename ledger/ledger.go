package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/source"
)

// Ledger is one table's part of a run. It holds no state of its own: every call reads or writes the store.
type Ledger struct {
	store fileio.Store
	root  string
}

// Key names a ledger within a staging root.
type Key struct {
	Job   string `json:"job"`
	Run   string `json:"run"`
	Table string `json:"table"`
}

// Open returns the ledger of a table's run. Nothing is read or written.
func Open(store fileio.Store, key Key) *Ledger {
	return &Ledger{store: store, root: path.Join(key.Job, key.Run, key.Table)}
}

// Store is where the ledger lies.
func (l *Ledger) Store() fileio.Store { return l.store }

// URI is the folder's address, for people.
func (l *Ledger) URI() string { return l.store.URI(l.root) }

func (l *Ledger) path(elem ...string) string {
	return path.Join(append([]string{l.root}, elem...)...)
}

// JobPath is where a run keeps its job.
func JobPath(job, run string) string { return path.Join(job, run, "job.json") }

// keptJob is the content of job.json.
type keptJob struct {
	// Owner is the execution that started the run. It tells a retry of that one from a second run under the same id.
	Owner string          `json:"owner"`
	Job   json.RawMessage `json:"job"`
}

// ErrRunExists is returned for a run id that another execution has used, or this one with another job.
var ErrRunExists = errors.New("the run exists already")

// WriteJob keeps the job of a run that an execution starts. The same owner may write the same job again.
func WriteJob(ctx context.Context, store fileio.Store, job, run, owner string, data []byte) error {
	content, err := json.Marshal(keptJob{Owner: owner, Job: data})
	if err != nil {
		return fmt.Errorf("keep the job of run %s: %w", run, err)
	}
	p := JobPath(job, run)
	if err := store.CreateExclusive(ctx, p, content); err != nil {
		if errors.Is(err, fileio.ErrExist) {
			return fmt.Errorf("%w: %s: start a new run with an id of its own, or go on with that one by `starter resume %s`", ErrRunExists, store.URI(p), run)
		}
		return fmt.Errorf("keep the job of run %s at %s: %w", run, store.URI(p), err)
	}
	return nil
}

// ReadJob returns the job that WriteJob kept and the execution that started the run, or fileio.ErrNotExist for a run that
// is not known or was given up without a trace.
func ReadJob(ctx context.Context, store fileio.Store, job, run string) (data []byte, owner string, err error) {
	content, err := readAll(ctx, store, JobPath(job, run))
	if err != nil {
		return nil, "", err
	}
	var kept keptJob
	if err := json.Unmarshal(content, &kept); err != nil {
		return nil, "", fmt.Errorf("%w: %s: %w", ErrCorrupt, store.URI(JobPath(job, run)), err)
	}
	return kept.Job, kept.Owner, nil
}

// Attempt is one try of a unit.
type Attempt struct {
	Unit int `json:"unit"`
	// ID is random and unique among attempts.
	ID string `json:"id"`
	// Prefix begins the name of every data file that the attempt makes.
	Prefix string `json:"prefix"`
}

// Register records a new attempt before it makes its first file, so that its files can be found whatever becomes of it.
func (l *Ledger) Register(ctx context.Context, unit int) (Attempt, error) {
	id := uuid.NewString()
	a := Attempt{Unit: unit, ID: id, Prefix: "data-" + id + "-"}
	if err := l.create(ctx, l.path("attempts", fmt.Sprintf("%06d-%s", unit, id)), a); err != nil {
		return Attempt{}, fmt.Errorf("register an attempt of unit %d: %w", unit, err)
	}
	return a, nil
}

// Prefixes returns the prefixes of all attempts ever registered.
func (l *Ledger) Prefixes(ctx context.Context) (map[string]bool, error) {
	prefixes := map[string]bool{}
	err := l.store.List(ctx, l.path("attempts"), func(i fileio.Info) error {
		// The name carries the id, so no file needs to be opened.
		name := path.Base(i.Path)
		if _, id, ok := strings.Cut(name, "-"); ok && !strings.HasPrefix(name, ".") {
			prefixes["data-"+id+"-"] = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list attempts: %w", err)
	}
	return prefixes, nil
}

// Lost counts the attempts at these first units that were not the one that counts for its unit; none when the ledger was cleaned.
func (l *Ledger) Lost(ctx context.Context, units int) (int, error) {
	attempts := 0
	err := l.store.List(ctx, l.path("attempts"), func(i fileio.Info) error {
		unit, _, _ := strings.Cut(path.Base(i.Path), "-")
		if n, err := strconv.Atoi(unit); err == nil && n < units {
			attempts++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("list attempts: %w", err)
	}
	return max(0, attempts-units), nil
}

// Counts are what one attempt read and wrote.
type Counts struct {
	RowsRead    int64 `json:"rows_read"`
	RowsWritten int64 `json:"rows_written"`
	Bytes       int64 `json:"bytes"`
	Files       int64 `json:"files"`
	// Of key tables, whose rows are shuffled on their way: RowsSorted lie in sorted files, RowsMerged of these were merged, and
	// RowsCollapsed of these had the key of another row, which is kept.
	RowsSorted    int64 `json:"rows_sorted,omitempty"`
	RowsMerged    int64 `json:"rows_merged,omitempty"`
	RowsCollapsed int64 `json:"rows_collapsed,omitempty"`
	// RowsDropped of those read were marked as deleted and not sorted. Of the merged, RowsSame are in the table as they are;
	// RowsGone are those of the table that are taken away, each by a row that is written.
	RowsDropped int64 `json:"rows_dropped,omitempty"`
	RowsSame    int64 `json:"rows_same,omitempty"`
	RowsGone    int64 `json:"rows_gone,omitempty"`
	// Sums are those of a key table's rows, where the plan asks for checksums.
	Sums Sums `json:"sums,omitzero"`
	// Replaced counts values that a policy changed: one entry for each column and policy, sorted.
	Replaced []source.Replaced `json:"replaced,omitempty"`
}

// Sums are sums of checksums of rows (row.Checksum), modulo 2^64: of those that the reader gave, of those among them that the counts of
// the same names tell of, and of those in data files that were read again.
type Sums struct {
	Read      uint64 `json:"read,omitempty"`
	Dropped   uint64 `json:"dropped,omitempty"`
	Collapsed uint64 `json:"collapsed,omitempty"`
	Same      uint64 `json:"same,omitempty"`
	Gone      uint64 `json:"gone,omitempty"`
	Files     uint64 `json:"files,omitempty"`
}

// Add sums them up.
func (s Sums) Add(t Sums) Sums {
	return Sums{s.Read + t.Read, s.Dropped + t.Dropped, s.Collapsed + t.Collapsed, s.Same + t.Same, s.Gone + t.Gone, s.Files + t.Files}
}

// Wanted is the sum that the data files should have.
func (s Sums) Wanted() uint64 { return s.Read - s.Dropped - s.Collapsed - s.Same + s.Gone }

// Add sums counts. Neither operand is changed.
func (c Counts) Add(d Counts) Counts {
	return Counts{
		RowsRead: c.RowsRead + d.RowsRead, RowsWritten: c.RowsWritten + d.RowsWritten,
		Bytes: c.Bytes + d.Bytes, Files: c.Files + d.Files,
		RowsSorted: c.RowsSorted + d.RowsSorted, RowsMerged: c.RowsMerged + d.RowsMerged, RowsCollapsed: c.RowsCollapsed + d.RowsCollapsed,
		RowsDropped: c.RowsDropped + d.RowsDropped, RowsSame: c.RowsSame + d.RowsSame, RowsGone: c.RowsGone + d.RowsGone,
		Sums: c.Sums.Add(d.Sums), Replaced: AddReplaced(c.Replaced, d.Replaced),
	}
}

// Balanced tells whether all rows that were merged are accounted for, and nothing else was written.
func (c Counts) Balanced() bool {
	return c.RowsMerged+c.RowsGone == c.RowsWritten+c.RowsCollapsed+c.RowsSame
}

// Merged says for people what became of merged rows.
func (c Counts) Merged() string {
	text := fmt.Sprintf("%d rows merged, of which %d had the key of another; %d are in files", c.RowsMerged, c.RowsCollapsed, c.RowsWritten)
	if c.RowsSame+c.RowsGone > 0 {
		text += fmt.Sprintf(", %d in the table as they are, and %d of the table are taken away", c.RowsSame, c.RowsGone)
	}
	return text
}

// AddReplaced sums two lists to one with an entry for each column and policy, sorted. Neither is changed.
func AddReplaced(a, b []source.Replaced) []source.Replaced {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y source.Replaced) int {
		return cmp.Or(strings.Compare(x.Column, y.Column), strings.Compare(x.Policy, y.Policy))
	})
	sums := all[:0]
	for _, r := range all {
		if n := len(sums); n > 0 && sums[n-1].Column == r.Column && sums[n-1].Policy == r.Policy {
			sums[n-1].Count += r.Count
			continue
		}
		sums = append(sums, r)
	}
	return sums
}

// Reference stands for a commit-message file, or another that a claim names in its place.
type Reference struct {
	// Path is relative to the staging root.
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Claim is the record of the attempt that won a unit.
type Claim struct {
	Unit    int       `json:"unit"`
	Attempt string    `json:"attempt"`
	Message Reference `json:"message"`
	Counts  Counts    `json:"counts"`
	// Moment is the one at which all of the unit was read, nil when each split was read at its own.
	Moment *source.Moment `json:"moment,omitempty"`
}

// Cuts sums up the moments at which units were read.
func Cuts(claims []*Claim) []source.Cut {
	var moments []source.Moment
	for _, c := range claims {
		if c.Moment != nil {
			moments = append(moments, *c.Moment)
		}
	}
	return source.Cuts(moments)
}

// WriteMessages keeps the commit messages of an attempt.
func (l *Ledger) WriteMessages(ctx context.Context, a Attempt, data []byte) (Reference, error) {
	p := l.path("messages", fmt.Sprintf("%06d-%s", a.Unit, a.ID))
	sum := sha256.Sum256(data)
	if err := l.store.CreateExclusive(ctx, p, data); err != nil {
		return Reference{}, fmt.Errorf("keep the commit messages of unit %d: %w", a.Unit, err)
	}
	return Reference{Path: p, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}, nil
}

// ErrCorrupt is returned when a file of the ledger is not what its reference says. It is never retried.
var ErrCorrupt = errors.New("ledger file is damaged")

// ReadMessages returns a commit-message file after checking its length and digest.
func (l *Ledger) ReadMessages(ctx context.Context, r Reference) ([]byte, error) {
	data, err := readAll(ctx, l.store, r.Path)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s, which a claim names, was removed by another tool: %w", ErrCorrupt, l.store.URI(r.Path), err)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if int64(len(data)) != r.Size || hex.EncodeToString(sum[:]) != r.SHA256 {
		return nil, fmt.Errorf("%w: %s has %d bytes with digest %x, its claim says %d with %s",
			ErrCorrupt, l.store.URI(r.Path), len(data), sum, r.Size, r.SHA256)
	}
	return data, nil
}

// Winner returns the claim of a unit, or nil when none has won yet.
func (l *Ledger) Winner(ctx context.Context, unit int) (*Claim, error) {
	var c Claim
	ok, err := l.read(ctx, l.claimPath(unit), &c)
	if err != nil || !ok {
		return nil, err
	}
	return &c, nil
}

// Claim tries to win a unit. It returns the claim that counts, which is another attempt's when that one was first.
func (l *Ledger) Claim(ctx context.Context, c Claim) (*Claim, error) {
	err := l.create(ctx, l.claimPath(c.Unit), c)
	switch {
	case err == nil:
		return &c, nil
	case !errors.Is(err, fileio.ErrExist):
		return nil, fmt.Errorf("claim unit %d: %w", c.Unit, err)
	}
	w, err := l.Winner(ctx, c.Unit)
	if err == nil && w == nil {
		err = fmt.Errorf("claim unit %d: taken and gone at once, the staging store is not consistent: %w", c.Unit, ErrCorrupt)
	}
	return w, err
}

func (l *Ledger) claimPath(unit int) string { return l.path("splits", fmt.Sprintf("%06d", unit)) }

// Claimed returns the units that have a winner.
func (l *Ledger) Claimed(ctx context.Context) (map[int]bool, error) {
	units := map[int]bool{}
	err := l.store.List(ctx, l.path("splits"), func(i fileio.Info) error {
		name := path.Base(i.Path)
		if strings.HasPrefix(name, ".") {
			return nil
		}
		var n int
		if _, err := fmt.Sscanf(name, "%d", &n); err != nil {
			return fmt.Errorf("%w: %s is no claim", ErrCorrupt, l.store.URI(i.Path))
		}
		units[n] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	return units, nil
}

// Remove deletes the whole ledger. The caller has made sure that nothing in it is needed. The plan goes first and the
// decisions last: a stalled attempt must at no moment find a plan that it may still write for.
func (l *Ledger) Remove(ctx context.Context) error {
	var stages [3][]string
	err := l.store.List(ctx, l.root, func(i fileio.Info) error {
		stage := l.removal(i.Path)
		stages[stage] = append(stages[stage], i.Path)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list %s: %w", l.URI(), err)
	}
	for _, paths := range stages {
		if err := fileio.DeleteAll(ctx, l.store, 1, paths); err != nil {
			return fmt.Errorf("remove %s: %w", l.URI(), err)
		}
	}
	return nil
}

// removal is the stage of Remove in which a file goes.
func (l *Ledger) removal(p string) int {
	switch name := strings.TrimPrefix(p, l.root+"/"); {
	case name == planFile:
		return 0
	case strings.HasPrefix(name, decisionPrefix):
		return 2
	}
	return 1
}

func (l *Ledger) create(ctx context.Context, p string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return l.store.CreateExclusive(ctx, p, data)
}

// read decodes a file into v and tells whether it was there.
func (l *Ledger) read(ctx context.Context, p string, v any) (bool, error) {
	data, err := readAll(ctx, l.store, p)
	if errors.Is(err, fileio.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("%w: %s: %w", ErrCorrupt, l.store.URI(p), err)
	}
	return true, nil
}

// maxFile bounds what is read of the ledger into memory at once.
const maxFile = 1 << 30

func readAll(ctx context.Context, store fileio.Store, p string) ([]byte, error) {
	return fileio.ReadFile(ctx, store, p, maxFile)
}

// now is the time that records carry, in UTC.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
