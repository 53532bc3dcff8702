package commit

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// newKeyBed is a table with the primary key (day, id), partitioned by day, in two buckets.
func newKeyBed(t *testing.T, options map[string]string) *bed {
	t.Helper()
	all := map[string]string{"bucket": "2"}
	for k, v := range options {
		all[k] = v
	}
	s, err := schema.New(schema.Spec{
		Fields: []schema.Field{
			{Name: "id", Type: schema.Of(schema.BigInt)}, {Name: "day", Type: schema.Of(schema.Date)}, {Name: "note", Type: schema.StringType()},
		},
		PartitionKeys: []string{"day"}, PrimaryKeys: []string{"day", "id"}, Options: all, TimeMillis: 1,
	})
	require.NoError(t, err)
	b := &bed{New(fileiotest.NewMemory(), tablePath), s}
	require.NoError(t, b.schemas.Create(t.Context(), s))
	return b
}

func ofDay(day int64) []byte {
	return row.Serialize([]schema.Type{schema.Of(schema.Date)}, []row.Value{{I64: day}})
}

func key(id int64) []byte {
	return row.Serialize([]schema.Type{schema.Of(schema.BigInt).WithNotNull(true)}, []row.Value{{I64: id}})
}

// keyed writes a file that claims to hold the ids from low to high and describes it at a level.
func (b *bed) keyed(t *testing.T, name string, day int64, bucket, level int32, low, high int64) manifest.DataFile {
	t.Helper()
	layout, err := partition.LayoutOf(b.table, b.schema)
	require.NoError(t, err)
	p := path.Join(layout.Bucket([]row.Value{{I64: day}}, bucket), name)
	require.NoError(t, fileio.WriteFile(t.Context(), b.store, p, make([]byte, 9)))
	source := manifest.SourceAppend
	stats := manifest.Stats{Min: key(low), Max: key(high), NullCounts: []*int64{ptr(0)}}
	return manifest.DataFile{
		Name: name, Size: 9, Rows: high - low + 1, MinKey: key(low), MaxKey: key(high), KeyStats: stats,
		ValueStats: manifest.EmptyStats(), ExtraFiles: []string{}, Source: &source, ValueStatsColumns: []string{},
		MaxSequence: high, Level: level,
	}
}

func added(day int64, bucket int32, files ...manifest.DataFile) *message.Commit {
	two := int32(2)
	return &message.Commit{Partition: ofDay(day), Bucket: bucket, TotalBuckets: &two, Data: message.DataIncrement{NewFiles: files}}
}

func compacted(day int64, bucket int32, before, after []manifest.DataFile) *message.Commit {
	m := added(day, bucket)
	m.Compact = message.CompactIncrement{Before: before, After: after}
	return m
}

// filesAt are the live files with their levels, by name.
func (b *bed) filesAt(t *testing.T) map[string]int32 {
	t.Helper()
	latest, err := b.snapshots.Latest(t.Context())
	require.NoError(t, err)
	levels := map[string]int32{}
	for _, e := range live(t, b.Committer, latest) {
		levels[e.File.Name] = e.File.Level
	}
	return levels
}

// next publishes a request on top of the latest snapshot.
func (b *bed) next(t *testing.T, kind snapshot.Kind, replace *Replace, messages ...*message.Commit) (Result, error) {
	t.Helper()
	latest, err := b.snapshots.LatestID(t.Context())
	require.NoError(t, err)
	req := b.request(kind, int64(latest)+1, messages...)
	req.Base, req.Replace = latest, replace
	if err := b.Check(t.Context(), req); err != nil {
		_, again := b.Publish(t.Context(), req)
		require.Error(t, again, "what is refused is not published")
		return Result{}, err
	}
	return b.Publish(t.Context(), req)
}

func TestOverwriteOfPartitions(t *testing.T) {
	b := newKeyBed(t, map[string]string{"overwrite-upgrade": "false"})
	_, err := b.next(t, snapshot.Append, nil,
		added(1, 0, b.keyed(t, "a", 1, 0, 0, 1, 5)), added(2, 1, b.keyed(t, "b", 2, 1, 0, 1, 5)), added(3, 0, b.keyed(t, "c", 3, 0, 0, 1, 5)))
	require.NoError(t, err)
	day2 := &Replace{Partitions: []partition.Spec{{"day": "1970-01-03"}}}

	_, err = b.next(t, snapshot.Overwrite, day2, added(3, 0, b.keyed(t, "wrong", 3, 0, 0, 1, 5)))
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "file wrong lies outside")

	_, err = b.next(t, snapshot.Overwrite, day2, added(2, 0, b.keyed(t, "d", 2, 0, 0, 7, 8)))
	require.NoError(t, err)
	require.Equal(t, map[string]int32{"a": 0, "c": 0, "d": 0}, b.filesAt(t))

	_, err = b.next(t, snapshot.Overwrite, &Replace{Touched: true}, added(3, 1, b.keyed(t, "e", 3, 1, 0, 1, 1)))
	require.NoError(t, err)
	require.Equal(t, map[string]int32{"a": 0, "d": 0, "e": 0}, b.filesAt(t))

	result, err := b.next(t, snapshot.Overwrite, &Replace{Touched: true})
	require.NoError(t, err)
	require.Equal(t, Result{Kind: snapshot.Overwrite}, result, "nothing is touched")

	_, err = b.next(t, snapshot.Overwrite, &Replace{Partitions: []partition.Spec{{"day": "1970-01-02"}, {"day": "1971-01-01"}}})
	require.NoError(t, err, "dropping a partition, and one that is not there")
	require.Equal(t, map[string]int32{"d": 0, "e": 0}, b.filesAt(t))

	for _, bad := range []partition.Spec{{"id": "1"}, {"day": "yesterday"}} {
		_, err = b.next(t, snapshot.Overwrite, &Replace{Partitions: []partition.Spec{bad}})
		require.ErrorIs(t, err, ErrRefused)
	}
	_, err = b.next(t, snapshot.Overwrite, &Replace{Partitions: []partition.Spec{{}}})
	require.NoError(t, err)
	require.Empty(t, b.filesAt(t))
}

// Only a change within the partitions that are replaced is in the way.
func TestConflictsOfPartitions(t *testing.T) {
	b := newKeyBed(t, nil)
	_, err := b.next(t, snapshot.Append, nil, added(1, 0, b.keyed(t, "a", 1, 0, 0, 1, 5)))
	require.NoError(t, err)
	foreign := b.request(snapshot.Append, 1, added(2, 0, b.keyed(t, "theirs", 2, 0, 0, 1, 5)))
	foreign.User, foreign.Base = "spark", 1
	b.publish(t, foreign)
	for day, conflict := range map[string]bool{"1970-01-02": false, "1970-01-03": true} {
		req := b.request(snapshot.Overwrite, 7)
		req.Base, req.Replace = 1, &Replace{Partitions: []partition.Spec{{"day": day}}}
		require.Equal(t, conflict, b.Check(t.Context(), req) != nil, day)
	}
}

func TestOverwriteLiftsSortedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		options map[string]string
		second  [2]int64
		want    int32
	}{
		"sorted":         {nil, [2]int64{6, 9}, 5},
		"overlapping":    {nil, [2]int64{5, 9}, 0},
		"switched off":   {map[string]string{"overwrite-upgrade": "false"}, [2]int64{6, 9}, 0},
		"fewer levels":   {map[string]string{"num-levels": "3"}, [2]int64{6, 9}, 2},
		"higher trigger": {map[string]string{"num-sorted-run.compaction-trigger": "9"}, [2]int64{6, 9}, 9},
	} {
		t.Run(name, func(t *testing.T) {
			b := newKeyBed(t, c.options)
			_, err := b.next(t, snapshot.Overwrite, nil,
				added(1, 0, b.keyed(t, "a", 1, 0, 0, 1, 5), b.keyed(t, "b", 1, 0, 0, c.second[0], c.second[1])), added(1, 1, b.keyed(t, "c", 1, 1, 0, 1, 5)))
			require.NoError(t, err)
			require.Equal(t, map[string]int32{"a": c.want, "b": c.want, "c": c.want}, b.filesAt(t))
		})
	}
}

func TestCompaction(t *testing.T) {
	b := newKeyBed(t, nil)
	one, two := b.keyed(t, "one", 1, 0, 0, 1, 5), b.keyed(t, "two", 1, 0, 0, 3, 9)
	_, err := b.next(t, snapshot.Append, nil, added(1, 0, one, two))
	require.NoError(t, err)
	merged := b.keyed(t, "merged", 1, 0, 5, 1, 9)
	done, err := b.next(t, snapshot.Compact, nil, compacted(1, 0, []manifest.DataFile{one, two}, []manifest.DataFile{merged}))
	require.NoError(t, err)
	require.Equal(t, Result{Snapshot: 2, Kind: snapshot.Compact}, done)
	require.Equal(t, map[string]int32{"merged": 5}, b.filesAt(t))
	s, err := b.snapshots.Get(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, [2]int64{-3, 9}, [2]int64{s.DeltaRecordCount, s.TotalRecordCount})

	t.Run("replaced files are gone", func(t *testing.T) {
		_, err := b.next(t, snapshot.Compact, nil, compacted(1, 0, []manifest.DataFile{one}, nil))
		require.ErrorIs(t, err, ErrConflict)
		require.ErrorContains(t, err, "file one, which the commit replaces, is in the table no more")
	})
	t.Run("keys in common above level 0", func(t *testing.T) {
		three := b.keyed(t, "three", 1, 0, 0, 4, 4)
		_, err := b.next(t, snapshot.Append, nil, added(1, 0, three))
		require.NoError(t, err)
		_, err = b.next(t, snapshot.Compact, nil, compacted(1, 0, []manifest.DataFile{three}, []manifest.DataFile{b.keyed(t, "late", 1, 0, 5, 4, 4)}))
		require.ErrorIs(t, err, ErrConflict)
		require.ErrorContains(t, err, "files merged and late of bucket 0, level 5 have keys in common")
		lifted := three
		lifted.Level = 4
		_, err = b.next(t, snapshot.Compact, nil, compacted(1, 0, []manifest.DataFile{three}, []manifest.DataFile{lifted}))
		require.NoError(t, err, "the same file at another level")
		require.Equal(t, map[string]int32{"merged": 5, "three": 4}, b.filesAt(t))
	})
	t.Run("a message that adds rows too", func(t *testing.T) {
		m := compacted(1, 0, nil, []manifest.DataFile{merged})
		m.Data.NewFiles = []manifest.DataFile{one}
		_, err := b.next(t, snapshot.Compact, nil, m)
		require.ErrorContains(t, err, "commit it as an APPEND")
	})
	require.Empty(t, b.orphans(t))
}

// Java's writer compacts on the way: its messages become two snapshots.
func TestAppendWithCompaction(t *testing.T) {
	b := newKeyBed(t, nil)
	both := func() Request {
		one, two := b.keyed(t, "one", 1, 0, 0, 1, 5), b.keyed(t, "two", 1, 0, 0, 3, 9)
		m := compacted(1, 0, []manifest.DataFile{one, two}, []manifest.DataFile{b.keyed(t, "merged", 1, 0, 5, 1, 9)})
		m.Data.NewFiles = []manifest.DataFile{one, two}
		return b.request(snapshot.Append, 1, m)
	}
	req := both()
	require.NoError(t, b.Check(t.Context(), req))
	require.Equal(t, Result{Snapshot: 1, Kind: snapshot.Append, Compaction: 2}, b.publish(t, req))
	require.Equal(t, map[string]int32{"merged": 5}, b.filesAt(t))
	require.Equal(t, Result{Snapshot: 1, Kind: snapshot.Append, AlreadyCommitted: true, Compaction: 2}, b.publish(t, req))
	require.Len(t, snapshots(t, b), 2)

	b = newKeyBed(t, nil)
	req = both()
	alone := req
	alone.Messages = []*message.Commit{added(1, 0, req.Messages[0].Data.NewFiles...)}
	b.publish(t, alone)
	other := b.request(snapshot.Overwrite, 1)
	other.User, other.Base = "spark", 1
	b.publish(t, other)
	require.Equal(t, Result{Snapshot: 1, Kind: snapshot.Append, AlreadyCommitted: true, CompactionLost: true}, b.publish(t, req))
	require.Empty(t, b.filesAt(t))
}

func snapshots(t *testing.T, b *bed) []snapshot.ID {
	t.Helper()
	ids, err := b.snapshots.List(t.Context())
	require.NoError(t, err)
	return ids
}

func TestChangelogFiles(t *testing.T) {
	b := newKeyBed(t, map[string]string{"changelog-producer": "input"})
	m := added(1, 0, b.keyed(t, "a", 1, 0, 0, 1, 5))
	m.Data.ChangelogFiles = []manifest.DataFile{b.keyed(t, "changelog-a", 1, 0, 0, 1, 5)}
	result, err := b.next(t, snapshot.Append, nil, m)
	require.NoError(t, err)
	s, err := b.snapshots.Get(t.Context(), result.Snapshot)
	require.NoError(t, err)
	require.Equal(t, ptr(5), s.ChangelogRecordCount)
	metas, err := b.manifests.ReadList(t.Context(), manifest.List{Name: s.ChangelogManifestList, Size: *s.ChangelogManifestListSize})
	require.NoError(t, err)
	var names []string
	for _, meta := range metas {
		require.NoError(t, b.manifests.ReadManifest(t.Context(), meta, func(e *manifest.Entry) error {
			names = append(names, e.File.Name)
			return nil
		}))
	}
	require.Equal(t, []string{"changelog-a"}, names)
	require.Equal(t, map[string]int32{"a": 0}, b.filesAt(t))
	m.Data.ChangelogFiles[0].Name = "changelog-missing"
	m.Data.NewFiles[0] = b.keyed(t, "b", 1, 0, 0, 1, 5)
	_, err = b.next(t, snapshot.Append, nil, m)
	require.ErrorContains(t, err, "changelog-missing")
}

func TestBucketsAndKeys(t *testing.T) {
	b := newKeyBed(t, nil)
	_, err := b.next(t, snapshot.Append, nil, added(1, 0, b.keyed(t, "a", 1, 0, 0, 1, 5)))
	require.NoError(t, err)
	for want, change := range map[string]func(m *message.Commit){
		"bucket 2 of 2":                      func(m *message.Commit) { m.Bucket = 2 },
		"bucket -1 of 2":                     func(m *message.Commit) { m.Bucket = -1 },
		"files of 3 and of 2 buckets":        func(m *message.Commit) { m.TotalBuckets = new(int32); *m.TotalBuckets = 3 },
		"smallest key is above its largest":  func(m *message.Commit) { m.Data.NewFiles[0].MinKey = key(9) },
		"smallest and largest key":           func(m *message.Commit) { m.Data.NewFiles[0].MaxKey = make([]byte, 12) },
		"file a is in the table already":     func(m *message.Commit) { m.Data.NewFiles[0].Name = "a" },
		"file again was written with schema": func(m *message.Commit) { m.Data.NewFiles[0].SchemaID = 3 },
	} {
		m := added(1, 0, b.keyed(t, "again", 1, 0, 0, 1, 5))
		change(m)
		_, err := b.next(t, snapshot.Append, nil, m)
		require.ErrorContains(t, err, want)
	}
	require.Empty(t, b.orphans(t))
}
