package expire

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// waste are the paths of files to remove, by stages.
type waste struct {
	// data and changelog files with their side files. They are found through manifests.
	data []string
	// named are manifests and index files, found through lists.
	named []string
	// naming are lists, index manifests and statistics, found through snapshots.
	naming []string
}

// sweep removes the files of a stage before those of the next, so that the way to what is left stays.
func (t *table) sweep(ctx context.Context, w *waste) error {
	for _, stage := range [][]string{w.data, w.named, w.naming} {
		if err := fileio.DeleteAll(ctx, t.store, atOnce, stage); err != nil {
			return fmt.Errorf("remove a file, call again to finish: %w", err)
		}
	}
	return nil
}

// wasteOf finds what only the expired snapshots show. What took a data file out of the table is the delta of a snapshot
// after the first and up to the end: the first one's own took out what was not even seen by it.
func (t *table) wasteOf(ctx context.Context, expired []*snapshot.Snapshot, end *snapshot.Snapshot, s *stays) (waste, error) {
	var w waste
	c := &candidates{table: t, files: map[string][]*candidate{}}
	for _, snap := range append(expired[1:len(expired):len(expired)], end) {
		err := c.read(ctx, deltaList(snap), manifest.Delete, missing(snap != end))
		if err != nil {
			if snap == end {
				err = t.broken(ctx, &root{name: fmt.Sprintf("snapshot %d", end.ID), path: t.snapshots.Path(end.ID)}, err)
			}
			return w, err
		}
	}
	for _, snap := range expired {
		if snap.ChangelogManifestList == "" {
			continue
		}
		if err := c.read(ctx, changelogList(snap), manifest.Add, forgiving); err != nil {
			return w, err
		}
	}
	var err error
	if w.data, err = c.unseen(ctx, s); err != nil {
		return w, err
	}
	return w, t.metadataWaste(ctx, &w, expired, s, true)
}

// metadataWaste adds the metadata that snapshots name and nothing of what stays.
func (t *table) metadataWaste(ctx context.Context, w *waste, gone []*snapshot.Snapshot, s *stays, changelog bool) error {
	taken := map[string]bool{}
	add := func(to *[]string, folder, name string) {
		if !s.names[name] && !taken[name] {
			taken[name] = true
			*to = append(*to, t.in(folder, name))
		}
	}
	for _, snap := range gone {
		n, err := t.named(ctx, snap, forgiving)
		if err != nil {
			return err
		}
		if changelog && snap.ChangelogManifestList != "" {
			metas, err := t.manifests.ReadList(ctx, changelogList(snap))
			if err := forgiving.or(err); err != nil {
				return err
			}
			for i := range metas {
				n.named = append(n.named, metas[i].Name)
			}
			n.naming = append(n.naming, snap.ChangelogManifestList)
		}
		for _, name := range n.named {
			add(&w.named, "manifest", name)
		}
		for _, name := range n.index {
			add(&w.named, "index", name)
		}
		for _, name := range n.naming {
			if name == snap.Statistics {
				add(&w.naming, "statistics", name)
			} else {
				add(&w.naming, "manifest", name)
			}
		}
	}
	return nil
}

// candidate is a data file that may have to go.
type candidate struct {
	path  string
	extra []string // paths of its side files
	seen  []sight
}

// sight is an entry of a manifest of what stays that speaks of a candidate. The same file may stand there under several
// identities: a compaction that only lifts a file to another level deletes one and adds another.
type sight struct {
	manifest string
	kind     manifest.Kind
	identity string
}

// candidates are files that may have to go, by their bare names.
type candidates struct {
	table *table
	files map[string][]*candidate
}

// read takes in the files of all entries of one kind of a list's manifests.
func (c *candidates) read(ctx context.Context, l manifest.List, kind manifest.Kind, m missing) error {
	metas, err := c.table.manifests.ReadList(ctx, l)
	if err := m.or(err); err != nil {
		return err
	}
	for _, meta := range metas {
		if kind == manifest.Delete && meta.Deleted == 0 || kind == manifest.Add && meta.Added == 0 {
			continue
		}
		err := c.table.manifests.ReadManifest(ctx, meta, func(e *manifest.Entry) error {
			if e.Kind != kind {
				return nil
			}
			return c.add(e)
		})
		if err := m.or(err); err != nil {
			return err
		}
	}
	return nil
}

// add takes in the file of an entry.
func (c *candidates) add(e *manifest.Entry) error {
	if e.File.ExternalPath != nil {
		return fmt.Errorf("%w: data file %s lies outside the table, at %.200s", ErrUnsupported, e.File.Name, *e.File.ExternalPath)
	}
	p, err := c.pathOf(e)
	if err != nil {
		return err
	}
	f := c.find(e.File.Name, p)
	if f == nil {
		f = &candidate{path: p}
		c.files[e.File.Name] = append(c.files[e.File.Name], f)
	}
	for _, name := range e.File.ExtraFiles {
		f.extra = append(f.extra, path.Join(path.Dir(p), name))
	}
	return nil
}

func (c *candidates) find(name, p string) *candidate {
	for _, f := range c.files[name] {
		if f.path == p {
			return f
		}
	}
	return nil
}

func (c *candidates) pathOf(e *manifest.Entry) (string, error) {
	values, err := c.table.layout.Values(e.Partition)
	if err != nil {
		return "", fmt.Errorf("partition of file %s: %w: %w", e.File.Name, manifest.ErrCorrupt, err)
	}
	return path.Join(c.table.layout.Bucket(values, e.Bucket), e.File.Name), nil
}

// unseen returns the paths of the candidates that nothing shows of what stays. Each manifest of what stays is read once,
// however many roots share it.
func (c *candidates) unseen(ctx context.Context, s *stays) ([]string, error) {
	if len(c.files) == 0 {
		return nil, nil
	}
	if err := c.look(ctx, s); err != nil {
		return nil, err
	}
	var gone []string
	taken := map[string]bool{}
	for _, list := range c.files {
		for _, f := range list {
			if f.shownBy(s.roots) {
				continue
			}
			for _, p := range append([]string{f.path}, f.extra...) {
				if !taken[p] {
					taken[p] = true
					gone = append(gone, p)
				}
			}
		}
	}
	return gone, nil
}

// look notes every mention of the candidates in the manifests of what stays.
func (c *candidates) look(ctx context.Context, s *stays) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, meta := range s.metas {
		group.Go(func() error {
			err := c.table.manifests.ReadManifest(ctx, meta, func(e *manifest.Entry) error {
				if c.files[e.File.Name] == nil {
					return nil
				}
				p, err := c.pathOf(e)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if f := c.find(e.File.Name, p); f != nil {
					f.seen = append(f.seen, sight{manifest: meta.Name, kind: e.Kind, identity: e.Identity()})
				}
				return nil
			})
			if errors.Is(err, fileio.ErrNotExist) {
				return c.table.lost(ctx, s, meta.Name, err)
			}
			return err
		})
	}
	return group.Wait()
}

// lost says whose manifest is missing.
func (t *table) lost(ctx context.Context, s *stays, name string, cause error) error {
	for _, r := range s.roots {
		if r.manifests[name] {
			return t.broken(ctx, r, cause)
		}
	}
	return cause
}

// shownBy tells whether a root has the file under some identity that its manifests add and do not delete.
func (f *candidate) shownBy(roots []*root) bool {
	if len(f.seen) == 0 {
		return false
	}
	for _, r := range roots {
		deleted := map[string]bool{}
		for _, s := range f.seen {
			if s.kind == manifest.Delete && r.manifests[s.manifest] {
				deleted[s.identity] = true
			}
		}
		for _, s := range f.seen {
			if s.kind == manifest.Add && r.manifests[s.manifest] && !deleted[s.identity] {
				return true
			}
		}
	}
	return false
}
