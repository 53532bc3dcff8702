package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// created is a table with the first schema only, in memory.
func created(t *testing.T, options map[string]string) (snapshot.Schemas, fileio.Store) {
	t.Helper()
	first, err := schema.New(schema.Spec{
		Fields: []schema.Field{{Name: "id", Type: schema.Of(schema.Int)}}, Options: options,
	})
	require.NoError(t, err)
	store := fileiotest.NewMemory()
	m := snapshot.Schemas{Store: store, Table: "ods.db/t"}
	require.NoError(t, m.Create(t.Context(), first))
	return m, store
}

func add(name string) schema.Change {
	return schema.AddColumn(schema.Field{Name: name, Type: schema.Of(schema.Int)}, schema.Last())
}

// What depends on files in place changes until there is a snapshot (SchemaManager.generateTableSchema).
func TestAlterMindsSnapshots(t *testing.T) {
	m, store := created(t, map[string]string{"bucket": "-1"})
	change := []schema.Change{schema.SetOption("bucket", "4"), schema.SetOption("bucket-key", "id")}
	next, err := m.Alter(t.Context(), change...)
	require.NoError(t, err)
	require.Equal(t, schema.ID(1), next.ID)
	require.NoError(t, store.CreateExclusive(t.Context(), snapshot.NewManager(store, m.Table).Path(1), []byte("{}")))
	_, err = m.Alter(t.Context(), schema.SetOption("bucket", "-1"), schema.RemoveOption("bucket-key"))
	require.ErrorIs(t, err, schema.ErrChange)
	next, err = m.Alter(t.Context(), schema.SetOption("bucket", "8"))
	require.NoError(t, err)
	require.Equal(t, schema.ID(2), next.ID)
	latest, err := m.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, next, latest)
	_, err = snapshot.Schemas{Store: store, Table: "none"}.Alter(t.Context(), add("a"))
	require.ErrorIs(t, err, fileio.ErrNotExist)
}

// Every version has one change more than the one before, whoever wins.
func TestAlterLosesNoChangeInARace(t *testing.T) {
	m, _ := created(t, nil)
	const writers, rounds = 6, 5
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for r := range rounds {
				if _, err := m.Alter(context.Background(), add(fmt.Sprintf("c%d_%d", w, r))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	ids, err := m.List(t.Context())
	require.NoError(t, err)
	require.Len(t, ids, 1+writers*rounds)
	for i, id := range ids {
		require.Equal(t, schema.ID(i), id)
		s, err := m.Get(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, s.Fields, 1+i)
		require.Equal(t, i, s.HighestFieldID)
		if i > 0 {
			before, err := m.Get(t.Context(), id-1)
			require.NoError(t, err)
			require.Equal(t, before.Fields, s.Fields[:i])
		}
	}
}

// beaten has another alteration made just before the first one of m publishes.
func beaten(t *testing.T, theirs schema.Change) snapshot.Schemas {
	m, store := created(t, nil)
	done := false
	m.Store = faultio.New(store, func(op faultio.Op) faultio.Fault {
		if op.Kind == faultio.CreateExclusive && !done {
			done = true
			_, err := snapshot.Schemas{Store: store, Table: m.Table}.Alter(context.Background(), theirs)
			require.NoError(t, err)
		}
		return faultio.None
	})
	return m
}

func TestAlterAppliesAnewToWhatTheWinnerMade(t *testing.T) {
	next, err := beaten(t, schema.RenameColumn("id", "key")).Alter(t.Context(), add("a"))
	require.NoError(t, err)
	require.Equal(t, schema.ID(2), next.ID)
	require.Equal(t, []string{"key", "a"}, []string{next.Fields[0].Name, next.Fields[1].Name})
	_, err = beaten(t, add("a")).Alter(t.Context(), add("a"), add("b"))
	require.ErrorIs(t, err, schema.ErrColumnExists)
	_, err = beaten(t, schema.RenameColumn("id", "key")).Alter(t.Context(), schema.RenameColumn("id", "k"))
	require.ErrorIs(t, err, schema.ErrColumnMissing)
}

// After each fault the chain is whole: with the version or without it.
func TestAlterFaultSweep(t *testing.T) {
	for _, fault := range []faultio.Fault{faultio.FailBefore, faultio.FailAfter} {
		for k := 0; ; k++ {
			m, store := created(t, nil)
			reached := false
			m.Store = faultio.New(store, func(op faultio.Op) faultio.Fault {
				if op.N != k {
					return faultio.None
				}
				reached = true
				return fault
			})
			_, err := m.Alter(t.Context(), add("a"))
			if !reached {
				require.NoError(t, err)
				require.Greater(t, k, 3, "lists, reads and creates")
				break
			}
			require.ErrorIs(t, err, faultio.ErrInjected)
			m.Store = store
			ids, err := m.List(t.Context())
			require.NoError(t, err)
			latest, err := m.Latest(t.Context())
			require.NoError(t, err)
			require.Equal(t, schema.ID(len(ids)-1), latest.ID)
			_, there := latest.Field("a")
			require.Equal(t, len(ids) == 2, there)
			_, err = m.Alter(t.Context(), add("a"))
			require.Equal(t, there, errors.Is(err, schema.ErrColumnExists))
		}
	}
}

// A store that hides a version from its listing must not keep Alter running for ever.
func TestAlterEndsWhereAVersionIsNotListed(t *testing.T) {
	m, store := created(t, nil)
	m.Store = hiding{store}
	require.NoError(t, store.CreateExclusive(t.Context(), m.Table+"/schema/schema-1", []byte("{}")))
	_, err := m.Alter(t.Context(), add("a"))
	require.ErrorIs(t, err, snapshot.ErrCorrupt)
	require.ErrorContains(t, err, "schema-1 and is not listed")
}

// hiding is a store whose listings lack schema-1.
type hiding struct{ fileio.Store }

func (s hiding) List(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	return s.Store.List(ctx, folder, func(i fileio.Info) error {
		if i.Path == folder+"/schema-1" {
			return nil
		}
		return fn(i)
	})
}
