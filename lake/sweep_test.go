package lake_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Whatever operation on a store fails, before or after it is done, a writer says so and leaves nothing behind once it is
// aborted; without a fault it does all.
func TestWriterUnderFaults(t *testing.T) {
	key := keySpec(map[string]string{"bucket": "2", "changelog-producer": "input"})
	plain := schema.Spec{
		Fields:  []schema.Field{{Name: "region", Type: schema.StringType()}, {Name: "n", Type: schema.Of(schema.Int)}},
		Options: map[string]string{"bucket": "34", "bucket-key": "n"},
	}
	for name, spec := range map[string]schema.Spec{"key table": key, "buckets": plain} {
		for _, fault := range []faultio.Fault{faultio.FailBefore, faultio.FailAfter} {
			t.Run(name, func(t *testing.T) {
				s, err := schema.New(spec)
				require.NoError(t, err)
				// The last operations are tried more sparsely: they are much like those before.
				for k := 0; ; k += 1 + k/10 {
					if done := writeWithFault(t, s, fault, k); done {
						require.Greater(t, k, 20)
						return
					}
				}
			})
		}
	}
}

// writeWithFault lets the k-th operation of both stores fail and tells whether there was none.
func writeWithFault(t *testing.T, s *schema.Table, fault faultio.Fault, k int) bool {
	t.Helper()
	n, fired, calm := 0, false, false
	choose := func(op faultio.Op) faultio.Fault {
		if calm || op.Kind == faultio.Delete {
			return faultio.None
		}
		if n++; n-1 != k {
			return faultio.None
		}
		fired = true
		return fault
	}
	memory, spill := fileiotest.NewMemory(), fileiotest.NewMemory()
	require.NoError(t, snapshot.Schemas{Store: memory, Table: "ods.db/orders"}.Create(t.Context(), s))
	before := files(t, memory)
	table := lake.NewTable(faultio.New(memory, choose), "ods.db/orders", s)
	w, err := table.NewWriter(lake.WriterOptions{
		Prefix: "data-x-", ChangelogPrefix: "changelog-x-", Memory: 10_000, Spill: faultio.New(spill, choose), SpillFolder: "spill",
	})
	require.NoError(t, err)
	err = fillSmall(t.Context(), table, w)
	if !fired {
		require.NoError(t, err)
		require.Greater(t, len(files(t, memory)), len(before))
	} else {
		require.ErrorIs(t, err, faultio.ErrInjected)
	}
	calm = true
	require.NoError(t, w.Abort(t.Context()))
	require.Equal(t, before, files(t, memory))
	require.Empty(t, files(t, spill))
	return !fired
}

// fillSmall writes enough rows to be spilled, and closes the writer.
func fillSmall(ctx context.Context, table *lake.Table, w *lake.Writer) error {
	for range 2 {
		var b *row.Batch
		if len(table.Schema().PrimaryKeys) > 0 {
			changes := make([]change, 400)
			for i := range changes {
				changes[i] = change{key: int32(i), value: "some text of a row"}
			}
			b, _ = changesOf(table, changes)
		} else {
			b = numbered(table, 3000)
		}
		if err := w.Write(ctx, b); err != nil {
			return err
		}
	}
	messages, err := w.Close(ctx)
	if err == nil && len(messages) == 0 {
		return errors.New("there is no message")
	}
	return err
}
