package lake

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/compact"
	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/orphan"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// upkeepTables are the sorts of tables that are kept up.
func upkeepTables() map[string]schema.Spec {
	fields := []schema.Field{{Name: "id", Type: schema.Of(schema.Int)}, {Name: "day", Type: schema.Of(schema.Date)}, {Name: "v", Type: schema.StringType()}}
	return map[string]schema.Spec{
		"append":  {Fields: fields, PartitionKeys: []string{"day"}},
		"buckets": {Fields: fields, Options: map[string]string{"bucket": "2", "bucket-key": "id"}},
		"keys":    {Fields: fields, PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "2", "write-only": "true"}},
		"keys-partitioned": {
			Fields: fields, PartitionKeys: []string{"day"}, PrimaryKeys: []string{"day", "id"}, Options: map[string]string{"bucket": "1", "write-only": "true"},
		},
	}
}

// upkeepRows are ten rows of the n-th write: some of their ids the write before had too.
func upkeepRows(n int) []testenv.Row {
	var rows []testenv.Row
	for i := range 10 {
		rows = append(rows, testenv.Row{"id": fmt.Sprint(n*5 + i), "day": []string{"2024-02-29", "1969-12-31"}[i%2], "v": fmt.Sprint("write ", n)})
	}
	return rows
}

// upkeepLines are the rows that a table has after so many writes.
func upkeepLines(t *testing.T, spec schema.Spec, writes int) []string {
	t.Helper()
	var all []testenv.Row
	last := map[any]testenv.Row{}
	for n := range writes {
		for _, r := range upkeepRows(n) {
			all = append(all, r)
			key := []any{r["id"]}
			if len(spec.PartitionKeys) > 0 {
				key = append(key, r["day"])
			}
			last[fmt.Sprint(key...)] = r
		}
	}
	if len(spec.PrimaryKeys) > 0 {
		all = slices.Collect(maps.Values(last))
	}
	return linesOf(t, spec.Fields, all)
}

// Tables that this library and Paimon write by turns are also compacted, expired and cleaned by turns. Nobody misses a row, a
// tagged snapshot outlives all of it, and no file is left that nothing names.
func TestUpkeepByTurns(t *testing.T) {
	java := testenv.Referee(t)
	for name, spec := range upkeepTables() {
		t.Run(name, func(t *testing.T) {
			m := openWarehouse(t, t.TempDir()).create("db.t", spec)
			turn := 0
			write := func() {
				for range 3 {
					m.write(upkeepRows(turn)...)
					java.Write(t, m.in.dir, m.id.String(), "java", int64(turn+1), upkeepRows(turn+1)...)
					turn += 2
				}
			}
			keeps := func(what string, do func()) {
				before := m.java(java, 0)
				require.NotEmpty(t, before)
				do()
				requireSameLines(t, before, m.java(java, 0), "Paimon after "+what)
				requireSameLines(t, before, m.rows(0), "this library after "+what)
			}
			oursCompacts := func() {
				m.jobs++
				r, err := compact.Run(t.Context(), m.in.disk, m.path, m.user, m.jobs, compact.Options{Full: true})
				require.NoError(t, err)
				require.NotZero(t, r.Snapshot)
			}
			oursExpires := func() {
				r, err := expire.Expire(t.Context(), m.in.disk, m.path, expire.Options{RetainMin: 1, RetainMax: 1})
				require.NoError(t, err)
				require.NotEmpty(t, r.Snapshots)
			}
			nothingLeft := func() {
				found, err := orphan.Find(t.Context(), m.in.disk, m.path, orphan.Options{OlderThan: time.Now().Add(time.Hour), Force: true})
				require.NoError(t, err)
				require.Empty(t, found)
				require.Empty(t, java.CleanOrphans(t, m.in.dir, m.id.String(), 0))
			}
			write()
			java.Tag(t, m.in.dir, m.id.String(), "kept", 0)
			at, tagged := m.latest(), m.tagged("kept")
			keeps("Paimon's compaction", func() { require.Positive(t, java.Compact(t, m.in.dir, m.id.String())) })
			write()
			keeps("our compaction", oursCompacts)
			keeps("our expiry", oursExpires)
			nothingLeft()
			write()
			keeps("our second compaction", oursCompacts)
			keeps("Paimon's expiry", func() { require.Positive(t, java.Expire(t, m.in.dir, m.id.String(), 1)) })
			nothingLeft()
			write()
			keeps("Paimon's second compaction", func() { require.Positive(t, java.Compact(t, m.in.dir, m.id.String())) })
			keeps("our second expiry", oursExpires)
			require.Equal(t, map[string]int64{"kept": int64(at)}, m.describe(0).Tags)
			require.Equal(t, tagged, m.tagged("kept"))
			requireSameLines(t, m.java(java, 0), m.rust(0), "paimon-rust")
			m.check(0)
			nothingLeft()
		})
	}
}

// tagged are the files that a tag shows, all of which must be there.
func (m *made) tagged(name string) (files []string) {
	m.t.Helper()
	tag, err := snapshot.NewManager(m.in.disk, m.path).Tag(m.t.Context(), name)
	require.NoError(m.t, err)
	layout, err := partition.LayoutOf(m.path, m.Schema())
	require.NoError(m.t, err)
	require.NoError(m.t, commit.LiveEntries(m.t.Context(), m.in.disk, m.path, tag, func(e *manifest.Entry) error {
		values, err := layout.Values(e.Partition)
		require.NoError(m.t, err)
		info, err := m.in.disk.Stat(m.t.Context(), path.Join(layout.Bucket(values, e.Bucket), e.File.Name))
		require.NoError(m.t, err)
		require.Equal(m.t, e.File.Size, info.Size)
		files = append(files, info.Path)
		return nil
	}))
	require.NotEmpty(m.t, files)
	return files
}

// put writes a batch and commits it, and fails no test by itself.
func (m *made) put(ctx context.Context, batch *row.Batch, kinds []row.Kind) error {
	w, err := m.NewWriter(lake.WriterOptions{Prefix: "data-" + uuid.NewString() + "-"})
	if err != nil {
		return err
	}
	if err := w.WriteKinds(ctx, batch, kinds); err != nil {
		return err
	}
	messages, err := w.Close(ctx)
	if err != nil {
		return err
	}
	_, err = m.tryPublish(snapshot.Append, nil, messages)
	return err
}

// While this library writes to a table, Paimon compacts it again and again.
func TestPaimonCompactsWhileWeWrite(t *testing.T) {
	java := testenv.Referee(t)
	for name, spec := range upkeepTables() {
		t.Run(name, func(t *testing.T) {
			spec.Options = patient(spec.Options)
			m := openWarehouse(t, t.TempDir()).create("db.t", spec)
			const least, most, enough = 30, 1000, 3
			var batches []*row.Batch
			for n := range most {
				batch, _ := m.batch(upkeepRows(n))
				batches = append(batches, batch)
			}
			require.NoError(t, m.put(t.Context(), batches[0], nil))
			var compactions atomic.Int32
			done, written := make(chan error, 1), 1
			go func() {
				for ; written < most && (written < least || compactions.Load() < enough); written++ {
					if err := m.put(t.Context(), batches[written], nil); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
			for ended := false; !ended; {
				if java.Compact(t, m.in.dir, m.id.String()) > 0 {
					compactions.Add(1)
				}
				select {
				case err := <-done:
					require.NoError(t, err)
					ended = true
				default:
				}
			}
			require.GreaterOrEqual(t, compactions.Load(), int32(enough))
			want := upkeepLines(t, spec, written)
			requireSameLines(t, want, m.java(java, 0), "Paimon")
			requireSameLines(t, want, m.rows(0), "this library")
			ids, err := snapshot.NewManager(m.in.disk, m.path).List(t.Context())
			require.NoError(t, err)
			require.Equal(t, snapshot.ID(len(ids)), ids[len(ids)-1])
		})
	}
}
