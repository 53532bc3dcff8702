package commit

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

const tablePath = "ods.db/orders"

// bed is a table to commit to.
type bed struct {
	*Committer
	schema *schema.Table
}

func newBed(t testing.TB, store fileio.Store, options map[string]string, partition ...string) *bed {
	t.Helper()
	s, err := schema.New(schema.Spec{
		Fields: []schema.Field{
			{Name: "id", Type: schema.Of(schema.BigInt)}, {Name: "day", Type: schema.Of(schema.Date)}, {Name: "note", Type: schema.StringType()},
		},
		PartitionKeys: partition, Options: options, TimeMillis: 1,
	})
	require.NoError(t, err)
	b := &bed{New(store, tablePath), s}
	require.NoError(t, b.schemas.Create(t.Context(), s))
	return b
}

func emptyBed(t *testing.T) *bed {
	t.Helper()
	return newBed(t, fileiotest.NewMemory(), nil)
}

// over returns the same table through another store.
func (b *bed) over(store fileio.Store) *bed { return &bed{New(store, tablePath), b.schema} }

// file writes a data file of a number of rows to the unpartitioned table and returns its message.
func (b *bed) file(t testing.TB, name string, rows int64) *message.Commit {
	t.Helper()
	require.NoError(t, fileio.WriteFile(t.Context(), b.store, path.Join(b.table, "bucket-0", name), make([]byte, 4+rows)))
	return described(name, 4+rows, rows)
}

// described is the message of one data file.
func described(name string, size, rows int64) *message.Commit {
	none, unaware, source := make([]byte, 12), int32(-1), manifest.SourceAppend
	return &message.Commit{Partition: none, TotalBuckets: &unaware, Data: message.DataIncrement{NewFiles: []manifest.DataFile{{
		Name: name, Size: size, Rows: rows, MinKey: none, MaxKey: none, KeyStats: manifest.EmptyStats(),
		ValueStats: manifest.EmptyStats(), ExtraFiles: []string{}, Source: &source, ValueStatsColumns: []string{},
		MaxSequence: rows - 1,
	}}}}
}

// request adds the messages' files as a commit of the kind does.
func (b *bed) request(kind snapshot.Kind, identifier int64, messages ...*message.Commit) Request {
	for _, m := range messages {
		if kind == snapshot.Compact && !m.Compacts() {
			m.Compact.After, m.Data.NewFiles = m.Data.NewFiles, nil
		}
	}
	return Request{User: "job-run", Identifier: identifier, Kind: kind, Messages: messages, Planned: b.schema}
}

func (b *bed) publish(t testing.TB, req Request) Result {
	t.Helper()
	result, err := b.Publish(t.Context(), req)
	require.NoError(t, err)
	return result
}

// names are the live files of the latest snapshot, sorted.
func (b *bed) names(t *testing.T) []string {
	t.Helper()
	latest, err := b.snapshots.Latest(t.Context())
	require.NoError(t, err)
	names := []string{}
	if latest != nil {
		for _, e := range live(t, b.Committer, latest) {
			names = append(names, e.File.Name)
		}
	}
	slices.Sort(names)
	return names
}

// whole checks that every snapshot can be read, adds up, and names no file that is missing.
func (b *bed) whole(t *testing.T) []*snapshot.Snapshot {
	t.Helper()
	ids, err := b.snapshots.List(t.Context())
	require.NoError(t, err)
	var list []*snapshot.Snapshot
	total := int64(0)
	for i, id := range ids {
		require.Equal(t, snapshot.ID(i+1), id, "snapshots are contiguous")
		s, err := b.snapshots.Get(t.Context(), id)
		require.NoError(t, err)
		total += s.DeltaRecordCount
		rows := int64(0)
		for _, e := range live(t, b.Committer, s) {
			rows += e.File.Rows
			layout, err := partition.LayoutOf(b.table, b.schema)
			require.NoError(t, err)
			values, err := layout.Values(e.Partition)
			require.NoError(t, err)
			info, err := b.store.Stat(t.Context(), path.Join(layout.Bucket(values, e.Bucket), e.File.Name))
			require.NoError(t, err)
			require.Equal(t, e.File.Size, info.Size)
		}
		require.Equal(t, rows, s.TotalRecordCount)
		require.Equal(t, total, s.TotalRecordCount)
		list = append(list, s)
	}
	hint, err := fileio.ReadFile(t.Context(), b.store, b.table+"/snapshot/LATEST", 100)
	if err == nil {
		require.LessOrEqual(t, string(hint), fmt.Sprint(len(ids)), "the hint is never ahead")
	}
	return list
}

// orphans are the names in the manifest folder that no snapshot names.
func (b *bed) orphans(t *testing.T) []string {
	t.Helper()
	named := map[string]bool{}
	for _, s := range b.whole(t) {
		named[s.BaseManifestList], named[s.DeltaManifestList] = true, true
		metas, err := manifestsOf(t.Context(), b.manifests, s)
		require.NoError(t, err)
		for _, m := range metas {
			named[m.Name] = true
		}
	}
	var orphans []string
	require.NoError(t, b.store.List(t.Context(), b.manifests.Path, func(i fileio.Info) error {
		if !named[path.Base(i.Path)] {
			orphans = append(orphans, path.Base(i.Path))
		}
		return nil
	}))
	return orphans
}

func TestAppendAndOverwrite(t *testing.T) {
	b := emptyBed(t)
	first := b.request(snapshot.Append, 1, b.file(t, "a", 3), b.file(t, "b", 4))
	require.NoError(t, b.Check(t.Context(), first))
	require.Equal(t, Result{Snapshot: 1, Kind: snapshot.Append}, b.publish(t, first))
	require.Equal(t, []string{"a", "b"}, b.names(t))
	second := b.request(snapshot.Append, 2, b.file(t, "c", 1))
	second.Base = 1
	require.Equal(t, snapshot.ID(2), b.publish(t, second).Snapshot)

	replace := b.request(snapshot.Overwrite, 3, b.file(t, "d", 2))
	replace.Base = 2
	require.NoError(t, b.Check(t.Context(), replace))
	require.Equal(t, Result{Snapshot: 3, Kind: snapshot.Overwrite}, b.publish(t, replace))
	require.Equal(t, []string{"d"}, b.names(t))
	s, err := b.snapshots.Latest(t.Context())
	require.NoError(t, err)
	require.Equal(t, [2]int64{2, -6}, [2]int64{s.TotalRecordCount, s.DeltaRecordCount})

	clear := b.request(snapshot.Overwrite, 4)
	clear.Base = 3
	require.Equal(t, snapshot.ID(4), b.publish(t, clear).Snapshot)
	require.Empty(t, b.names(t))
	require.Empty(t, b.orphans(t))
	require.Len(t, b.whole(t), 4)
}

// An overwrite that takes away more rows than there are said to be leaves the table as it is, which nobody could read after.
func TestATableOfLessThanNoRowsIsRefused(t *testing.T) {
	b := emptyBed(t)
	b.publish(t, b.request(snapshot.Append, 1, b.file(t, "a", 3)))
	s, err := b.snapshots.Get(t.Context(), 1)
	require.NoError(t, err)
	s.TotalRecordCount = 1
	data, err := s.Marshal()
	require.NoError(t, err)
	require.NoError(t, fileio.WriteFile(t.Context(), b.store, b.snapshots.Path(1), data))
	req := b.request(snapshot.Overwrite, 2, b.file(t, "b", 1))
	req.Base = 1
	_, err = b.Publish(t.Context(), req)
	require.ErrorIs(t, err, manifest.ErrCorrupt)
	require.ErrorContains(t, err, "snapshot 1")
	latest, err := b.snapshots.LatestID(t.Context())
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(1), latest)
}

func TestPublishingAgainChangesNothing(t *testing.T) {
	b := emptyBed(t)
	req := b.request(snapshot.Append, 1, b.file(t, "a", 3))
	require.False(t, b.publish(t, req).AlreadyCommitted)
	for range 3 {
		require.Equal(t, Result{Snapshot: 1, Kind: snapshot.Append, AlreadyCommitted: true}, b.publish(t, req))
	}
	later := b.request(snapshot.Append, 2, b.file(t, "b", 3))
	later.Base = 1
	b.publish(t, later)
	require.Equal(t, Result{Snapshot: 1, Kind: snapshot.Append, AlreadyCommitted: true}, b.publish(t, req))
	require.NoError(t, b.Check(t.Context(), req))
	require.Len(t, b.whole(t), 2)
	require.Empty(t, b.orphans(t))

	found, err := b.Find(t.Context(), "job-run", 1, snapshot.Append, 0)
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(1), found.ID)
	for _, other := range []struct {
		user  string
		id    int64
		kind  snapshot.Kind
		after snapshot.ID
	}{{"other", 1, snapshot.Append, 0}, {"job-run", 9, snapshot.Append, 0}, {"job-run", 1, snapshot.Overwrite, 0}, {"job-run", 1, snapshot.Append, 1}} {
		found, err := b.Find(t.Context(), other.user, other.id, other.kind, other.after)
		require.NoError(t, err)
		require.Nil(t, found)
	}
}

func TestAnEmptyAppendNeedsNoSnapshot(t *testing.T) {
	b := emptyBed(t)
	req := b.request(snapshot.Append, 1)
	require.Equal(t, Result{Kind: snapshot.Append}, b.publish(t, req))
	require.Empty(t, b.whole(t))
	req.AllowEmpty = true
	require.Equal(t, snapshot.ID(1), b.publish(t, req).Snapshot)
	require.Len(t, b.whole(t), 1)
}

func TestWatermarkAndTimeNeverGoBack(t *testing.T) {
	b := emptyBed(t)
	for i, c := range []struct{ given, want *int64 }{
		{nil, nil}, {ptr(10), ptr(10)}, {nil, ptr(10)}, {ptr(5), ptr(10)}, {ptr(11), ptr(11)},
	} {
		req := b.request(snapshot.Append, int64(i), b.file(t, fmt.Sprint(i), 1))
		req.Base, req.Watermark, req.Properties = snapshot.ID(i), c.given, map[string]string{"n": fmt.Sprint(i)}
		s, err := b.snapshots.Get(t.Context(), b.publish(t, req).Snapshot)
		require.NoError(t, err)
		require.Equal(t, c.want, s.Watermark)
		require.Equal(t, map[string]string{"n": fmt.Sprint(i)}, s.Properties)
	}
	list := b.whole(t)
	for i := range list[1:] {
		require.LessOrEqual(t, list[i].TimeMillis, list[i+1].TimeMillis)
	}
}

func ptr(v int64) *int64 { return &v }

// foreign commits as another user.
func (b *bed) foreign(t *testing.T, kind snapshot.Kind, name string) snapshot.ID {
	t.Helper()
	latest, err := b.snapshots.LatestID(t.Context())
	require.NoError(t, err)
	req := b.request(kind, 1, b.file(t, name, 1))
	req.User, req.Base = "spark-"+name, latest
	return b.publish(t, req).Snapshot
}

func TestAnOverwriteDoesNotRemoveWhatOthersAdded(t *testing.T) {
	b := emptyBed(t)
	b.foreign(t, snapshot.Append, "before")
	req := b.request(snapshot.Overwrite, 1, b.file(t, "mine", 1))
	req.Base = 1
	b.foreign(t, snapshot.Append, "since")
	for _, err := range []error{b.Check(t.Context(), req), publishError(t, b, req)} {
		require.ErrorIs(t, err, ErrConflict)
		require.ErrorContains(t, err, "2 (APPEND, +1 rows, by spark-since)")
		require.ErrorContains(t, err, "on_conflict: replace")
		var typed *Error
		require.ErrorAs(t, err, &typed)
		require.Equal(t, snapshot.ID(2), typed.Snapshot)
	}
	require.Equal(t, []string{"before", "since"}, b.names(t))
	require.Empty(t, b.orphans(t))
	appended := b.request(snapshot.Append, 2, b.file(t, "more", 1))
	appended.Base = 1
	require.NoError(t, b.Check(t.Context(), appended), "an append removes nothing")
	req.AllowForeign = true
	require.NoError(t, b.Check(t.Context(), req))
	b.publish(t, req)
	require.Equal(t, []string{"mine"}, b.names(t))
}

func publishError(t *testing.T, b *bed, req Request) error {
	t.Helper()
	_, err := b.Publish(t.Context(), req)
	require.Error(t, err)
	return err
}

// A compaction by another engine adds no row and is no conflict.
func TestACompactionIsNoConflict(t *testing.T) {
	c := copyOf(t, "append_tags", 4)
	planned, err := c.schemas.Latest(t.Context())
	require.NoError(t, err)
	req := Request{User: "job", Identifier: 1, Kind: snapshot.Overwrite, Planned: planned, Base: 3}
	require.NoError(t, c.Check(t.Context(), req))
	result, err := c.Publish(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(5), result.Snapshot)
	req.User, req.Base = "late", 2
	require.ErrorContains(t, c.Check(t.Context(), req), "3 (APPEND, +1 rows, by referee)")
}

func TestFence(t *testing.T) {
	b := emptyBed(t)
	req := b.request(snapshot.Overwrite, 7, b.file(t, "a", 1))
	result, err := b.Fence(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, Result{Snapshot: 1, Kind: snapshot.Append, Fenced: true, Properties: map[string]string{AbortedProperty: "true"}}, result)
	again, err := b.Fence(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, Result{Snapshot: 1, Kind: snapshot.Append, Fenced: true, AlreadyCommitted: true, Properties: map[string]string{AbortedProperty: "true"}}, again)
	require.ErrorIs(t, publishError(t, b, req), ErrFenced)
	require.ErrorIs(t, b.Check(t.Context(), req), ErrFenced)
	found, err := b.Find(t.Context(), req.User, 7, snapshot.Overwrite, 0)
	require.NoError(t, err)
	require.Nil(t, found)
	found, err = b.Find(t.Context(), req.User, 7, snapshot.Append, 0)
	require.NoError(t, err)
	require.Nil(t, found, "a fence is no commit")
	require.Len(t, b.whole(t), 1)
	require.Empty(t, b.orphans(t))

	other := b.request(snapshot.Overwrite, 8, b.file(t, "b", 1))
	other.User = "another-run"
	b.publish(t, other)
	result, err = b.Fence(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, Result{Snapshot: 2, Kind: snapshot.Overwrite, AlreadyCommitted: true}, result, "too late: it is committed")
	require.Equal(t, []string{"b"}, b.names(t))
}

// expire removes snapshot files as an expiry does.
func (b *bed) expire(t *testing.T, ids ...snapshot.ID) {
	t.Helper()
	for _, id := range ids {
		require.NoError(t, b.store.Delete(t.Context(), b.snapshots.Path(id)))
	}
}

func TestExpiredSnapshots(t *testing.T) {
	b := emptyBed(t)
	b.foreign(t, snapshot.Append, "x1")
	req := b.request(snapshot.Append, 1, b.file(t, "mine", 1))
	req.Base = 1
	b.publish(t, req)
	b.foreign(t, snapshot.Append, "x3")
	b.foreign(t, snapshot.Append, "x4")

	b.expire(t, 1, 2)
	require.Equal(t, Result{Snapshot: 4, Kind: snapshot.Append, AlreadyCommitted: true}, b.publish(t, req), "its files are there")
	_, err := b.Find(t.Context(), req.User, 1, snapshot.Append, 1)
	require.ErrorIs(t, err, ErrOutcomeUnknown)

	unseen := b.request(snapshot.Append, 2, b.file(t, "unseen", 1))
	unseen.Base = 1
	require.ErrorIs(t, publishError(t, b, unseen), ErrOutcomeUnknown)
	require.ErrorIs(t, b.Check(t.Context(), unseen), ErrRefused)
	_, err = b.Fence(t.Context(), unseen)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.NotContains(t, b.names(t), "unseen")
	unseen.Base = 4
	b.publish(t, unseen)
	require.Contains(t, b.names(t), "unseen")
}

// A committer that stalled takes a number that was used and has expired: its snapshot lies below the table's history and
// must not count as a commit.
func TestASnapshotBelowAHoleIsNoCommit(t *testing.T) {
	b := emptyBed(t)
	for i := range 4 {
		b.foreign(t, snapshot.Append, fmt.Sprint("x", i))
	}
	b.expire(t, 1, 2, 3)
	buried := &snapshot.Snapshot{
		Version: 3, ID: 2, BaseManifestList: "b", DeltaManifestList: "d", CommitUser: "job-run", CommitIdentifier: 1,
		CommitKind: snapshot.Append, TimeMillis: 1,
	}
	require.NoError(t, b.snapshots.Publish(t.Context(), buried))
	req := b.request(snapshot.Append, 1, b.file(t, "mine", 1))
	req.Base = 1
	require.ErrorIs(t, publishError(t, b, req), ErrOutcomeUnknown)
	_, err := b.Find(t.Context(), "job-run", 1, snapshot.Append, 1)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
}

func TestARolledBackTable(t *testing.T) {
	b := emptyBed(t)
	b.foreign(t, snapshot.Append, "x1")
	b.foreign(t, snapshot.Append, "x2")
	req := b.request(snapshot.Append, 1, b.file(t, "mine", 1))
	req.Base = 2
	b.expire(t, 2)
	require.ErrorIs(t, b.Check(t.Context(), req), ErrConflict)
	require.ErrorIs(t, publishError(t, b, req), ErrConflict)
}

func TestErrorsSpeak(t *testing.T) {
	err := &Error{Op: "check", Table: "file:///lake/t", Snapshot: 3, Path: "t/bucket-0/a", Err: ErrRefused, Hint: "run again"}
	require.Equal(t, "check file:///lake/t: snapshot 3: file t/bucket-0/a: commit refused; run again", err.Error())
	require.ErrorIs(t, ErrFenced, ErrRefused)
	require.False(t, strings.Contains(ErrOutcomeUnknown.Error(), "refused"))
}
