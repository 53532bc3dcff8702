package commitrace

import (
	"fmt"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Run makes so many commits, a multiple of 10, by ten committers, each through a store of its own, and looks whether each
// snapshot id has one winner and no commit is lost or there twice.
func Run(t *testing.T, commits int, open func() fileio.Store) {
	t.Helper()
	const committers = 10
	id := catalog.Identifier{Database: "ods", Table: "t"}
	first := open()
	wanted, err := schema.New(schema.Spec{Fields: []schema.Field{{Name: "id", Type: schema.Of(schema.BigInt)}}, TimeMillis: 1})
	require.NoError(t, err)
	c := catalog.NewFilesystem(first)
	made, err := c.CreateTable(t.Context(), id, wanted)
	require.NoError(t, err)
	group, ctx := errgroup.WithContext(t.Context())
	for n := range committers {
		store := open()
		group.Go(func() error {
			table := lake.NewTable(store, c.Path(id), made)
			base := snapshot.ID(0)
			for i := range commits / committers {
				name := fmt.Sprintf("data-%d-%d.parquet", n, i)
				if err := fileio.WriteFile(ctx, store, path.Join(c.Path(id), "bucket-0", name), make([]byte, 5)); err != nil {
					return err
				}
				result, err := table.Committer().Publish(ctx, commit.Request{
					User: fmt.Sprintf("user-%d", n), Identifier: int64(i + 1), Kind: snapshot.Append, Planned: made, Base: base,
					Messages: []*message.Commit{oneFile(name)},
				})
				if err != nil || result.AlreadyCommitted {
					return fmt.Errorf("committer %d, commit %d: %+v: %w", n, i, result, err)
				}
				base = result.Snapshot
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())

	m := snapshot.NewManager(first, c.Path(id))
	ids, err := m.List(t.Context())
	require.NoError(t, err)
	require.Len(t, ids, commits)
	seen := map[string]bool{}
	for i, id := range ids {
		require.Equal(t, snapshot.ID(i+1), id)
		s, err := m.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, int64(i+1), s.TotalRecordCount)
		seen[fmt.Sprint(s.CommitUser, " ", s.CommitIdentifier)] = true
	}
	require.Len(t, seen, commits)
	last, err := m.Latest(t.Context())
	require.NoError(t, err)
	live := map[string]bool{}
	require.NoError(t, commit.LiveEntries(t.Context(), first, c.Path(id), last, func(e *manifest.Entry) error {
		live[e.File.Name] = true
		return nil
	}))
	require.Len(t, live, commits)
}

// oneFile is the message of a file of one row.
func oneFile(name string) *message.Commit {
	none, unaware, source := make([]byte, 12), int32(-1), manifest.SourceAppend
	return &message.Commit{Partition: none, TotalBuckets: &unaware, Data: message.DataIncrement{NewFiles: []manifest.DataFile{{
		Name: name, Size: 5, Rows: 1, MinKey: none, MaxKey: none, KeyStats: manifest.EmptyStats(), ValueStats: manifest.EmptyStats(),
		ExtraFiles: []string{}, Source: &source, ValueStatsColumns: []string{},
	}}}}
}
