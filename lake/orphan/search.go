package orphan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// maxRounds is how often a search looks for snapshots that came while it read others.
const maxRounds = 20

// root is something that names files.
type root struct {
	name     string
	snapshot *snapshot.Snapshot
	kind     rootKind
	// alive tells whether it is still there.
	alive func(context.Context) (bool, error)
	// manifests that its lists name.
	manifests []string
	// lost is the error of a file that is missing, nil when there is none.
	lost error
}

// rootKind tells what Paimon's expiry leaves of a root's metadata.
type rootKind int

const (
	// live snapshots have all of it.
	live rootKind = iota
	// tag has no changelog.
	tag
	// changelog may have nothing but its changelog.
	changelog
)

// search reads everything that names files and takes what is named out of the candidates.
type search struct {
	manifests manifest.Folder
	table     snapshot.Manager
	known     map[string]bool // roots by name
	// vanished tells that the last look listed a root that was gone when it was to be read. What it showed may by now be
	// shown by one that came after that list was made.
	vanished bool
	roots    []*root

	mu         sync.Mutex
	candidates *candidates
	metas      map[string]manifest.FileMeta // of all roots
	read       map[string]bool              // manifests
	missing    map[string]error             // manifests
}

func newSearch(store fileio.Store, table string, c *candidates) *search {
	return &search{
		manifests: manifest.In(store, table), table: snapshot.Manager{Store: store, Table: table}, candidates: c,
		known: map[string]bool{}, metas: map[string]manifest.FileMeta{}, read: map[string]bool{}, missing: map[string]error{},
	}
}

// run searches until there is nothing that it has not read. While it reads, snapshots come and go; were it content with
// those of the beginning, all of them might be gone by the time they are read, and what is live be named by none.
func (s *search) run(ctx context.Context) error {
	for range maxRounds {
		s.vanished = false
		news, err := s.news(ctx)
		if err != nil {
			return err
		}
		if len(news) == 0 && !s.vanished {
			return s.judge(ctx)
		}
		s.roots = append(s.roots, news...)
		if err := s.each(ctx, len(news), func(ctx context.Context, i int) error { return s.explore(ctx, news[i]) }); err != nil {
			return err
		}
		if err := s.readManifests(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d times in a row there were new snapshots: call again when the table rests", maxRounds)
}

func (s *search) each(ctx context.Context, n int, fn func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error { return fn(ctx, i) })
	}
	return group.Wait()
}

// news returns the roots of all branches that are not known yet.
func (s *search) news(ctx context.Context) ([]*root, error) {
	branches, err := s.table.Branches(ctx)
	if err != nil {
		return nil, err
	}
	var news []*root
	for _, m := range append([]snapshot.Manager{s.table}, branches...) {
		more, err := s.newsOf(ctx, m)
		if err != nil {
			return nil, err
		}
		news = append(news, more...)
	}
	return news, nil
}

// listed is a root that is there, and how to read it.
type listed struct {
	name string
	kind rootKind
	path string
	get  func(context.Context) (*snapshot.Snapshot, error)
}

// listOf lists the roots of one branch. Tags and changelogs are listed after the snapshots: they are made before the snapshot
// that they are made of goes.
func listOf(ctx context.Context, m snapshot.Manager) ([]listed, error) {
	ids, err := m.List(ctx)
	if err != nil {
		return nil, err
	}
	var list []listed
	for _, id := range ids {
		list = append(list, listed{fmt.Sprintf("snapshot %d", id), live, m.Path(id), func(ctx context.Context) (*snapshot.Snapshot, error) {
			return m.Get(ctx, id)
		}})
	}
	tags, err := m.Tags(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range tags {
		list = append(list, listed{"tag " + name, tag, m.TagPath(name), func(ctx context.Context) (*snapshot.Snapshot, error) {
			return m.Tag(ctx, name)
		}})
	}
	changelogs, err := m.Changelogs(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range changelogs {
		list = append(list, listed{fmt.Sprintf("changelog %d", id), changelog, m.ChangelogPath(id), func(ctx context.Context) (*snapshot.Snapshot, error) {
			return m.Changelog(ctx, id)
		}})
	}
	return list, nil
}

// newsOf returns the unknown roots of one branch.
func (s *search) newsOf(ctx context.Context, m snapshot.Manager) ([]*root, error) {
	all, err := listOf(ctx, m)
	if err != nil {
		return nil, err
	}
	// Only a tag can come to hold something else.
	all = slices.DeleteFunc(all, func(l listed) bool { return l.kind != tag && s.known[m.Table+" "+l.name] })
	read := make([]*snapshot.Snapshot, len(all))
	err = s.each(ctx, len(all), func(ctx context.Context, i int) (err error) {
		read[i], err = all[i].get(ctx)
		if errors.Is(err, fileio.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var news []*root
	for i, l := range all {
		key := m.Table + " " + l.name
		switch {
		case read[i] == nil:
			s.vanished = true // expired or deleted since it was listed
			continue
		case l.kind == tag:
			key += " " + read[i].BaseManifestList
		}
		if s.known[key] {
			continue
		}
		s.known[key] = true
		news = append(news, &root{name: l.name, snapshot: read[i], kind: l.kind, alive: func(ctx context.Context) (bool, error) {
			_, err := m.Store.Stat(ctx, l.path)
			if errors.Is(err, fileio.ErrNotExist) {
				return false, nil
			}
			return true, err
		}})
	}
	return news, nil
}

// explore reads the lists and the index manifest of a root. What is missing is noted, for the root may be gone by now.
func (s *search) explore(ctx context.Context, r *root) error {
	snap := r.snapshot
	lists := []struct {
		list manifest.List
		must bool
	}{
		{manifest.List{Name: snap.BaseManifestList}, r.kind != changelog},
		{manifest.List{Name: snap.DeltaManifestList}, r.kind != changelog},
		{manifest.List{Name: snap.ChangelogManifestList}, r.kind != tag},
	}
	for _, l := range lists {
		if l.list.Name == "" {
			continue
		}
		metas, err := s.manifests.ReadList(ctx, l.list)
		if err := r.note(err, l.must); err != nil {
			return err
		}
		s.named(l.list.Name)
		s.mu.Lock()
		for _, m := range metas {
			s.metas[m.Name] = m
			if l.must {
				r.manifests = append(r.manifests, m.Name)
			}
		}
		s.mu.Unlock()
	}
	s.named(snap.Statistics)
	if snap.IndexManifest == "" {
		return nil
	}
	entries, err := s.manifests.ReadIndex(ctx, snap.IndexManifest)
	if err := r.note(err, r.kind != changelog); err != nil {
		return err
	}
	s.named(snap.IndexManifest)
	for i := range entries {
		s.named(entries[i].File.Name)
	}
	return nil
}

// note keeps the error of a missing file and returns any other.
func (r *root) note(err error, must bool) error {
	if !errors.Is(err, fileio.ErrNotExist) {
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		return nil
	}
	if must && r.lost == nil {
		r.lost = err
	}
	return nil
}

func (s *search) named(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.candidates.drop(name)
	}
}

// readManifests reads those that were not read yet.
func (s *search) readManifests(ctx context.Context) error {
	var metas []manifest.FileMeta
	for name, m := range s.metas {
		if !s.read[name] {
			s.read[name] = true
			metas = append(metas, m)
		}
	}
	return s.each(ctx, len(metas), func(ctx context.Context, i int) error {
		s.named(metas[i].Name)
		err := s.manifests.ReadManifest(ctx, metas[i], func(e *manifest.Entry) error {
			s.named(e.File.Name)
			s.named(e.File.ExtraFiles...)
			return nil
		})
		if errors.Is(err, fileio.ErrNotExist) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.missing[metas[i].Name] = err
			return nil
		}
		return err
	})
}

// judge refuses to go on when a root lacks metadata and is still there.
func (s *search) judge(ctx context.Context) error {
	for _, r := range s.roots {
		lost := r.lost
		for _, name := range r.manifests {
			if err := s.missing[name]; err != nil {
				lost = err
			}
		}
		if lost == nil {
			continue
		}
		alive, err := r.alive(ctx)
		if err != nil {
			return err
		}
		if alive {
			return fmt.Errorf("%s: %w: %w", r.name, ErrUnreadable, lost)
		}
	}
	return nil
}
