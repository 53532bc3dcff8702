package expire

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// atOnce is the number of metadata files that are read, or of files that are removed, at the same time.
const atOnce = 8

// root is something that stays and shows files: a snapshot, a tag, or one of a branch.
type root struct {
	name     string
	path     string // of its own file
	snapshot *snapshot.Snapshot
	isTag    bool
	// manifests are the names of its data manifests.
	manifests map[string]bool
}

// stays is everything that stays.
type stays struct {
	tags  []string // of the main branch
	roots []*root
	// names are the bare names of all metadata and index files that a root names.
	names map[string]bool
	// metas are the data manifests of all roots, each once.
	metas map[string]manifest.FileMeta
}

// stays reads what the given snapshots, all tags but one, and all branches name.
func (t *table) stays(ctx context.Context, ids []snapshot.ID, without string) (*stays, error) {
	s := &stays{names: map[string]bool{}, metas: map[string]manifest.FileMeta{}}
	var err error
	if s.tags, err = t.addBranch(ctx, s, t.snapshots, ids, without); err != nil {
		return nil, err
	}
	branches, err := t.snapshots.Branches(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range branches {
		ids, err := b.List(ctx)
		if err != nil {
			return nil, err
		}
		if _, err := t.addBranch(ctx, s, b, ids, ""); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, r := range s.roots {
		group.Go(func() error { return t.explore(ctx, s, &mu, r) })
	}
	return s, group.Wait()
}

// addBranch adds snapshots and tags of a branch, and returns the names of all tags. What is gone since it was listed no
// longer stays: whoever removed a tag or a snapshot has seen to its files.
func (t *table) addBranch(ctx context.Context, s *stays, m snapshot.Manager, ids []snapshot.ID, without string) ([]string, error) {
	read := make([]*root, len(ids))
	group, readCtx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, id := range ids {
		group.Go(func() error {
			snap, err := m.Get(readCtx, id)
			read[i] = &root{name: fmt.Sprintf("snapshot %d", id), path: m.Path(id), snapshot: snap}
			return moved(err)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.roots = append(s.roots, read...)
	tags, err := m.Tags(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range tags {
		if name == without {
			continue
		}
		snap, err := m.Tag(ctx, name)
		if err != nil {
			return nil, moved(err)
		}
		s.roots = append(s.roots, &root{name: "tag " + name, path: m.TagPath(name), snapshot: snap, isTag: true})
	}
	return tags, nil
}

// explore reads which metadata files a root names.
func (t *table) explore(ctx context.Context, s *stays, mu *sync.Mutex, r *root) error {
	named, err := t.named(ctx, r.snapshot, always)
	if err != nil {
		return t.broken(ctx, r, err)
	}
	if !r.isTag && r.snapshot.ChangelogManifestList != "" {
		// A tag keeps no changelog, in Java neither.
		changelog, err := t.manifests.ReadList(ctx, changelogList(r.snapshot))
		if err != nil {
			return t.broken(ctx, r, err)
		}
		named.naming = append(named.naming, r.snapshot.ChangelogManifestList)
		for i := range changelog {
			named.named = append(named.named, changelog[i].Name)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	r.manifests = map[string]bool{}
	for _, m := range named.metas {
		r.manifests[m.Name] = true
		s.metas[m.Name] = m
	}
	for _, name := range slices.Concat(named.named, named.naming, named.index) {
		s.names[name] = true
	}
	return nil
}

// broken says why a root cannot be read.
func (t *table) broken(ctx context.Context, r *root, cause error) error {
	if !errors.Is(cause, fileio.ErrNotExist) {
		return fmt.Errorf("%s: %w", r.name, cause)
	}
	_, err := t.store.Stat(ctx, r.path)
	if errors.Is(err, fileio.ErrNotExist) {
		return errMoved
	}
	return fmt.Errorf("%s: %w: %w", r.name, ErrUnreadable, errors.Join(cause, err))
}

// named are the bare names that a snapshot leads to.
type named struct {
	metas  []manifest.FileMeta // data manifests
	named  []string            // manifests and index manifests' siblings in the manifest folder, found through others
	naming []string            // lists, index manifest and statistics, named by the snapshot itself
	index  []string            // index files
}

// missing says what is to be done about a file that is not there.
type missing bool

const (
	// always: what is named must be there.
	always missing = false
	// forgiving: it may have been removed by an expiry that was cut off.
	forgiving missing = true
)

// or returns the error of a reading, nil where a missing file is forgiven.
func (m missing) or(err error) error {
	if m == forgiving && errors.Is(err, fileio.ErrNotExist) {
		return nil
	}
	return err
}

// named reads the lists and the index manifest of a snapshot. Its changelog is left out.
func (t *table) named(ctx context.Context, s *snapshot.Snapshot, m missing) (named, error) {
	var n named
	for _, l := range []manifest.List{
		{Name: s.BaseManifestList, Size: orZero(s.BaseManifestListSize)}, deltaList(s),
	} {
		metas, err := t.manifests.ReadList(ctx, l)
		if err := m.or(err); err != nil {
			return n, err
		}
		n.naming = append(n.naming, l.Name)
		n.metas = append(n.metas, metas...)
	}
	for i := range n.metas {
		n.named = append(n.named, n.metas[i].Name)
	}
	if s.Statistics != "" {
		n.naming = append(n.naming, s.Statistics)
	}
	if s.IndexManifest == "" {
		return n, nil
	}
	n.naming = append(n.naming, s.IndexManifest)
	entries, err := t.manifests.ReadIndex(ctx, s.IndexManifest)
	if err := m.or(err); err != nil {
		return n, err
	}
	for i := range entries {
		if entries[i].File.ExternalPath != nil {
			return n, fmt.Errorf("%w: index file %s lies outside the table, at %.200s", ErrUnsupported, entries[i].File.Name, *entries[i].File.ExternalPath)
		}
		n.index = append(n.index, entries[i].File.Name)
	}
	return n, nil
}

func deltaList(s *snapshot.Snapshot) manifest.List {
	return manifest.List{Name: s.DeltaManifestList, Size: orZero(s.DeltaManifestListSize)}
}

func changelogList(s *snapshot.Snapshot) manifest.List {
	return manifest.List{Name: s.ChangelogManifestList, Size: orZero(s.ChangelogManifestListSize)}
}

func orZero(v *int64) int64 {
	if v == nil {
		return 0
	}
	return *v
}

// in is the path of a file in one of the table's folders.
func (t *table) in(folder, name string) string { return path.Join(t.path, folder, name) }
