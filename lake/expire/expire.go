package expire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Result tells what went, or with Options.DryRun what would. Paths are those of the table's store, sorted.
type Result struct {
	// Snapshots that expired, ascending.
	Snapshots []snapshot.ID
	// Earliest is the first snapshot that stays, 0 when the table has none.
	Earliest snapshot.ID
	// DataFiles are the removed data files and their side files, changelog files among them.
	DataFiles []string
	// Metadata are the removed manifests, index files, lists and statistics.
	Metadata []string
}

// maxPlans is how often a call plans anew because another process changed what stays while it was read.
const maxPlans = 5

// errMoved tells that what was being read is gone by right: plan anew.
var errMoved = errors.New("the table changed meanwhile")

// table is what all of this package works on.
type table struct {
	store     fileio.Store
	path      string
	snapshots snapshot.Manager
	manifests manifest.Folder
	layout    *partition.Layout
}

// Expire lets the oldest snapshots go, as far as the options allow, and removes the files that nothing else shows. Never
// beyond a consumer's next snapshot, and nothing that a tag or a branch holds. A table without snapshots is none to expire
// from, and no error. After an error call again: it finishes what was begun.
func Expire(ctx context.Context, store fileio.Store, path string, o Options) (*Result, error) {
	result, err := expire(ctx, store, path, o)
	if err != nil {
		return nil, fmt.Errorf("expire snapshots of %s: %w", store.URI(path), err)
	}
	return result, nil
}

func expire(ctx context.Context, store fileio.Store, path string, o Options) (*Result, error) {
	t, keep, err := open(ctx, store, path, o)
	if err != nil {
		return nil, err
	}
	for range maxPlans {
		p, err := t.plan(ctx, keep)
		if errors.Is(err, errMoved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if o.DryRun {
			return p.result(), nil
		}
		if len(p.expired) == 0 {
			return p.result(), t.hint(ctx)
		}
		if ok, err := t.stillTrue(ctx, p); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		if err := t.sweep(ctx, &p.waste); err != nil {
			return nil, err
		}
		for _, s := range p.expired {
			if err := t.snapshots.Delete(ctx, s.ID); err != nil {
				return nil, err
			}
		}
		return p.result(), t.hint(ctx)
	}
	return nil, fmt.Errorf("%w, %d times in a row: call again", errMoved, maxPlans)
}

// open reads the table's schema and what its options say.
func open(ctx context.Context, store fileio.Store, path string, o Options) (*table, retention, error) {
	latest, err := snapshot.Schemas{Store: store, Table: path}.Latest(ctx)
	if err != nil {
		return nil, retention{}, err
	}
	if err := checkTable(latest); err != nil {
		return nil, retention{}, err
	}
	keep, err := retentionOf(latest, o, time.Now())
	if err != nil {
		return nil, keep, err
	}
	layout, err := partition.LayoutOf(path, latest)
	if err != nil {
		return nil, keep, err
	}
	t := &table{
		store: store, path: path, layout: layout,
		snapshots: snapshot.Manager{Store: store, Table: path}, manifests: manifest.In(store, path),
	}
	changelogs, err := t.snapshots.Changelogs(ctx)
	if err == nil && len(changelogs) > 0 {
		err = fmt.Errorf("%w: the table keeps changelogs of expired snapshots, whose files must stay", ErrUnsupported)
	}
	return t, keep, err
}

// plan is what one call is to do.
type plan struct {
	// expired are the snapshots to go, and end is the first that stays, 0 when there is none.
	expired []*snapshot.Snapshot
	end     snapshot.ID
	// tags are the names of tags that were taken into account.
	tags  []string
	waste waste
}

func (p *plan) result() *Result {
	r := &Result{Earliest: p.end, DataFiles: slices.Sorted(slices.Values(p.waste.data))}
	for _, s := range p.expired {
		r.Snapshots = append(r.Snapshots, s.ID)
	}
	r.Metadata = slices.Sorted(slices.Values(slices.Concat(p.waste.named, p.waste.naming)))
	return r
}

// plan reads the table and decides.
func (t *table) plan(ctx context.Context, keep retention) (*plan, error) {
	ids, err := t.snapshots.List(ctx)
	if err != nil || len(ids) == 0 {
		return &plan{}, err
	}
	// Consumers are read after the snapshots: one that is made in between counts, a later one knows no snapshot of the list
	// that it could begin with but the latest.
	n, err := t.reach(ctx, ids, keep)
	if err != nil {
		return nil, err
	}
	p := &plan{end: ids[n]}
	if n == 0 {
		return p, nil
	}
	for _, id := range ids[:n] {
		s, err := t.snapshots.Get(ctx, id)
		if err != nil {
			return nil, moved(err)
		}
		p.expired = append(p.expired, s)
	}
	stays, err := t.stays(ctx, ids[n:], "")
	if err != nil {
		return nil, err
	}
	p.tags = stays.tags
	end, err := t.snapshots.Get(ctx, p.end)
	if err != nil {
		return nil, moved(err)
	}
	p.waste, err = t.wasteOf(ctx, p.expired, end, stays)
	return p, err
}

// moved takes a missing snapshot or tag for one that another process removed.
func moved(err error) error {
	if errors.Is(err, fileio.ErrNotExist) {
		return errMoved
	}
	return err
}

// reach is the number of oldest snapshots that may go (ExpireSnapshotsImpl.expire). It counts the snapshots that are there,
// so that a hole in their numbers neither stops it nor makes it go further.
func (t *table) reach(ctx context.Context, ids []snapshot.ID, keep retention) (int, error) {
	consumers, err := t.snapshots.Consumers(ctx)
	if err != nil {
		return 0, err
	}
	most := min(len(ids)-keep.min, keep.limit)
	for _, next := range consumers {
		pinned, _ := slices.BinarySearch(ids, next)
		most = min(most, pinned)
	}
	for n := max(0, len(ids)-keep.max); n < most; n++ {
		next, err := t.snapshots.Get(ctx, ids[n+1])
		if err != nil {
			return 0, moved(err)
		}
		if next.TimeMillis >= keep.olderThan.UnixMilli() {
			return n, nil
		}
	}
	return max(0, most), nil
}

// stillTrue tells whether nobody tagged or pinned a snapshot while the plan was made, which can take minutes.
func (t *table) stillTrue(ctx context.Context, p *plan) (bool, error) {
	consumers, err := t.snapshots.Consumers(ctx)
	if err != nil {
		return false, err
	}
	for _, next := range consumers {
		if next < p.end {
			return false, nil
		}
	}
	tags, err := t.snapshots.Tags(ctx)
	return slices.Equal(tags, p.tags), err
}

// hint lets EARLIEST follow where it is missing or names a snapshot that is gone.
func (t *table) hint(ctx context.Context) error {
	ids, err := t.snapshots.List(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	hint, err := t.snapshots.EarliestHint(ctx)
	if err != nil || slices.Contains(ids, hint) {
		return err
	}
	return t.snapshots.WriteEarliest(ctx, ids[0])
}
