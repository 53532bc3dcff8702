package expire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// DeleteTag removes a tag and the files that only it showed, with dryRun only tells which. A missing tag is no error. After
// an error call again: the tag's own file goes last, so that the rest is found.
func DeleteTag(ctx context.Context, store fileio.Store, path, name string, dryRun bool) (*Result, error) {
	result, err := deleteTag(ctx, store, path, name, dryRun)
	if err != nil {
		return nil, fmt.Errorf("delete tag %s of %s: %w", name, store.URI(path), err)
	}
	return result, nil
}

// ExpireTags deletes all tags whose time to live is over, as Paimon does after its commits, and returns their names. It
// stops at the first that cannot be deleted.
func ExpireTags(ctx context.Context, store fileio.Store, path string, now time.Time) ([]string, error) {
	m := snapshot.Manager{Store: store, Table: path}
	names, err := m.Tags(ctx)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, name := range names {
		info, err := m.TagInfo(ctx, name)
		if errors.Is(err, fileio.ErrNotExist) {
			continue
		}
		if err != nil {
			return gone, err
		}
		if !info.Expired(now) {
			continue
		}
		if _, err := DeleteTag(ctx, store, path, name, false); err != nil {
			return gone, err
		}
		gone = append(gone, name)
	}
	return gone, nil
}

func deleteTag(ctx context.Context, store fileio.Store, path, name string, dryRun bool) (*Result, error) {
	t, _, err := open(ctx, store, path, Options{})
	if err != nil {
		return nil, err
	}
	for range maxPlans {
		p, err := t.planTag(ctx, name)
		if errors.Is(err, errMoved) {
			continue
		}
		if errors.Is(err, fileio.ErrNotExist) && p == nil {
			return &Result{}, nil
		}
		if err != nil {
			return nil, err
		}
		if dryRun {
			return p.result(), nil
		}
		if err := t.sweep(ctx, &p.waste); err != nil {
			return nil, err
		}
		return p.result(), t.snapshots.DeleteTag(ctx, name)
	}
	return nil, fmt.Errorf("%w, %d times in a row: call again", errMoved, maxPlans)
}

// planTag finds what only a tag shows. Without the tag there is neither a plan nor another error than fileio.ErrNotExist.
func (t *table) planTag(ctx context.Context, name string) (*plan, error) {
	tagged, err := t.snapshots.Tag(ctx, name)
	if err != nil {
		return nil, err
	}
	ids, err := t.snapshots.List(ctx)
	if err != nil {
		return &plan{}, err
	}
	s, err := t.stays(ctx, ids, name)
	if err != nil {
		return &plan{}, err
	}
	p := &plan{}
	if len(ids) > 0 {
		p.end = ids[0]
	}
	for _, r := range s.roots {
		if r.snapshot.BaseManifestList == tagged.BaseManifestList && r.snapshot.DeltaManifestList == tagged.DeltaManifestList {
			return p, nil // the snapshot is still there, or has another tag
		}
	}
	n, err := t.named(ctx, tagged, forgiving)
	if err != nil {
		return p, err
	}
	c := &candidates{table: t, files: map[string][]*candidate{}}
	// A file that the tag no longer showed may be among these: what stays decides all the same.
	for _, meta := range n.metas {
		err := t.manifests.ReadManifest(ctx, meta, func(e *manifest.Entry) error {
			if e.Kind == manifest.Delete {
				return nil
			}
			return c.add(e)
		})
		if err := forgiving.or(err); err != nil {
			return p, err
		}
	}
	if p.waste.data, err = c.unseen(ctx, s); err != nil {
		return p, err
	}
	return p, t.metadataWaste(ctx, &p.waste, []*snapshot.Snapshot{tagged}, s, false)
}
