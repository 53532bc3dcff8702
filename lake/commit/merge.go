package commit

import (
	"context"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/schema"
)

// merger rewrites manifests into fewer (ManifestFileMerger), so that a table of many commits stays quick to read. It only
// writes new files; the old ones belong to older snapshots.
type merger struct {
	folder    manifest.Folder
	names     *manifest.Names
	partition []schema.Type
	options   options
	written   []string // names of all files begun
}

// merge returns manifests that leave the same files in the table as the given ones, which are in the order of commits.
func (m *merger) merge(ctx context.Context, metas []manifest.FileMeta) ([]manifest.FileMeta, error) {
	var worth int64
	for i := range metas {
		if m.mustChange(&metas[i]) {
			worth += metas[i].Size
		}
	}
	if worth >= m.options.fullThreshold {
		return m.full(ctx, metas)
	}
	return m.minor(ctx, metas)
}

// mustChange tells whether a manifest is worth rewriting.
func (m *merger) mustChange(meta *manifest.FileMeta) bool {
	return meta.Deleted > 0 || meta.Size < m.options.target
}

// full drops all deletions and what they deleted, in whatever manifest it was added.
func (m *merger) full(ctx context.Context, metas []manifest.FileMeta) ([]manifest.FileMeta, error) {
	deleted, err := m.folder.Deleted(ctx, metas)
	if err != nil {
		return nil, err
	}
	var kept []manifest.FileMeta
	err = m.rewrite(ctx, &kept, func(w *manifest.Writer) error {
		for i := range metas {
			if !m.mustChange(&metas[i]) && len(deleted) == 0 {
				kept = append(kept, metas[i])
				continue
			}
			live, err := m.survivors(ctx, metas[i], deleted)
			if err != nil {
				return err
			}
			if !m.mustChange(&metas[i]) && int64(len(live)) == metas[i].Added {
				kept = append(kept, metas[i])
				continue
			}
			for j := range live {
				if err := w.Append(ctx, &live[j]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return kept, err
}

// survivors returns a manifest's additions without the deleted ones.
func (m *merger) survivors(ctx context.Context, meta manifest.FileMeta, deleted map[string]bool) ([]manifest.Entry, error) {
	var live []manifest.Entry
	err := m.folder.ReadManifest(ctx, meta, func(e *manifest.Entry) error {
		if e.Kind == manifest.Add && !deleted[e.Identity()] {
			live = append(live, *e)
		}
		return nil
	})
	return live, err
}

// minor merges neighbours until they reach the target size; fewer than minCount at the end are left for later.
func (m *merger) minor(ctx context.Context, metas []manifest.FileMeta) ([]manifest.FileMeta, error) {
	var kept, group []manifest.FileMeta
	var size int64
	for _, meta := range metas {
		group = append(group, meta)
		size += meta.Size
		if size < m.options.target {
			continue
		}
		if err := m.mergeGroup(ctx, group, &kept); err != nil {
			return nil, err
		}
		group, size = nil, 0
	}
	if len(group) < m.options.minCount {
		return append(kept, group...), nil
	}
	err := m.mergeGroup(ctx, group, &kept)
	return kept, err
}

func (m *merger) mergeGroup(ctx context.Context, group []manifest.FileMeta, kept *[]manifest.FileMeta) error {
	if len(group) == 1 {
		*kept = append(*kept, group[0])
		return nil
	}
	var entries []manifest.Entry
	for _, meta := range group {
		if err := m.folder.ReadManifest(ctx, meta, func(e *manifest.Entry) error {
			entries = append(entries, *e)
			return nil
		}); err != nil {
			return err
		}
	}
	entries, err := manifest.MergeEntries(entries)
	if err != nil {
		return err
	}
	return m.rewrite(ctx, kept, func(w *manifest.Writer) error {
		for i := range entries {
			if err := w.Append(ctx, &entries[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// rewrite lets fill write entries, and adds the manifests made of them to a list.
func (m *merger) rewrite(ctx context.Context, to *[]manifest.FileMeta, fill func(*manifest.Writer) error) error {
	w := m.folder.NewWriter(m.names.Manifest, m.partition, m.options.target)
	err := fill(w)
	var made []manifest.FileMeta
	if err == nil {
		made, err = w.Finish(ctx)
	}
	m.written = append(m.written, w.Written()...)
	*to = append(*to, made...)
	return err
}
