package lake

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/tributary-lake/tributary/lake/deletion"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// deletions finds which rows of a snapshot's data files are deleted. It may be used from several goroutines.
type deletions struct {
	table *Table
	// files has the index file with a data file's vector, by the data file's name, which is used only once.
	files map[string]*indexFile

	mu sync.Mutex
	// last is the index file that was read last, as the data files of a bucket share one, and vectors what is in it.
	last    *indexFile
	vectors map[string]*deletion.Vector
}

type indexFile struct {
	path string
	file manifest.IndexFile
}

// deletionsOf finds the deletion vectors of a snapshot.
func (t *Table) deletionsOf(ctx context.Context, s *snapshot.Snapshot) (*deletions, error) {
	d := &deletions{table: t, files: map[string]*indexFile{}}
	if s.IndexManifest == "" {
		return d, nil
	}
	entries, err := manifest.In(t.store, t.path).ReadIndex(ctx, s.IndexManifest)
	if err != nil {
		return nil, fmt.Errorf("index files of snapshot %d: %w", s.ID, err)
	}
	layout, err := partition.LayoutOf(t.path, t.schema)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		if e.File.Type != deletion.IndexType {
			continue
		}
		if e.File.DeletionVectors == nil {
			return nil, fmt.Errorf("%w: index manifest %s does not say whose deletion vectors are in %s", manifest.ErrCorrupt, s.IndexManifest, e.File.Name)
		}
		if e.File.ExternalPath != nil {
			return nil, fmt.Errorf("index file %s lies at %s; files outside the table's folder %w", e.File.Name, *e.File.ExternalPath, ErrNotReadable)
		}
		folder := path.Join(t.path, "index")
		if strings.EqualFold(t.schema.Options["index-file-in-data-file-dir"], "true") {
			values, err := layout.Values(e.Partition)
			if err != nil {
				return nil, fmt.Errorf("partition of index file %s: %w: %w", e.File.Name, manifest.ErrCorrupt, err)
			}
			folder = layout.Bucket(values, e.Bucket)
		}
		f := &indexFile{path: path.Join(folder, e.File.Name), file: e.File}
		for _, v := range e.File.DeletionVectors {
			if d.files[v.DataFile] != nil {
				return nil, fmt.Errorf("%w: snapshot %d has two deletion vectors for data file %s", manifest.ErrCorrupt, s.ID, v.DataFile)
			}
			d.files[v.DataFile] = f
		}
	}
	return d, nil
}

// of returns the deleted rows of a data file, nil when there are none.
func (d *deletions) of(ctx context.Context, f *File) (*deletion.Vector, error) {
	index := d.files[f.DataFile.Name]
	if index == nil {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != index {
		vectors, err := deletion.Read(ctx, d.table.store, index.path, index.file)
		if err != nil {
			return nil, err
		}
		d.last, d.vectors = index, vectors
	}
	v := d.vectors[f.DataFile.Name]
	if v.Count() > f.DataFile.Rows {
		return nil, fmt.Errorf("%w: %d of %d rows of data file %s are deleted", manifest.ErrCorrupt, v.Count(), f.DataFile.Rows, f.DataFile.Name)
	}
	return v, nil
}
