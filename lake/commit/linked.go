package commit

import (
	"context"
	"errors"
	"slices"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// linked tells whether the snapshot after s builds on it. It does not when s came so late that another one had had its number
// and had expired: then s lies below the table's history, and neither makes a commit nor forbids one.
func (c *Committer) linked(ctx context.Context, s *snapshot.Snapshot) (bool, error) {
	next, err := c.snapshots.Get(ctx, s.ID+1)
	if errors.Is(err, fileio.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	delta, err := c.manifests.ReadList(ctx, manifest.List{Name: s.DeltaManifestList, Size: sizeOf(s.DeltaManifestListSize)})
	if err != nil {
		return false, err
	}
	base, err := c.manifests.ReadList(ctx, manifest.List{Name: next.BaseManifestList, Size: sizeOf(next.BaseManifestListSize)})
	if err != nil {
		return false, err
	}
	if len(delta) == 0 {
		all, err := manifestsOf(ctx, c.manifests, s)
		return slices.Equal(manifestNames(all), manifestNames(base)), err
	}
	names := manifestNames(base)
	if !slices.ContainsFunc(manifestNames(delta), func(name string) bool { _, there := slices.BinarySearch(names, name); return !there }) {
		return true, nil
	}
	return c.merged(ctx, delta, base)
}

// merged tells whether manifests hold the files that others added, which were merged into them.
func (c *Committer) merged(ctx context.Context, delta, into []manifest.FileMeta) (bool, error) {
	added := map[string]bool{}
	for _, m := range delta {
		err := c.manifests.ReadManifest(ctx, m, func(e *manifest.Entry) error {
			if e.Kind == manifest.Add {
				added[e.Identity()] = true
			}
			return nil
		})
		if err != nil {
			return false, err
		}
	}
	found := errors.New("found")
	err := c.manifests.Live(ctx, into, manifest.Filter{}, func(e *manifest.Entry) error {
		if added[e.Identity()] {
			return found
		}
		return nil
	})
	if errors.Is(err, found) {
		return true, nil
	}
	return false, err
}

func manifestNames(metas []manifest.FileMeta) []string {
	names := make([]string, len(metas))
	for i, m := range metas {
		names[i] = m.Name
	}
	slices.Sort(names)
	return names
}
