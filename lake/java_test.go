package lake_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Tables of the golden tables' schemas, written here with their rows, are read by Paimon as they are read here: rows that
// replace others and rows that take others away, in a few buckets and partitions, with little memory. What Paimon says of the
// files is what was meant.
func TestPaimonReadsWhatIsWritten(t *testing.T) {
	for _, name := range []string{
		"append_fixed_bucket", "append_partitioned", "append_nested", "pk_all_types", "pk_dedup", "pk_composite", "pk_sequence_field",
		"pk_partial_update", "pk_changelog_input", "pk_schema_evolution", "pk_first_row",
	} {
		t.Run(name, func(t *testing.T) {
			golden := openTable(t, "testdata", name, 0)
			s := *golden.Schema()
			s.ID = 0
			warehouse := t.TempDir()
			store, err := fileio.NewLocal(warehouse)
			require.NoError(t, err)
			require.NoError(t, snapshot.Schemas{Store: store, Table: "ods.db/orders"}.Create(t.Context(), &s))
			j := &job{t: t, store: store, table: lake.NewTable(store, "ods.db/orders", &s)}
			var batches []*row.Batch
			require.NoError(t, golden.Scan(t.Context(), lake.ScanOptions{}, func(b *row.Batch) error {
				batches = append(batches, clone(b))
				return nil
			}))
			all := func(w *lake.Writer) {
				for _, b := range batches {
					require.NoError(t, w.Write(t.Context(), b))
				}
			}
			if name == "pk_first_row" {
				j.commit(snapshot.Overwrite, lake.WriterOptions{Overwrite: true, TopLevel: true}, func(w *lake.Writer) { all(w); all(w) })
			} else {
				j.commit(snapshot.Append, lake.WriterOptions{}, func(w *lake.Writer) { all(w); all(w) })
			}
			if len(s.PrimaryKeys) > 0 && name != "pk_first_row" && name != "pk_partial_update" {
				j.commit(snapshot.Append, lake.WriterOptions{Memory: 1000}, func(w *lake.Writer) {
					all(w)
					kinds := make([]row.Kind, batches[0].Rows)
					if len(kinds) > 1 {
						kinds[0] = row.Delete
					}
					require.NoError(t, w.WriteKinds(t.Context(), batches[0], kinds))
				})
			}
			rows, err := rowsOf(t, j.table, lake.ScanOptions{})
			require.NoError(t, err)
			require.NotEmpty(t, rows)
			require.Equal(t, canonical(t, testenv.Referee(t).Read(t, warehouse, "ods.orders", 0)), rows)

			described := testenv.Referee(t).Describe(t, warehouse, "ods.orders", 0)
			ours, err := j.table.Files(t.Context(), 0)
			require.NoError(t, err)
			require.Equal(t, fromPaimon(described.Files), fromHere(&s, ours))
			if s.Options["changelog-producer"] == "input" {
				last := described.Snapshots[len(described.Snapshots)-1]
				require.Equal(t, int64(2*len(expectedRows(t, name, 2))), *last.ChangelogRecordCount)
			}
		})
	}
}

// Many rows of few keys, in two partitions of three buckets, over several commits of writers that spill.
func TestPaimonReadsManyChanges(t *testing.T) {
	warehouse := t.TempDir()
	store, err := fileio.NewLocal(warehouse)
	require.NoError(t, err)
	j := newTable(t, store, keySpec(map[string]string{"bucket": "3"}))
	random := rand.New(rand.NewPCG(7, 8))
	want := map[int32]string{}
	for commits := range 4 {
		kind, o := snapshot.Append, lake.WriterOptions{Memory: 200_000, Spill: fileiotest.NewMemory(), SpillFolder: "spill"}
		if commits == 2 { // replaces what was there
			kind, o.Overwrite, o.TopLevel = snapshot.Overwrite, true, true
			clear(want)
		}
		j.commit(kind, o, func(w *lake.Writer) {
			for range 10 {
				changes := make([]change, 1000)
				for i := range changes {
					c := change{key: random.Int32N(6000), value: fmt.Sprint("value ", random.Int64())}
					if want[c.key] = c.value; random.IntN(5) == 0 {
						c.kind = row.Delete
						delete(want, c.key)
					}
					changes[i] = c
				}
				b, kinds := changesOf(j.table, changes)
				require.NoError(t, w.WriteKinds(t.Context(), b, kinds))
			}
		})
		lines := []string{}
		for key, value := range want {
			lines = append(lines, keyLine(key, value))
		}
		slices.Sort(lines)
		require.Equal(t, lines, canonical(t, testenv.Referee(t).Read(t, warehouse, "ods.orders", 0)))
		rows, err := rowsOf(t, j.table, lake.ScanOptions{})
		require.NoError(t, err)
		require.Equal(t, lines, rows)
	}
	ours, err := j.table.Files(t.Context(), 0)
	require.NoError(t, err)
	require.NotEmpty(t, ours)
	require.Equal(t, fromPaimon(testenv.Referee(t).Describe(t, warehouse, "ods.orders", 0).Files), fromHere(j.table.Schema(), ours))
}

// canonical brings JSON lines into the form of rowsOf.
func canonical(t *testing.T, lines []string) []string {
	t.Helper()
	out := []string{}
	for _, l := range lines {
		out = append(out, canonicalLine(t, l))
	}
	slices.Sort(out)
	return out
}

// fromPaimon says of files what concerns buckets, levels, numbers and keys, in any order.
func fromPaimon(files []testenv.DataFile) []string {
	var out []string
	for _, f := range files {
		deletes := int64(-1)
		if f.DeleteRows != nil {
			deletes = *f.DeleteRows
		}
		out = append(out, fmt.Sprintf("%s%s bucket %d of %d level %d rows %d deleted %d numbers %d-%d keys %v-%v",
			f.PartitionPath, f.Name, f.Bucket, f.TotalBuckets, f.Level, f.Rows, deletes, f.MinSequence, f.MaxSequence,
			keyText(f.MinKey), keyText(f.MaxKey)))
	}
	slices.Sort(out)
	return out
}

func keyText(key map[string]*string) map[string]string {
	out := map[string]string{}
	for k, v := range key {
		out[k] = *v
	}
	return out
}

func fromHere(s *schema.Table, files []lake.File) []string {
	var out []string
	for _, f := range files {
		folder := strings.TrimPrefix(f.Path[:strings.LastIndex(f.Path, "bucket-")], "ods.db/orders/")
		d := f.DataFile
		out = append(out, fmt.Sprintf("%s%s bucket %d of %d level %d rows %d deleted %d numbers %d-%d keys %v-%v",
			folder, d.Name, f.Bucket, f.TotalBuckets, d.Level, d.Rows, *d.DeleteRows, d.MinSequence, d.MaxSequence,
			keyOf(s, d.MinKey), keyOf(s, d.MaxKey)))
	}
	slices.Sort(out)
	return out
}

func keyOf(s *schema.Table, key []byte) map[string]string {
	out := map[string]string{}
	var types []schema.Type
	for _, name := range s.TrimmedPrimaryKey() {
		f, _ := s.Field(name)
		types = append(types, f.Type)
	}
	values, err := row.Deserialize(types, key)
	if err != nil {
		return map[string]string{"error": err.Error()}
	}
	for i, name := range s.TrimmedPrimaryKey() {
		out[name] = row.Text(types[i], values[i])
	}
	return out
}
