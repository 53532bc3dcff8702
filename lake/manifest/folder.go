package manifest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"

	"github.com/google/uuid"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest/avro"
	"github.com/tributary-lake/tributary/lake/schema"
)

// maxFileSize bounds what is read as one metadata file. Paimon closes manifests at 8 MiB.
const maxFileSize = 512 << 20

// Folder is a table's manifest folder.
type Folder struct {
	Store fileio.Store
	// Path is the folder's path in the store, such as ods.db/orders/manifest.
	Path string
}

// In returns the manifest folder of a table's folder.
func In(store fileio.Store, table string) Folder {
	return Folder{Store: store, Path: path.Join(table, "manifest")}
}

// List names a manifest list. Size is its length in bytes, 0 when unknown.
type List struct {
	Name string
	Size int64
}

// Names makes the names of new metadata files: one random part for all, and a counter for each sort. It is not for use
// by several goroutines.
type Names struct {
	id               string
	manifests, lists int
}

// NewNames returns a source of names that nobody else uses.
func NewNames() *Names { return &Names{id: uuid.NewString()} }

// Manifest returns the next name of a manifest.
func (n *Names) Manifest() string {
	n.manifests++
	return "manifest-" + n.id + "-" + strconv.Itoa(n.manifests-1)
}

// List returns the next name of a manifest list.
func (n *Names) List() string {
	n.lists++
	return "manifest-list-" + n.id + "-" + strconv.Itoa(n.lists-1)
}

// ReadManifest calls fn for every entry of a manifest, in order. The entry's byte slices are not written to again. An
// error of fn ends the reading and is returned. Numbers of entries other than those of m are ErrCorrupt, unless m has none.
func (f Folder) ReadManifest(ctx context.Context, m FileMeta, fn func(*Entry) error) error {
	left := map[Kind]int64{Add: m.Added, Delete: m.Deleted}
	known := m.Added+m.Deleted > 0
	err := f.read(ctx, m.Name, m.Size, entryShape(), func(d source, s *avro.Schema) error {
		e := d.entry(s)
		if err := d.Err(); err != nil {
			return err
		}
		if left[e.Kind]--; known && left[e.Kind] < 0 {
			return fmt.Errorf("%w: it has more entries than its list says, %d added and %d deleted", ErrCorrupt, m.Added, m.Deleted)
		}
		return fn(&e)
	})
	if err == nil && known && left[Add]+left[Delete] > 0 {
		return fmt.Errorf("read %s: %w: it has %d entries fewer than its list says", f.Store.URI(path.Join(f.Path, m.Name)), ErrCorrupt, left[Add]+left[Delete])
	}
	return err
}

// ReadList returns the manifests of a list, in the order of their commits.
func (f Folder) ReadList(ctx context.Context, l List) ([]FileMeta, error) {
	var metas []FileMeta
	err := f.read(ctx, l.Name, l.Size, listShape(), func(d source, s *avro.Schema) error {
		metas = append(metas, d.fileMeta(s))
		return d.Err()
	})
	return metas, err
}

// ReadIndex returns the live index files of an index manifest.
func (f Folder) ReadIndex(ctx context.Context, name string) ([]IndexEntry, error) {
	var entries []IndexEntry
	err := f.read(ctx, name, 0, indexShape(), func(d source, s *avro.Schema) error {
		entries = append(entries, d.indexEntry(s))
		return d.Err()
	})
	return entries, err
}

// read opens a metadata file of a given size, 0 meaning unknown, and calls fn for every record, which has a shape.
func (f Folder) read(ctx context.Context, name string, size int64, want shape, fn func(source, *avro.Schema) error) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("read %s: %w", f.Store.URI(f.Path), err)
	}
	p := path.Join(f.Path, name)
	data, err := fileio.ReadFile(ctx, f.Store, p, maxFileSize)
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	if size > 0 && int64(len(data)) != size {
		return fmt.Errorf("read %s: %w: it has %d bytes, its list says %d", f.Store.URI(p), ErrCorrupt, len(data), size)
	}
	file, err := avro.Open(data, ownSchema)
	if err == nil {
		err = want.check(file.Schema)
	}
	if err == nil {
		err = file.Each(func(d *avro.Decoder) error { return fn(source{d}, file.Schema) })
	}
	if errors.Is(err, avro.ErrMalformed) && !errors.Is(err, ErrCorrupt) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Store.URI(p), err)
	}
	return nil
}

// WriteList writes a manifest list, which may be empty, and returns it with its size.
func (f Folder) WriteList(ctx context.Context, name string, metas []FileMeta) (List, error) {
	w, err := avro.NewWriter(listSchema)
	if err != nil {
		return List{}, fmt.Errorf("write %s: %w", name, err)
	}
	var record []byte
	for i := range metas {
		record = appendFileMeta(record[:0], &metas[i])
		w.Append(record)
	}
	data := w.Finish()
	if err := fileio.WriteFile(ctx, f.Store, path.Join(f.Path, name), data); err != nil {
		return List{}, fmt.Errorf("write a manifest list: %w", err)
	}
	return List{Name: name, Size: int64(len(data))}, nil
}

// WriteManifest writes entries as one manifest whatever its size. At least one entry is needed: an empty manifest has
// no use. The types are those of the partition columns.
func (f Folder) WriteManifest(ctx context.Context, name string, partition []schema.Type, entries []Entry) (FileMeta, error) {
	w := f.NewWriter(func() string { return name }, partition, maxFileSize)
	for i := range entries {
		if err := w.Append(ctx, &entries[i]); err != nil {
			return FileMeta{}, err
		}
	}
	metas, err := w.Finish(ctx)
	if err != nil {
		return FileMeta{}, err
	}
	if len(metas) != 1 {
		return FileMeta{}, fmt.Errorf("write manifest %s: %d entries make %d files", name, len(entries), len(metas))
	}
	return metas[0], nil
}

// Delete removes metadata files of the given names that no snapshot can name.
func (f Folder) Delete(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := f.Store.Delete(ctx, path.Join(f.Path, name)); err != nil {
			return fmt.Errorf("remove metadata: %w", err)
		}
	}
	return nil
}
