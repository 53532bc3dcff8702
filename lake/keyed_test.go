package lake_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/datafile/filereader"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// job commits to one table, one snapshot after the other.
type job struct {
	t     *testing.T
	store fileio.Store
	table *lake.Table
	made  int
}

// newTable makes a table in a store.
func newTable(t *testing.T, store fileio.Store, spec schema.Spec) *job {
	t.Helper()
	s, err := schema.New(spec)
	require.NoError(t, err)
	const path = "ods.db/orders"
	require.NoError(t, snapshot.Schemas{Store: store, Table: path}.Create(t.Context(), s))
	return &job{t: t, store: store, table: lake.NewTable(store, path, s)}
}

// commit writes with a writer of its own and commits.
func (j *job) commit(kind snapshot.Kind, o lake.WriterOptions, fill func(w *lake.Writer)) []*message.Commit {
	j.t.Helper()
	j.made++
	o.Prefix, o.ChangelogPrefix = fmt.Sprintf("data-%d-", j.made), fmt.Sprintf("changelog-%d-", j.made)
	w, err := j.table.NewWriter(o)
	require.NoError(j.t, err)
	fill(w)
	messages, err := w.Close(j.t.Context())
	require.NoError(j.t, err)
	base, err := snapshot.NewManager(j.store, "ods.db/orders").LatestID(j.t.Context())
	require.NoError(j.t, err)
	_, err = j.table.Committer().Publish(j.t.Context(), commit.Request{
		User: "job", Identifier: int64(j.made), Kind: kind, Messages: messages, Planned: j.table.Schema(), Base: base, AllowEmpty: true,
	})
	require.NoError(j.t, err)
	return messages
}

// change is a row of a test table: key, value, and what it does to the key.
type change struct {
	key   int32
	value string
	kind  row.Kind
}

func keySpec(options map[string]string) schema.Spec {
	return schema.Spec{
		Fields: []schema.Field{
			{Name: "value", Type: schema.StringType()}, {Name: "region", Type: schema.Of(schema.Int)}, {Name: "id", Type: schema.Of(schema.Int)},
		},
		PartitionKeys: []string{"region"}, PrimaryKeys: []string{"id", "region"}, Options: options,
	}
}

// changesOf are batches of a table of keySpec. The region follows from the key.
func changesOf(table *lake.Table, changes []change) (*row.Batch, []row.Kind) {
	b := row.NewBatch(row.Types(table.Schema().Fields))
	var kinds []row.Kind
	for _, c := range changes {
		b.Columns[0].AppendBytes([]byte(c.value))
		b.Columns[1].I32 = append(b.Columns[1].I32, c.key%2)
		b.Columns[2].I32 = append(b.Columns[2].I32, c.key)
		kinds = append(kinds, c.kind)
		b.Rows++
	}
	return b, kinds
}

func keyLine(key int32, value string) string {
	return fmt.Sprintf(`{"id":"%d","region":"%d","value":"%s"}`, key, key%2, value)
}

// After any commits a key table holds for each key what was written last, however little memory the writer had.
func TestKeyTablesHoldTheLastRow(t *testing.T) {
	for name, o := range map[string]lake.WriterOptions{
		"in memory":              {},
		"spilled":                {Memory: 60_000, Spill: fileiotest.NewMemory(), SpillFolder: "spill"},
		"in more, smaller files": {Memory: 60_000},
		"as the table says":      {},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			options := map[string]string{"bucket": "3"}
			if name == "as the table says" {
				options["write-buffer-size"] = "60000"
			}
			j := newTable(t, fileiotest.NewMemory(), keySpec(options))
			want := map[int32]string{}
			for commits := range 4 {
				messages := j.commit(snapshot.Append, o, func(w *lake.Writer) {
					for range 10 {
						changes := make([]change, 300)
						for i := range changes {
							c := change{key: random.Int32N(500), value: fmt.Sprint(commits, "-", random.Int32())}
							if want[c.key] = c.value; random.IntN(4) == 0 {
								c.kind = row.Delete
								delete(want, c.key)
							}
							changes[i] = c
						}
						b, kinds := changesOf(j.table, changes)
						require.NoError(t, w.WriteKinds(t.Context(), b, kinds))
					}
				})
				require.Len(t, messages, 6)
				several := name == "in more, smaller files" || name == "as the table says"
				require.Equal(t, several, len(messages[0].Data.NewFiles) > 1)
				lines := []string{}
				for key, value := range want {
					lines = append(lines, keyLine(key, value))
				}
				slices.Sort(lines)
				rows, err := rowsOf(t, j.table, lake.ScanOptions{})
				require.NoError(t, err)
				require.Equal(t, lines, rows)
			}
			if o.Spill != nil {
				require.Empty(t, files(t, o.Spill))
			}
		})
	}
}

// Sequence numbers of a bucket go on from commit to commit, so that later rows win; an overwrite begins anew on the top
// level, where deleted rows need not be kept.
func TestKeyTablesNumberRows(t *testing.T) {
	j := newTable(t, fileiotest.NewMemory(), keySpec(map[string]string{"bucket": "1"}))
	put := func(changes ...change) func(*lake.Writer) {
		return func(w *lake.Writer) {
			b, kinds := changesOf(j.table, changes)
			require.NoError(t, w.WriteKinds(t.Context(), b, kinds))
		}
	}
	only := func(messages []*message.Commit) lake.File {
		require.Len(t, messages, 1)
		require.Len(t, messages[0].Data.NewFiles, 1)
		require.Equal(t, int32(1), *messages[0].TotalBuckets)
		return lake.File{DataFile: messages[0].Data.NewFiles[0]}
	}
	f := only(j.commit(snapshot.Append, lake.WriterOptions{}, put(change{2, "a", 0}, change{4, "b", 0}, change{2, "c", 0})))
	require.Equal(t, []int64{1, 2, 2}, []int64{f.DataFile.MinSequence, f.DataFile.MaxSequence, f.DataFile.Rows})
	f = only(j.commit(snapshot.Append, lake.WriterOptions{}, put(change{4, "", row.Delete}, change{6, "d", 0})))
	require.Equal(t, []int64{3, 4, 2}, []int64{f.DataFile.MinSequence, f.DataFile.MaxSequence, f.DataFile.Rows})
	require.Equal(t, int64(1), *f.DataFile.DeleteRows)
	rows, err := rowsOf(t, j.table, lake.ScanOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{keyLine(2, "c"), keyLine(6, "d")}, rows)

	f = only(j.commit(snapshot.Overwrite, lake.WriterOptions{Overwrite: true, TopLevel: true},
		put(change{4, "x", 0}, change{2, "y", 0}, change{4, "", row.Delete}, change{8, "z", 0})))
	require.Equal(t, []int64{1, 3, 2}, []int64{f.DataFile.MinSequence, f.DataFile.MaxSequence, f.DataFile.Rows})
	require.Equal(t, int32(5), f.DataFile.Level)
	plan, err := j.table.Plan(t.Context(), lake.ScanOptions{})
	require.NoError(t, err)
	require.Len(t, plan.Splits, 1)
	require.False(t, plan.Splits[0].Merge)
	rows, err = rowsOf(t, j.table, lake.ScanOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{keyLine(2, "y"), keyLine(8, "z")}, rows)
}

// With changelog-producer = input, changelog files have every row that was written.
func TestKeyTablesWriteChangelogs(t *testing.T) {
	store := fileiotest.NewMemory()
	j := newTable(t, store, keySpec(map[string]string{"bucket": "1", "changelog-producer": "input"}))
	_, err := j.table.NewWriter(lake.WriterOptions{Prefix: "data-"})
	require.ErrorContains(t, err, "prefix")
	written := []change{{2, "a", 0}, {4, "b", 0}, {2, "a", row.UpdateBefore}, {2, "c", row.UpdateAfter}, {4, "b", row.Delete}}
	fill := func(w *lake.Writer) {
		b, kinds := changesOf(j.table, written)
		require.NoError(t, w.WriteKinds(t.Context(), b, kinds))
	}
	messages := j.commit(snapshot.Append, lake.WriterOptions{}, fill)
	require.Len(t, messages, 1)
	require.Len(t, messages[0].Data.ChangelogFiles, 1)
	spec, err := mergetree.SpecOf(j.table.Schema())
	require.NoError(t, err)
	f := messages[0].Data.ChangelogFiles[0]
	require.Contains(t, f.Name, "changelog-1-")
	r, err := filereader.Open(t.Context(), store, "ods.db/orders/region=0/bucket-0/"+f.Name, f.Size, spec.Fields(), filereader.Options{})
	require.NoError(t, err)
	b := spec.NewBatch()
	require.NoError(t, r.NextBatch(t.Context(), b))
	require.NoError(t, r.Close())
	var read []string
	for i := range b.Rows {
		read = append(read, fmt.Sprint(b.Columns[0].I64[i], b.Columns[1].I32[i], " ", string(b.Columns[2].Bytes(i)), " ", b.Columns[4].I32[i]))
	}
	// By key, then in the order in which they came.
	require.Equal(t, []string{"0 0 a 2", "2 1 a 2", "3 2 c 2", "1 0 b 4", "4 3 b 4"}, read)
	rows, err := rowsOf(t, j.table, lake.ScanOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{keyLine(2, "c")}, rows)

	messages = j.commit(snapshot.Overwrite, lake.WriterOptions{Overwrite: true}, fill)
	require.Empty(t, messages[0].Data.ChangelogFiles)
}

func TestWriterRefusesKindsAndModes(t *testing.T) {
	first := newTable(t, fileiotest.NewMemory(), keySpec(map[string]string{"bucket": "1", "merge-engine": "first-row"}))
	_, err := first.table.NewWriter(lake.WriterOptions{Prefix: "data-"})
	require.ErrorIs(t, err, schema.ErrNotWritable)
	require.ErrorContains(t, err, "hides new files until a compaction")
	_, err = first.table.NewWriter(lake.WriterOptions{Prefix: "data-", TopLevel: true})
	require.ErrorContains(t, err, "for an overwrite only")
	first.commit(snapshot.Overwrite, lake.WriterOptions{Overwrite: true, TopLevel: true}, func(w *lake.Writer) {
		b, _ := changesOf(first.table, []change{{2, "first", 0}, {2, "second", 0}, {3, "third", 0}})
		require.NoError(t, w.Write(t.Context(), b))
	})
	rows, err := rowsOf(t, first.table, lake.ScanOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{keyLine(2, "first"), keyLine(3, "third")}, rows)

	odd := newTable(t, fileiotest.NewMemory(), keySpec(map[string]string{"bucket": "1", "file.compression.per.level": "0:lzo,5:zstd"}))
	_, err = odd.table.NewWriter(lake.WriterOptions{Prefix: "data-"})
	require.ErrorContains(t, err, "lzo")
	_, err = odd.table.NewWriter(lake.WriterOptions{Prefix: "data-", Overwrite: true, TopLevel: true})
	require.NoError(t, err)

	plain, _ := partitioned(t)
	w, err := plain.NewWriter(lake.WriterOptions{Prefix: "data-"})
	require.NoError(t, err)
	require.ErrorContains(t, w.WriteKinds(t.Context(), batch(plain, "a", "b"), []row.Kind{row.Insert, row.Delete}), "-D")
	require.ErrorContains(t, w.WriteKinds(t.Context(), batch(plain, "a", "b"), []row.Kind{row.Insert}), "2 rows have 1 kinds")
}

// A writer that is given up leaves neither files nor runs.
func TestKeyWriterAborts(t *testing.T) {
	spill, store := fileiotest.NewMemory(), fileiotest.NewMemory()
	j := newTable(t, store, keySpec(map[string]string{"bucket": "2", "changelog-producer": "input"}))
	before := files(t, store)
	fill := func(w *lake.Writer) {
		for n := range int32(20) {
			changes := make([]change, 500)
			for i := range changes {
				changes[i] = change{key: n*500 + int32(i), value: fmt.Sprint("a value that takes some bytes ", i)}
			}
			b, kinds := changesOf(j.table, changes)
			require.NoError(t, w.WriteKinds(t.Context(), b, kinds))
		}
	}
	for _, finished := range []bool{false, true} {
		w, err := j.table.NewWriter(lake.WriterOptions{
			Prefix: "data-a-", ChangelogPrefix: "changelog-a-", Memory: 100_000, Spill: spill, SpillFolder: "spill",
		})
		require.NoError(t, err)
		fill(w)
		require.NotEmpty(t, files(t, spill))
		if finished {
			messages, err := w.Close(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, messages)
			require.Positive(t, w.Bytes())
			require.Greater(t, len(files(t, store)), len(before))
		}
		require.NoError(t, w.Abort(t.Context()))
		require.Empty(t, files(t, spill))
		require.Equal(t, before, files(t, store))
	}
}

// Merged is what a compaction writes: by key, with the numbers that rows have, and without the keys that are gone where this
// is asked for. The rows are those that Paimon reads.
func TestMergedFiles(t *testing.T) {
	for _, name := range []string{"pk_dedup", "pk_composite", "pk_sequence_field", "pk_partial_update", "pk_schema_evolution", "pk_all_types"} {
		table := openTable(t, "testdata", name, 0)
		files, err := table.Files(t.Context(), 0)
		require.NoError(t, err)
		buckets := map[string][]lake.File{}
		for _, f := range files {
			buckets[path.Dir(f.Path)] = append(buckets[path.Dir(f.Path)], f)
		}
		spec, err := mergetree.SpecOf(table.Schema())
		require.NoError(t, err)
		lines := []string{}
		for _, files := range buckets {
			rows, err := table.Merged(t.Context(), files, mergetree.MergeOptions{DropDeletes: true})
			require.NoError(t, err)
			b := spec.NewBatch()
			before, seen := "", int64(0)
			for rows.Next(t.Context(), b) == nil {
				for i := range b.Rows {
					require.False(t, row.Kind(b.Columns[mergetree.KindColumn].I32[i]).Retracts())
					seen = max(seen, b.Columns[mergetree.SequenceColumn].I64[i])
					only := &row.Batch{Columns: b.Columns[mergetree.ValueColumns:], Rows: b.Rows}
					l := line(t, table.Schema().Fields, only, i)
					require.NotEqual(t, before, l)
					before = l
					lines = append(lines, l)
				}
			}
			require.NoError(t, rows.Close())
			most := int64(0)
			for _, f := range files {
				most = max(most, f.DataFile.MaxSequence)
			}
			require.LessOrEqual(t, seen, most)
		}
		slices.Sort(lines)
		ids, err := snapshot.NewManager(localStore(t), "golden.db/"+name).LatestID(t.Context())
		require.NoError(t, err)
		require.Equal(t, expectedRows(t, name, ids), lines)
	}
}

func localStore(t *testing.T) fileio.Store {
	t.Helper()
	store, err := fileio.NewLocal(mustAbs(t, "testdata"))
	require.NoError(t, err)
	return store
}
