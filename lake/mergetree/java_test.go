package mergetree_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// twins are two tables of one schema: one gets files of this package, the other of Paimon's writer, of the same rows.
type twins struct {
	referee   *testenv.JavaReferee
	warehouse string
	store     fileio.Store
	spec      *mergetree.Spec
	model     *model
	files     []manifest.DataFile
	codec     *datafile.Codec
}

func (w *twins) ours() string { return "t.ours" }
func (w *twins) java() string { return "t.java" }

func newTwins(t *testing.T, table *schema.Table, m *model) *twins {
	t.Helper()
	w := &twins{referee: testenv.Referee(t), warehouse: t.TempDir(), model: m}
	var err error
	w.store, err = fileio.NewLocal(w.warehouse)
	require.NoError(t, err)
	first, err := schema.New(schema.Spec{Fields: table.Fields, PrimaryKeys: table.PrimaryKeys, Options: table.Options})
	require.NoError(t, err)
	var loaded *schema.Table
	for _, name := range []string{"ours", "java"} {
		loaded, err = catalog.NewFilesystem(w.store).CreateTable(t.Context(), catalog.Identifier{Database: "t", Table: name}, first)
		require.NoError(t, err)
	}
	w.spec, err = mergetree.SpecOf(loaded)
	require.NoError(t, err)
	w.codec, err = datafile.NewCodec("zstd", 1)
	require.NoError(t, err)
	m.table = loaded
	return w
}

// round adds rows to both tables.
func (w *twins) round(t *testing.T, n int, rows []entry) {
	t.Helper()
	s, err := mergetree.NewSorter(w.spec, mergetree.SortOptions{FirstSequence: w.nextSequence()})
	require.NoError(t, err)
	b := row.NewBatch(row.Types(w.spec.Table().Fields))
	var kinds []row.Kind
	var given []testenv.Row
	for _, e := range rows {
		r := testenv.Row{"_kind": e.kind.String()}
		for c, v := range e.values {
			b.Columns[c].Append(v)
			if f := w.spec.Table().Fields[c]; !v.Null {
				r[f.Name] = jsonValue(f.Type, v)
			}
		}
		b.Rows++
		kinds, given = append(kinds, e.kind), append(given, r)
	}
	require.NoError(t, s.Write(t.Context(), b, kinds))
	src, err := s.Sorted(t.Context())
	require.NoError(t, err)
	out, err := mergetree.NewWriter(w.spec, mergetree.WriterOptions{
		File: datafile.Options{Codec: w.codec}, Store: w.store, Folder: "t.db/ours/bucket-0",
		Name: func(i int) string { return fmt.Sprintf("data-%d-%d.parquet", n, i) },
	})
	require.NoError(t, err)
	require.NoError(t, out.WriteAll(t.Context(), src))
	require.NoError(t, s.Close(t.Context()))
	files, err := out.Close()
	require.NoError(t, err)
	w.files = append(w.files, files...)

	buckets := int32(1)
	data, err := message.WriteFile(message.File{
		Producer: "test", PaimonLine: "1.4", SerializerVersion: message.DefaultVersion, SchemaID: 0,
		Messages: []*message.Commit{{Partition: make([]byte, 12), TotalBuckets: &buckets, Data: message.DataIncrement{NewFiles: files}}},
	})
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "message")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	_, err = w.referee.Commit(t, w.warehouse, w.ours(), "tester", int64(n), name)
	require.NoError(t, err)
	_, err = w.referee.Commit(t, w.warehouse, w.java(), "tester", int64(n),
		w.referee.Produce(t, w.warehouse, w.java(), testenv.ProduceOptions{}, given...))
	require.NoError(t, err)
}

// nextSequence is where Paimon's writer would go on: behind the live files.
func (w *twins) nextSequence() int64 {
	next := int64(0)
	for _, f := range w.files {
		next = max(next, f.MaxSequence+1)
	}
	return next
}

// merged are the rows of our files as this package merges them.
func (w *twins) merged(t *testing.T) []string {
	t.Helper()
	var sources []mergetree.Source
	for _, f := range w.files {
		sources = append(sources, openFile(t, w.store, "t.db/ours/bucket-0/"+f.Name, f.Size, w.spec.Fields()))
	}
	lines := append([]string{}, jsonLines(t, w.spec, mergetree.Merge(w.spec, sources, mergetree.MergeOptions{DropDeletes: true}))...)
	slices.Sort(lines)
	return lines
}

// read are the rows of a table as Paimon's reader merges them.
func (w *twins) read(t *testing.T, table string) []string {
	t.Helper()
	lines := []string{}
	for _, text := range w.referee.Read(t, w.warehouse, table, 0) {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		line, err := json.Marshal(m)
		require.NoError(t, err)
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return lines
}

// described are a table's files, without what differs between writers.
func (w *twins) described(t *testing.T, table string) []string {
	t.Helper()
	var lines []string
	files := w.referee.Describe(t, w.warehouse, table, 0).Files
	slices.SortFunc(files, func(a, b testenv.DataFile) int { return int(a.MinSequence - b.MinSequence) })
	for _, f := range files {
		f.Name, f.Size = "", 0
		line, err := json.Marshal(f)
		require.NoError(t, err)
		// The least of zeros is -0 in our statistics, as in Parquet's.
		lines = append(lines, strings.ReplaceAll(string(line), `"min":"-0"`, `"min":"0"`))
	}
	return lines
}

// Files of the same rows say the same of themselves whoever wrote them, and are the same rows whoever merges them.
func TestPaimonMergesFilesAlike(t *testing.T) {
	more := [][]string{
		{},
		{"data-file.thin-mode", "true"},
		{"metadata.stats-keep-first-n-columns", "2", "ignore-update-before", "true"},
		{"metadata.stats-mode", "counts", "metadata.stats-mode.per.level", "0:full,5:none"},
		{"metadata.stats-mode", "full", "fields.c2.stats-mode", "none"},
		{"data-file.thin-mode", "true", "metadata.stats-keep-first-n-columns", "1"},
		{"metadata.stats-mode", "truncate(2)"},
	}
	for i, e := range engines() {
		t.Run(e.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 11))
			table, m := randomTable(r, e.engine)
			for k, f := range table.Fields {
				if slices.Contains(table.PrimaryKeys, f.Name) {
					table.Fields[k].Type.NotNull = true
				}
			}
			table.Options["write-only"] = "true"
			if e.option != "" {
				table.Options[e.option] = "true"
			}
			for k := 0; k < len(more[i]); k += 2 {
				table.Options[more[i][k]] = more[i][k+1]
			}
			w := newTwins(t, table, m)
			for n := range 3 {
				rows := randomRows(r, w.spec.Table(), 60, e.kinds)
				for _, e := range rows {
					tame(w.spec.Table(), e)
				}
				if m.descending {
					rows = oncePerKey(m, rows)
				}
				w.round(t, n+1, rows)
			}
			require.Equal(t, w.described(t, w.java()), w.described(t, w.ours()), "key %v, options %v", table.PrimaryKeys, table.Options)
			want := w.merged(t)
			require.NotEmpty(t, want)
			if w.spec.Engine != mergetree.FirstRow { // whose files nobody sees before they are compacted
				require.Equal(t, want, w.read(t, w.java()))
				require.Equal(t, want, w.read(t, w.ours()))
			}
			w.referee.Compact(t, w.warehouse, w.ours())
			require.Equal(t, want, w.read(t, w.ours()))
		})
	}
}

// oncePerKey leaves one row of each key. The writer of Paimon 1.4.2 merges rows of its buffer by ascending sequence fields
// whatever `sequence.field.sort-order` says; its readers heed it, and so does the writer of 2.0.0.
func oncePerKey(m *model, rows []entry) []entry {
	var out []entry
	for _, g := range m.sorted(rows) {
		out = append(out, g[0])
	}
	return out
}

// tame replaces values that Paimon's writer cannot be given as text, namely strings that are none; whose statistics it keeps
// otherwise, namely NaN; and -0, which Paimon takes for 0 where it compares keys up to 1.4.2.
func tame(table *schema.Table, e entry) {
	for c, v := range e.values {
		switch t := table.Fields[c].Type; {
		case v.F64 != v.F64:
			e.values[c].F64 = 1.5
		case t.Kind == schema.Float || t.Kind == schema.Double:
			e.values[c].F64 += 0 // which makes 0 of -0
		case t.Kind == schema.VarChar && string(v.B) == "\xff":
			e.values[c].B = []byte("z")
		}
	}
}
