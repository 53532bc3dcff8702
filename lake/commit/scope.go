package commit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Replace says which files an Overwrite takes away before it adds its own.
type Replace struct {
	// Partitions are replaced whether there are new files for them or not; every new file must lie in one of them. An empty
	// Spec among them is the whole table.
	Partitions []partition.Spec
	// Touched replaces the partitions that new files lie in, and nothing when there are none: Paimon's dynamic overwrite.
	Touched bool
}

// scope is a set of partitions; nil is the whole table.
type scope struct{ filter *partition.Filter }

// bucket is one of a partition's.
type bucket struct {
	partition string
	number    int32
}

// scopeOf returns what a request takes away, and refuses new files outside of it.
func scopeOf(req *Request, layout *partition.Layout) (*scope, error) {
	if req.Kind != snapshot.Overwrite || req.Replace == nil {
		return nil, nil
	}
	if req.Replace.Touched {
		if len(req.Replace.Partitions) > 0 {
			return nil, refusal("an overwrite of touched partitions names partitions too")
		}
		return touched(req, layout)
	}
	filter, err := layout.NewFilter(req.Replace.Partitions...)
	if err != nil {
		return nil, refusal("%w", err)
	}
	for _, m := range req.Messages {
		if len(m.Data.NewFiles) > 0 && !filter.Selects(m.Partition) {
			return nil, refusal("file %s lies outside of the partitions that are replaced", m.Data.NewFiles[0].Name)
		}
	}
	return &scope{filter}, nil
}

// touched is the set of partitions for which the request has files.
func touched(req *Request, layout *partition.Layout) (*scope, error) {
	filter, err := layout.NewFilter()
	if err != nil {
		return nil, err
	}
	for _, m := range req.Messages {
		d, k := &m.Data, &m.Compact
		if len(d.NewFiles)+len(k.Before)+len(k.After) == 0 {
			continue
		}
		if err := filter.Add(m.Partition); err != nil {
			return nil, refusal("a message's partition: %w", err)
		}
	}
	return &scope{filter}, nil
}

// entries chooses the live files of the scope.
func (s *scope) entries() manifest.Filter {
	if s == nil {
		return manifest.Filter{}
	}
	return manifest.Filter{
		Manifest: func(m *manifest.FileMeta) bool {
			return s.filter.MaySelect(m.PartitionStats.Min, m.PartitionStats.Max, m.PartitionStats.NullCounts)
		},
		Entry: func(e *manifest.Entry) bool {
			return s.filter.Selects(e.Partition)
		},
	}
}

// touchedBy tells whether a snapshot changed something within the scope. One whose manifests are gone may have.
func (s *scope) touchedBy(ctx context.Context, folder manifest.Folder, x *snapshot.Snapshot) (bool, error) {
	if s == nil {
		return true, nil
	}
	metas, err := folder.ReadList(ctx, manifest.List{Name: x.DeltaManifestList, Size: sizeOf(x.DeltaManifestListSize)})
	if errors.Is(err, fileio.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	chosen := s.entries()
	for _, m := range metas {
		if !chosen.Manifest(&m) {
			continue
		}
		hit := false
		err := folder.ReadManifest(ctx, m, func(e *manifest.Entry) error {
			hit = hit || chosen.Entry(e)
			return nil
		})
		if err != nil || hit {
			return hit, err
		}
	}
	return false, nil
}

// mixed are two numbers of buckets of files of one partition.
type mixed struct{ was, is int32 }

// bucketCounts notes the number of buckets of each partition and finds one that has two.
type bucketCounts map[string]int32

func (b bucketCounts) note(e *manifest.Entry) *mixed {
	if e.TotalBuckets <= 0 {
		return nil
	}
	if was, ok := b[string(e.Partition)]; ok && was != e.TotalBuckets {
		return &mixed{was, e.TotalBuckets}
	}
	b[string(e.Partition)] = e.TotalBuckets
	return nil
}

// checkConflicts makes sure that a request's changes fit the files that are live now (ConflictDetection): every file that is
// taken away is there, none is added twice, a partition has one number of buckets, above level 0 of a key table no two
// files of a bucket have keys in common, and rows that must be the latest of their bucket are.
func (c *Committer) checkConflicts(ctx context.Context, req *Request, table *schema.Table, layout *partition.Layout, latest *snapshot.Snapshot) error {
	o, err := optionsOf(table)
	if err != nil {
		return err
	}
	x := changesOf(req, table, o)
	f := &fit{counts: bucketCounts{}, gone: map[string]*manifest.Entry{}, added: map[string]bool{}, high: map[bucketLevel]bool{}}
	if err := f.take(x.table); err != nil {
		return err
	}
	if req.Alone {
		f.number(x.table)
	}
	bucketed := o.buckets > 0 && req.Kind != snapshot.Overwrite
	if latest != nil && (req.Kind == snapshot.Compact || bucketed) {
		if err := c.checkLive(ctx, req, layout, latest, f); err != nil {
			return err
		}
	}
	if len(f.gone) > 0 {
		names := slices.Sorted(maps.Keys(f.gone))
		e := f.gone[names[0]]
		return &Error{
			Snapshot: idOf(latest),
			Err:      fmt.Errorf("%w: file %s, which the commit replaces, is in the table no more", ErrConflict, e.File.Name),
			Hint:     "another compaction or overwrite was faster; do it again on the table as it is now",
		}
	}
	if len(table.PrimaryKeys) == 0 {
		return nil
	}
	if a, b, overlap := newKeyOrder(table).overlap(f.sorted); overlap {
		return &Error{
			Snapshot: idOf(latest),
			Err: fmt.Errorf("%w: files %s and %s of bucket %d, level %d have keys in common", ErrConflict,
				a.File.Name, b.File.Name, a.Bucket, a.File.Level),
			Hint: "another compaction was faster, or the writer did not sort; do it again on the table as it is now",
		}
	}
	return nil
}

func idOf(s *snapshot.Snapshot) snapshot.ID {
	if s == nil {
		return 0
	}
	return s.ID
}

type bucketLevel struct {
	partition     string
	bucket, level int32
}

// fit is what is known of changes while live files are looked at.
type fit struct {
	counts bucketCounts
	gone   map[string]*manifest.Entry // deletions whose file was not yet seen
	added  map[string]bool
	high   map[bucketLevel]bool // where files above level 0 are added
	sorted []manifest.Entry     // files above level 0 at those places
	// lowest is the lowest sequence number that is added to a bucket, where it must be above those that are there.
	lowest map[bucket]int64
}

// number notes the sequence numbers of what is added.
func (f *fit) number(entries []manifest.Entry) {
	f.lowest = map[bucket]int64{}
	for i := range entries {
		e := &entries[i]
		if e.Kind != manifest.Add {
			continue
		}
		at := bucket{string(e.Partition), e.Bucket}
		if low, ok := f.lowest[at]; !ok || e.File.MinSequence < low {
			f.lowest[at] = e.File.MinSequence
		}
	}
}

// overtaken tells of a live file whose rows would not be earlier than those that are added to its bucket.
func (f *fit) overtaken(e *manifest.Entry) error {
	low, ok := f.lowest[bucket{string(e.Partition), e.Bucket}]
	if !ok || e.File.MaxSequence < low {
		return nil
	}
	return &Error{
		Err: fmt.Errorf("%w: file %s of bucket %d has rows numbered up to %d, those to be added begin with %d", ErrOvertaken,
			e.File.Name, e.Bucket, e.File.MaxSequence, low),
		Hint: "run again to load on top of it",
	}
}

// take notes the changes themselves. A file that is taken away and added again at another level is two files by identity.
func (f *fit) take(entries []manifest.Entry) error {
	for i := range entries {
		e := &entries[i]
		id := e.Identity()
		if e.Kind == manifest.Delete {
			if f.gone[id] != nil {
				return refusal("file %s is replaced twice", e.File.Name)
			}
			f.gone[id] = e
			continue
		}
		if f.added[id] {
			return refusal("file %s is added twice", e.File.Name)
		}
		f.added[id] = true
		if m := f.counts.note(e); m != nil {
			return m.refuse(e)
		}
		if e.File.Level > 0 {
			f.high[bucketLevel{string(e.Partition), e.Bucket, e.File.Level}] = true
			f.sorted = append(f.sorted, *e)
		}
	}
	return nil
}

func (m *mixed) refuse(e *manifest.Entry) error {
	return &Error{
		Err: fmt.Errorf("%w: with file %s, files of %d and of %d buckets would lie in one partition", ErrRefused,
			e.File.Name, m.was, m.is),
		Hint: "overwrite the partition to give it another number of buckets",
	}
}

// checkLive compares with the live files of the partitions that change.
func (c *Committer) checkLive(ctx context.Context, req *Request, layout *partition.Layout, latest *snapshot.Snapshot, f *fit) error {
	s, err := touched(req, layout)
	if err != nil {
		return err
	}
	metas, err := manifestsOf(ctx, c.manifests, latest)
	if err != nil {
		return err
	}
	return c.manifests.Live(ctx, metas, s.entries(), func(e *manifest.Entry) error {
		id := e.Identity()
		if f.gone[id] != nil {
			delete(f.gone, id)
			return nil
		}
		if f.added[id] {
			return &Error{Snapshot: latest.ID, Err: fmt.Errorf("%w: file %s is in the table already", ErrConflict, e.File.Name)}
		}
		if m := f.counts.note(e); m != nil {
			return m.refuse(e)
		}
		if err := f.overtaken(e); err != nil {
			return err
		}
		if e.File.Level > 0 && f.high[bucketLevel{string(e.Partition), e.Bucket, e.File.Level}] {
			f.sorted = append(f.sorted, *e)
		}
		return nil
	})
}
