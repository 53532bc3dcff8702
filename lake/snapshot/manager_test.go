package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

func golden(t *testing.T, table string) snapshot.Manager {
	t.Helper()
	root, err := filepath.Abs("testdata/golden")
	require.NoError(t, err)
	store, err := fileio.NewLocal(root)
	require.NoError(t, err)
	return snapshot.Manager{Store: store, Table: table}
}

func empty(t *testing.T) (snapshot.Manager, string) {
	t.Helper()
	dir := t.TempDir()
	store, err := fileio.NewLocal(dir)
	require.NoError(t, err)
	return snapshot.Manager{Store: store, Table: "db.db/t"}, filepath.Join(dir, "db.db", "t")
}

func some(id snapshot.ID) *snapshot.Snapshot {
	return &snapshot.Snapshot{
		Version: 3, ID: id, BaseManifestList: "b", DeltaManifestList: "d", CommitUser: "u", CommitIdentifier: int64(id),
		CommitKind: snapshot.Append, TimeMillis: 1,
	}
}

func publish(t *testing.T, m snapshot.Manager, ids ...snapshot.ID) {
	t.Helper()
	for _, id := range ids {
		require.NoError(t, m.Publish(t.Context(), some(id)))
	}
}

func TestManagerReadsJavasTable(t *testing.T) {
	m := golden(t, "append_overwrite")
	ids, err := m.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []snapshot.ID{1, 2, 3, 4, 5, 6}, ids)
	latest, err := m.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(6), latest.ID)
	require.Equal(t, snapshot.Overwrite, latest.CommitKind)
	first, err := m.EarliestID(t.Context())
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(1), first)

	m = golden(t, "append_tags")
	tags, err := m.Tags(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"first", "with-ttl"}, tags)
	tag, err := m.Tag(t.Context(), "with-ttl")
	require.NoError(t, err)
	second, err := m.Get(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, second, tag)
}

func TestAnEmptyTableHasNoSnapshot(t *testing.T) {
	m, _ := empty(t)
	latest, err := m.Latest(t.Context())
	require.NoError(t, err)
	require.Nil(t, latest)
	id, err := m.EarliestID(t.Context())
	require.NoError(t, err)
	require.Zero(t, id)
	_, err = m.Get(t.Context(), 1)
	require.ErrorIs(t, err, fileio.ErrNotExist)
}

func TestPublishOnce(t *testing.T) {
	m, dir := empty(t)
	publish(t, m, 1)
	publish(t, m, 1)
	other := some(1)
	other.CommitUser = "another"
	require.ErrorIs(t, m.Publish(t.Context(), other), fileio.ErrExist)
	got, err := m.Get(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, "u", got.CommitUser)
	require.NoFileExists(t, filepath.Join(dir, "snapshot/LATEST"), "the hint comes after the commit")
}

// The hint may be missing, behind, ahead or broken: the listing decides.
func TestLatestGoesByTheListing(t *testing.T) {
	m, dir := empty(t)
	publish(t, m, 9, 10, 11)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "snapshot", ".snapshot-12.x.tmp"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "snapshot", "snapshot-junk"), nil, 0o600))
	for _, hint := range []string{"", "9", "11", "99", "x", "11\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "snapshot", "LATEST"), []byte(hint), 0o600))
		id, err := m.LatestID(t.Context())
		require.NoError(t, err)
		require.Equal(t, snapshot.ID(11), id, "hint %q", hint)
	}
}

func TestHint(t *testing.T) {
	m, dir := empty(t)
	hint := func() string {
		data, err := os.ReadFile(filepath.Join(dir, "snapshot", "LATEST"))
		require.NoError(t, err)
		return string(data)
	}
	publish(t, m, 1, 2)
	require.NoError(t, m.WriteHint(t.Context(), 2))
	require.Equal(t, "2", hint())
	require.NoError(t, m.WriteHint(t.Context(), 1))
	require.Equal(t, "2", hint(), "never lowered")
	publish(t, m, 3, 4)
	require.NoError(t, m.WriteHint(t.Context(), 3))
	require.Equal(t, "4", hint(), "a newer snapshot without hint is taken along")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "snapshot", "LATEST"), []byte("9"), 0o600))
	require.NoError(t, m.WriteHint(t.Context(), 4))
	require.Equal(t, "4", hint(), "a hint to a snapshot that is not there breaks readers")
}

func TestHintsOfManyCommitters(t *testing.T) {
	m, dir := empty(t)
	const n = 40
	for i := snapshot.ID(1); i <= n; i++ {
		publish(t, m, i)
	}
	var group sync.WaitGroup
	errs := make([]error, n)
	for i := range errs {
		group.Go(func() { errs[i] = m.WriteHint(t.Context(), snapshot.ID(i+1)) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "snapshot", "LATEST"))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(n), string(data))
}

func TestBetween(t *testing.T) {
	m, _ := empty(t)
	publish(t, m, 3, 4, 5, 7)
	for _, c := range []struct {
		after, until snapshot.ID
		want         []snapshot.ID
		complete     bool
	}{
		{2, 5, []snapshot.ID{3, 4, 5}, true},
		{3, 4, []snapshot.ID{4}, true},
		{5, 5, nil, true},
		{7, 5, nil, true},
		{1, 4, []snapshot.ID{3, 4}, false},
		{4, 7, []snapshot.ID{5, 7}, false},
		{0, 0, nil, true},
	} {
		list, complete, err := m.Between(t.Context(), c.after, c.until)
		require.NoError(t, err)
		var ids []snapshot.ID
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		require.Equal(t, c.want, ids)
		require.Equal(t, c.complete, complete, "%v", c)
	}
}

func TestTags(t *testing.T) {
	m, dir := empty(t)
	publish(t, m, 1, 2)
	require.NoError(t, m.CreateTag(t.Context(), "job-a", 1))
	require.NoError(t, m.CreateTag(t.Context(), "job-a", 1))
	require.ErrorIs(t, m.CreateTag(t.Context(), "job-a", 2), fileio.ErrExist)
	require.ErrorIs(t, m.CreateTag(t.Context(), "job-b", 9), fileio.ErrNotExist)
	require.NoError(t, m.SetTag(t.Context(), "job-a", 2))
	tag, err := m.Tag(t.Context(), "job-a")
	require.NoError(t, err)
	require.Equal(t, some(2), tag)
	same, err := os.ReadFile(filepath.Join(dir, "snapshot/snapshot-2"))
	require.NoError(t, err)
	kept, err := os.ReadFile(filepath.Join(dir, "tag/tag-job-a"))
	require.NoError(t, err)
	require.Equal(t, same, kept)
	names, err := m.Tags(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"job-a"}, names)
	require.NoError(t, m.DeleteTag(t.Context(), "job-a"))
	require.NoError(t, m.DeleteTag(t.Context(), "job-a"))
	_, err = m.Tag(t.Context(), "job-a")
	require.ErrorIs(t, err, fileio.ErrNotExist)
	for _, bad := range []string{"", " ", "42", "a/b", "..\\x", "a\x00", strings.Repeat("x", 201)} {
		require.Error(t, m.CreateTag(t.Context(), bad, 1), "%q", bad)
		require.Error(t, m.DeleteTag(t.Context(), bad), "%q", bad)
	}
}

func TestConsumers(t *testing.T) {
	m, dir := empty(t)
	next, err := m.Consumer(t.Context(), "run")
	require.NoError(t, err)
	require.Zero(t, next)
	require.NoError(t, m.CreateConsumer(t.Context(), "run", 7))
	next, err = m.Consumer(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(7), next)
	data, err := os.ReadFile(filepath.Join(dir, "consumer/consumer-run"))
	require.NoError(t, err)
	require.JSONEq(t, `{"nextSnapshot":7}`, string(data))
	require.NoError(t, m.DeleteConsumer(t.Context(), "run"))
	require.NoError(t, m.DeleteConsumer(t.Context(), "run"))
	require.NoFileExists(t, filepath.Join(dir, "consumer/consumer-run"))
	require.Error(t, m.CreateConsumer(t.Context(), "../x", 1))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "consumer/consumer-run"), []byte("{"), 0o600))
	_, err = m.Consumer(t.Context(), "run")
	require.ErrorIs(t, err, snapshot.ErrCorrupt)
}
