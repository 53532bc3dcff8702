package message_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/schema"
)

// golden is a message that a Paimon release serialized, and what that release reads in it.
type golden struct {
	name    string
	version int
	body    []byte
	view    view
}

// view is the release's own reading: values in canonical text, rows in hex.
type view struct {
	Version                  int         `json:"version"`
	Partition                string      `json:"partition"`
	Bucket                   int32       `json:"bucket"`
	TotalBuckets             *int32      `json:"totalBuckets"`
	NewFiles                 []dataView  `json:"newFiles"`
	DeletedFiles             []dataView  `json:"deletedFiles"`
	ChangelogFiles           []dataView  `json:"changelogFiles"`
	NewIndexFiles            []indexView `json:"newIndexFiles"`
	DeletedIndexFiles        []indexView `json:"deletedIndexFiles"`
	CompactBefore            []dataView  `json:"compactBefore"`
	CompactAfter             []dataView  `json:"compactAfter"`
	CompactChangelogFiles    []dataView  `json:"compactChangelogFiles"`
	CompactNewIndexFiles     []indexView `json:"compactNewIndexFiles"`
	CompactDeletedIndexFiles []indexView `json:"compactDeletedIndexFiles"`
	Hex                      string      `json:"hex"`
}

type statsView struct {
	Min    string    `json:"_MIN_VALUES"`
	Max    string    `json:"_MAX_VALUES"`
	Counts []*string `json:"_NULL_COUNTS"`
}

type dataView struct {
	Name         string    `json:"_FILE_NAME"`
	Size         string    `json:"_FILE_SIZE"`
	Rows         string    `json:"_ROW_COUNT"`
	MinKey       string    `json:"_MIN_KEY"`
	MaxKey       string    `json:"_MAX_KEY"`
	KeyStats     statsView `json:"_KEY_STATS"`
	ValueStats   statsView `json:"_VALUE_STATS"`
	MinSequence  string    `json:"_MIN_SEQUENCE_NUMBER"`
	MaxSequence  string    `json:"_MAX_SEQUENCE_NUMBER"`
	SchemaID     string    `json:"_SCHEMA_ID"`
	Level        string    `json:"_LEVEL"`
	ExtraFiles   []string  `json:"_EXTRA_FILES"`
	Creation     *string   `json:"_CREATION_TIME"`
	DeleteRows   *string   `json:"_DELETE_ROW_COUNT"`
	Embedded     *string   `json:"_EMBEDDED_FILE_INDEX"`
	Source       *string   `json:"_FILE_SOURCE"`
	StatsColumns []string  `json:"_VALUE_STATS_COLS"`
	ExternalPath *string   `json:"_EXTERNAL_PATH"`
	FirstRowID   *string   `json:"_FIRST_ROW_ID"`
	WriteColumns []string  `json:"_WRITE_COLS"`
}

type indexView struct {
	Type    string `json:"_INDEX_TYPE"`
	Name    string `json:"_FILE_NAME"`
	Size    string `json:"_FILE_SIZE"`
	Rows    string `json:"_ROW_COUNT"`
	Vectors []struct {
		File        string  `json:"f0"`
		Offset      string  `json:"f1"`
		Length      string  `json:"f2"`
		Cardinality *string `json:"_CARDINALITY"`
	} `json:"_DELETIONS_VECTORS_RANGES"`
	ExternalPath *string         `json:"_EXTERNAL_PATH"`
	GlobalIndex  json.RawMessage `json:"_GLOBAL_INDEX"`
}

func goldens(t testing.TB) []golden {
	paths, err := filepath.Glob("testdata/golden/*.bin")
	require.NoError(t, err)
	require.Len(t, paths, 42)
	var all []golden
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		g := golden{name: filepath.Base(path), version: int(binary.BigEndian.Uint32(data)), body: data[4:]}
		text, err := os.ReadFile(strings.TrimSuffix(path, ".bin") + ".json")
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &g.view))
		require.Equal(t, g.view.Hex, hex.EncodeToString(g.body))
		all = append(all, g)
	}
	return all
}

func unhex(t testing.TB, text string) []byte {
	b, err := hex.DecodeString(text)
	require.NoError(t, err)
	return b
}

func number(t testing.TB, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

func optionalNumber(t testing.TB, text *string) *int64 {
	if text == nil {
		return nil
	}
	n := number(t, *text)
	return &n
}

func (s statsView) stats(t testing.TB) manifest.Stats {
	out := manifest.Stats{Min: unhex(t, s.Min), Max: unhex(t, s.Max), NullCounts: []*int64{}}
	for _, c := range s.Counts {
		out.NullCounts = append(out.NullCounts, optionalNumber(t, c))
	}
	return out
}

func dataFiles(t testing.TB, views []dataView) []manifest.DataFile {
	var files []manifest.DataFile
	for _, v := range views {
		f := manifest.DataFile{
			Name: v.Name, Size: number(t, v.Size), Rows: number(t, v.Rows), MinKey: unhex(t, v.MinKey), MaxKey: unhex(t, v.MaxKey),
			KeyStats: v.KeyStats.stats(t), ValueStats: v.ValueStats.stats(t),
			MinSequence: number(t, v.MinSequence), MaxSequence: number(t, v.MaxSequence), SchemaID: schema.ID(number(t, v.SchemaID)),
			Level: int32(number(t, v.Level)), ExtraFiles: v.ExtraFiles, DeleteRows: optionalNumber(t, v.DeleteRows),
			ValueStatsColumns: v.StatsColumns, ExternalPath: v.ExternalPath,
			FirstRowID: optionalNumber(t, v.FirstRowID), WriteColumns: v.WriteColumns,
		}
		if v.Creation != nil {
			at, err := time.Parse("2006-01-02T15:04:05.999", *v.Creation)
			require.NoError(t, err)
			millis := at.UnixMilli()
			f.CreationMillis = &millis
		}
		if v.Embedded != nil {
			f.EmbeddedIndex = unhex(t, *v.Embedded)
		}
		if n := optionalNumber(t, v.Source); n != nil {
			source := manifest.FileSource(*n)
			f.Source = &source
		}
		files = append(files, f)
	}
	return files
}

func indexFiles(t testing.TB, lists ...[]indexView) []manifest.IndexFile {
	var files []manifest.IndexFile
	for _, v := range slices.Concat(lists...) {
		require.Contains(t, []string{"", "null"}, string(v.GlobalIndex))
		f := manifest.IndexFile{Type: v.Type, Name: v.Name, Size: number(t, v.Size), Rows: number(t, v.Rows), ExternalPath: v.ExternalPath}
		for _, d := range v.Vectors {
			f.DeletionVectors = append(f.DeletionVectors, manifest.DeletionVector{
				DataFile: d.File, Offset: int32(number(t, d.Offset)), Length: int32(number(t, d.Length)),
				Cardinality: optionalNumber(t, d.Cardinality),
			})
		}
		files = append(files, f)
	}
	return files
}

func (v view) commit(t testing.TB) *message.Commit {
	m := &message.Commit{
		Partition: unhex(t, v.Partition), Bucket: v.Bucket, TotalBuckets: v.TotalBuckets,
		Data: message.DataIncrement{
			NewFiles: dataFiles(t, v.NewFiles), DeletedFiles: dataFiles(t, v.DeletedFiles), ChangelogFiles: dataFiles(t, v.ChangelogFiles),
		},
		Compact: message.CompactIncrement{
			Before: dataFiles(t, v.CompactBefore), After: dataFiles(t, v.CompactAfter), ChangelogFiles: dataFiles(t, v.CompactChangelogFiles),
		},
	}
	created, deleted := indexFiles(t, v.NewIndexFiles), indexFiles(t, v.DeletedIndexFiles)
	compactCreated, compactDeleted := indexFiles(t, v.CompactNewIndexFiles), indexFiles(t, v.CompactDeletedIndexFiles)
	// Before version 10 the view shows a message's index files with the data; Paimon since 1.3 reads them as the
	// compaction's where there was one.
	if v.Version < 10 && len(v.CompactBefore)+len(v.CompactAfter)+len(v.CompactChangelogFiles) > 0 {
		created, deleted, compactCreated, compactDeleted = nil, nil, created, deleted
	}
	m.Data.NewIndexFiles, m.Data.DeletedIndexFiles = created, deleted
	m.Compact.NewIndexFiles, m.Compact.DeletedIndexFiles = compactCreated, compactDeleted
	return m
}

func TestMessagesOfEveryReleaseComeBack(t *testing.T) {
	seen := map[int]int{}
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			seen[g.version]++
			m, err := message.Decode(g.version, g.body)
			require.NoError(t, err)
			require.Equal(t, g.view.commit(t), m)
			data, err := message.Encode(g.version, m)
			require.NoError(t, err)
			require.Equal(t, g.view.Hex, hex.EncodeToString(data))
		})
	}
	require.Equal(t, map[int]int{6: 7, 7: 14, 10: 7, 11: 7, 12: 7}, seen)
}

// The 2.0.0 messages are the 1.4.2 ones, rewritten by Paimon 2.0.0 itself.
func TestRecodingIsPaimons(t *testing.T) {
	files := map[string]golden{}
	for _, g := range goldens(t) {
		files[g.name] = g
	}
	for name, g := range files {
		to, ok := files[strings.Replace(name, "-paimon-1.4.2-v11", "-paimon-2.0.0-v12", 1)]
		if !ok || g.version != 11 {
			continue
		}
		m, err := message.Decode(11, g.body)
		require.NoError(t, err)
		data, err := message.Encode(12, m)
		require.NoError(t, err)
		require.Equal(t, hex.EncodeToString(to.body), hex.EncodeToString(data), name)
	}
	// every-field and empty hold the same values in every release, as far as it has the fields.
	for _, what := range []string{"empty", "every-field"} {
		newest, err := message.Decode(12, files[what+"-paimon-2.0.0-v12.bin"].body)
		require.NoError(t, err)
		for i := range newest.Data.NewFiles {
			newest.Data.NewFiles[i].FirstRowID, newest.Data.NewFiles[i].WriteColumns = nil, nil
		}
		for _, release := range []struct {
			name    string
			version int
		}{{"1.0.1-v6", 6}, {"1.1.1-v7", 7}, {"1.2.0-v7", 7}} {
			data, err := message.Encode(release.version, newest)
			require.NoError(t, err)
			require.Equal(t, files[what+"-paimon-"+release.name+".bin"].view.Hex, hex.EncodeToString(data))
		}
	}
}
