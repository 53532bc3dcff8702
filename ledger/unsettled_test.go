package ledger

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// owned tells of which of the attempts the data files are taken for those of an unsettled run.
func owned(t *testing.T, store fileio.Store, attempts ...Attempt) []bool {
	t.Helper()
	u, err := ReadUnsettled(t.Context(), store)
	require.NoError(t, err)
	var all []bool
	for _, a := range attempts {
		all = append(all, u.Owns(a.Prefix+"0.parquet"))
	}
	return all
}

func TestUnsettledRunsOwnTheirFiles(t *testing.T) {
	_, store, _ := openTest(t)
	ctx := context.Background()
	open := func(target, run string) (*Ledger, Attempt) {
		key := Key{Job: "orders", Run: run, Table: "orders"}
		require.NoError(t, Mark(ctx, store, target, key))
		l := Open(store, key)
		a, err := l.Register(ctx, 3)
		require.NoError(t, err)
		return l, a
	}
	require.Equal(t, []bool{false}, owned(t, store, Attempt{Prefix: "data-2b1d0c9e-6f0a-4f3c-9b3e-8f1f6a3b2c1d-"}), "no ledger at all")
	_, lost := open("target-1", "lost")
	decided, undone := open("target-2", "decided") // another address of the table, or another table
	committed, done := open("target-1", "committed")
	aborted, gone := open("target-1", "aborted")
	require.NoError(t, Mark(ctx, store, "target-3", Key{Job: "orders", Run: "lost", Table: "orders"}))
	_, err := decided.Decide(ctx, 1, Commit)
	require.NoError(t, err)
	_, err = committed.Finish(ctx, Result{Outcome: Committed, Snapshot: 7})
	require.NoError(t, err)
	_, err = aborted.Finish(ctx, Result{Outcome: Aborted})
	require.NoError(t, err)
	require.Equal(t, []bool{true, true, false, false}, owned(t, store, lost, undone, done, gone))

	u, err := ReadUnsettled(ctx, store)
	require.NoError(t, err)
	require.Equal(t, []Key{{"orders", "decided", "orders"}, {"orders", "lost", "orders"}}, u.Ledgers)
	for name, want := range map[string]bool{
		"." + lost.Prefix + "0.parquet.5a0d9d3c-93b7-4f3e-8d6c-0c4d2b1a0f9e.tmp": true,
		lost.Prefix + "12.parquet.index":                                         true,
		lost.Prefix:                                                              false, // a prefix alone is no file
		"x" + lost.Prefix + "0.parquet":                                          false,
		lost.Prefix[:len(lost.Prefix)-1]:                                         false,
		"":                                                                       false,
	} {
		require.Equal(t, want, u.Owns(name), name)
	}

	_, err = decided.Finish(ctx, Result{Outcome: Committed, Snapshot: 8})
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, owned(t, store, lost, undone))
	require.NoError(t, Open(store, Key{"orders", "lost", "orders"}).Remove(ctx))
	require.Equal(t, []bool{false}, owned(t, store, lost), "its ledger is gone")
}

// What cannot be read must not be taken for a run that has ended.
func TestUnsettledRunsThatCannotBeRead(t *testing.T) {
	key := Key{Job: "orders", Run: "r", Table: "orders"}
	for name, file := range map[string]string{"mark": "_open/target/orders/r/orders", "result": "orders/r/orders/result"} {
		t.Run(name, func(t *testing.T) {
			_, store, root := openTest(t)
			require.NoError(t, Mark(t.Context(), store, "target", key))
			path := filepath.Join(root, filepath.FromSlash(file))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
			_, err := ReadUnsettled(t.Context(), store)
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, file)
		})
	}
}
