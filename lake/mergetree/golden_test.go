package mergetree_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/datafile/filereader"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// golden is a table that Paimon 1.4.2 wrote.
type golden struct {
	store  fileio.Store
	path   string
	schema *schema.Table
	spec   *mergetree.Spec
	layout *partition.Layout
}

func openGolden(t *testing.T, name string) golden {
	t.Helper()
	root, err := filepath.Abs("../testdata")
	require.NoError(t, err)
	store, err := fileio.NewLocal(root)
	require.NoError(t, err)
	g := golden{store: store, path: "golden.db/" + name}
	g.schema, err = snapshot.Schemas{Store: store, Table: g.path}.Get(t.Context(), 0)
	require.NoError(t, err)
	g.spec, err = mergetree.SpecOf(g.schema)
	require.NoError(t, err)
	g.layout, err = partition.LayoutOf(g.path, g.schema)
	require.NoError(t, err)
	return g
}

// read opens a data file with some columns.
func (g golden) read(t *testing.T, e *manifest.Entry, fields []schema.Field) mergetree.Source {
	t.Helper()
	values, err := g.layout.Values(e.Partition)
	require.NoError(t, err)
	return openFile(t, g.store, path.Join(g.layout.Bucket(values, e.Bucket), e.File.Name), e.File.Size, fields)
}

func openFile(t *testing.T, store fileio.Store, name string, size int64, fields []schema.Field) mergetree.Source {
	t.Helper()
	r, err := filereader.Open(t.Context(), store, name, size, fields, filereader.Options{})
	require.NoError(t, err)
	return fileSource{r}
}

type fileSource struct{ *filereader.Reader }

func (f fileSource) Next(c ctx, b *row.Batch) error { return f.NextBatch(c, b) }

// metas are the manifests of manifest lists.
func (g golden) metas(t *testing.T, lists ...manifest.List) []manifest.FileMeta {
	t.Helper()
	var metas []manifest.FileMeta
	for _, l := range lists {
		more, err := manifest.In(g.store, g.path).ReadList(t.Context(), l)
		require.NoError(t, err)
		metas = append(metas, more...)
	}
	return metas
}

func (g golden) snapshot(t *testing.T, id snapshot.ID) *snapshot.Snapshot {
	t.Helper()
	s, err := snapshot.NewManager(g.store, g.path).Get(t.Context(), id)
	require.NoError(t, err)
	return s
}

// The rows of every snapshot are what Paimon's reader says.
func TestMergeReadsPaimonsTables(t *testing.T) {
	for name, latest := range map[string]snapshot.ID{
		"pk_all_types": 1, "pk_composite": 2, "pk_dedup": 5, "pk_sequence_field": 3, "pk_partial_update": 2, "pk_first_row": 3,
		"pk_changelog_input": 2,
	} {
		g := openGolden(t, name)
		for id := snapshot.ID(1); id <= latest; id++ {
			t.Run(fmt.Sprintf("%s/%d", name, id), func(t *testing.T) {
				s := g.snapshot(t, id)
				metas := g.metas(t, manifest.List{Name: s.BaseManifestList, Size: *s.BaseManifestListSize},
					manifest.List{Name: s.DeltaManifestList, Size: *s.DeltaManifestListSize})
				buckets := map[string][]mergetree.Source{}
				require.NoError(t, manifest.In(g.store, g.path).Live(t.Context(), metas, manifest.Filter{}, func(e *manifest.Entry) error {
					// A reader of a first-row table sees only what has been compacted.
					if g.spec.Engine != mergetree.FirstRow || e.File.Level > 0 {
						key := fmt.Sprint(e.Partition, e.Bucket)
						buckets[key] = append(buckets[key], g.read(t, e, g.spec.Fields()))
					}
					return nil
				}))
				lines := []string{}
				for _, sources := range buckets {
					lines = append(lines, jsonLines(t, g.spec, mergetree.Merge(g.spec, sources, mergetree.MergeOptions{DropDeletes: true}))...)
				}
				slices.Sort(lines)
				require.Equal(t, expected(t, name, id), lines)
			})
		}
	}
}

// jsonLines are the table's columns of a source's rows as objects of canonical text.
func jsonLines(t *testing.T, spec *mergetree.Spec, src mergetree.Source) []string {
	t.Helper()
	var lines []string
	b := spec.NewBatch()
	for src.Next(t.Context(), b) == nil {
		for i := range b.Rows {
			m := map[string]any{}
			for c, f := range spec.Table().Fields {
				m[f.Name] = nil
				if v := b.Columns[mergetree.ValueColumns+c].Value(i); !v.Null {
					m[f.Name] = jsonValue(f.Type, v)
				}
			}
			data, err := json.Marshal(m)
			require.NoError(t, err)
			lines = append(lines, string(data))
		}
	}
	require.ErrorIs(t, src.Next(t.Context(), b), io.EOF)
	require.NoError(t, src.Close())
	return lines
}

// jsonValue is a value's canonical text; that of a nested one is JSON itself.
func jsonValue(t schema.Type, v row.Value) any {
	text := row.Text(t, v)
	if t.Nested() {
		return json.RawMessage(text)
	}
	return text
}

func expected(t *testing.T, name string, id snapshot.ID) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../testdata/expected", name, fmt.Sprintf("expected-%d.jsonl", id)))
	require.NoError(t, err)
	lines := []string{}
	for text := range strings.Lines(string(data)) {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		line, err := json.Marshal(m)
		require.NoError(t, err)
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return lines
}

// A file of the rows of one of Paimon's has the record that Paimon made, and the same columns.
func TestWriterRecordsWhatPaimonDoes(t *testing.T) {
	for _, name := range []string{
		"pk_all_types", "pk_composite", "pk_dedup", "pk_sequence_field", "pk_partial_update", "pk_first_row", "pk_changelog_input",
	} {
		t.Run(name, func(t *testing.T) {
			g := openGolden(t, name)
			ids, err := snapshot.NewManager(g.store, g.path).List(t.Context())
			require.NoError(t, err)
			seen := 0
			check := func(changelog bool, l manifest.List) {
				for _, m := range g.metas(t, l) {
					require.NoError(t, manifest.In(g.store, g.path).ReadManifest(t.Context(), m, func(e *manifest.Entry) error {
						if e.Kind == manifest.Add && fileExists(t, g, e) {
							seen++
							g.compare(t, e, changelog)
						}
						return nil
					}))
				}
			}
			for _, id := range ids {
				s := g.snapshot(t, id)
				check(false, manifest.List{Name: s.DeltaManifestList, Size: *s.DeltaManifestListSize})
				if s.ChangelogManifestList != "" {
					check(true, manifest.List{Name: s.ChangelogManifestList, Size: *s.ChangelogManifestListSize})
				}
			}
			require.Positive(t, seen)
		})
	}
}

func fileExists(t *testing.T, g golden, e *manifest.Entry) bool {
	t.Helper()
	values, err := g.layout.Values(e.Partition)
	require.NoError(t, err)
	_, err = g.store.Stat(t.Context(), path.Join(g.layout.Bucket(values, e.Bucket), e.File.Name))
	return err == nil
}

// compare writes the rows of a file again.
func (g golden) compare(t *testing.T, e *manifest.Entry, changelog bool) {
	t.Helper()
	store := fileiotest.NewMemory()
	w, err := mergetree.NewWriter(g.spec, mergetree.WriterOptions{
		Store: store, Folder: "b", Name: func(int) string { return e.File.Name }, Level: e.File.Level, Source: *e.File.Source,
		Changelog: changelog,
	})
	require.NoError(t, err)
	require.NoError(t, w.WriteAll(t.Context(), g.read(t, e, g.spec.Fields())))
	files, err := w.Close()
	require.NoError(t, err)
	require.Len(t, files, 1)
	got, want := files[0], e.File
	require.NotNil(t, got.CreationMillis)
	all := g.spec.FileFields()
	require.Equal(t, physical(t, g.read(t, e, all), all), physical(t, openFile(t, store, "b/"+got.Name, got.Size, all), all))
	// Java keeps a NaN as the upper bound; a column with one has no bounds here.
	if g.path == "golden.db/pk_all_types" {
		want.ValueStats = withoutNaN(t, g, want.ValueStats, got.ValueStats)
	}
	got.Size, got.CreationMillis = want.Size, want.CreationMillis
	require.Equal(t, want, got)
}

// physical are all values of a source as text.
func physical(t *testing.T, src mergetree.Source, fields []schema.Field) []string {
	t.Helper()
	var out []string
	b := row.NewBatch(row.Types(fields))
	for src.Next(t.Context(), b) == nil {
		for i := range b.Rows {
			line := ""
			for c, f := range fields {
				line += f.Name + "=" + row.Text(f.Type, b.Columns[c].Value(i)) + " "
			}
			out = append(out, line)
		}
	}
	require.NoError(t, src.Close())
	return out
}

// withoutNaN takes the bounds of columns with a NaN out of Java's statistics.
func withoutNaN(t *testing.T, g golden, java, ours manifest.Stats) manifest.Stats {
	t.Helper()
	types := row.Types(g.schema.Fields)
	low, err := row.Deserialize(types, java.Min)
	require.NoError(t, err)
	high, err := row.Deserialize(types, java.Max)
	require.NoError(t, err)
	cleared := 0
	for i, v := range high {
		if !v.Null && v.F64 != v.F64 {
			low[i], high[i] = row.NullValue(), row.NullValue()
			cleared++
		}
	}
	require.Positive(t, cleared)
	require.NotEmpty(t, ours.Min)
	java.Min, java.Max = row.Serialize(types, low), row.Serialize(types, high)
	return java
}
