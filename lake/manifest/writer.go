package manifest

import (
	"bytes"
	"context"
	"fmt"
	"path"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest/avro"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// checkEvery is the number of entries between two looks at the size of a manifest, as in Java's RollingFileWriter.
const checkEvery = 1000

// Writer writes entries into manifests and begins a new one when a target size is reached.
type Writer struct {
	folder    Folder
	name      func() string
	partition []schema.Type
	target    int64

	file    *avro.Writer // nil between manifests
	summary summary
	record  []byte
	metas   []FileMeta
}

// NewWriter starts writing manifests; name gives the name of each. The types are those of the partition columns.
func (f Folder) NewWriter(name func() string, partition []schema.Type, target int64) *Writer {
	return &Writer{folder: f, name: name, partition: partition, target: target}
}

// Append adds an entry.
func (w *Writer) Append(ctx context.Context, e *Entry) error {
	if w.file == nil {
		file, err := avro.NewWriter(entrySchema)
		if err != nil {
			return fmt.Errorf("write a manifest: %w", err)
		}
		w.file, w.summary = file, newSummary(w.partition)
	}
	if err := w.summary.add(e); err != nil {
		return fmt.Errorf("write a manifest: file %s: %w", e.File.Name, err)
	}
	w.record = appendEntry(w.record[:0], e)
	w.file.Append(w.record)
	if w.summary.entries%checkEvery == 0 && w.file.Size() >= w.target {
		return w.roll(ctx)
	}
	return nil
}

// Finish writes the last manifest and returns all, in order. Written lists those of a writer that failed.
func (w *Writer) Finish(ctx context.Context) ([]FileMeta, error) {
	if w.file != nil {
		if err := w.roll(ctx); err != nil {
			return nil, err
		}
	}
	return w.metas, nil
}

// Written returns the names of the manifests written so far.
func (w *Writer) Written() []string {
	names := make([]string, len(w.metas))
	for i := range w.metas {
		names[i] = w.metas[i].Name
	}
	return names
}

func (w *Writer) roll(ctx context.Context) error {
	data := w.file.Finish()
	w.file = nil
	meta := w.summary.meta
	meta.Name, meta.Size = w.name(), int64(len(data))
	meta.PartitionStats = w.summary.stats()
	// Named before it is written: a write whose answer is lost must still be found by whoever removes it.
	w.metas = append(w.metas, meta)
	if err := fileio.WriteFile(ctx, w.folder.Store, path.Join(w.folder.Path, meta.Name), data); err != nil {
		return fmt.Errorf("write a manifest: %w", err)
	}
	return nil
}

// summary gathers what a list says of a manifest.
type summary struct {
	entries int64
	meta    FileMeta
	rowIDs  bool // all entries have one so far

	types    []schema.Type
	min, max []row.Value // null until a value was seen
	nulls    []int64

	last       []byte // the partition that was seen last, and its values
	lastValues []row.Value
}

func newSummary(types []schema.Type) summary {
	s := summary{types: types, rowIDs: true, nulls: make([]int64, len(types))}
	for range types {
		s.min, s.max = append(s.min, row.NullValue()), append(s.max, row.NullValue())
	}
	return s
}

func (s *summary) add(e *Entry) error {
	if e.Kind == Add {
		s.meta.Added++
	} else {
		s.meta.Deleted++
	}
	s.meta.SchemaID = max(s.meta.SchemaID, e.File.SchemaID)
	widen(&s.meta.MinBucket, &s.meta.MaxBucket, e.Bucket, e.Bucket)
	widen(&s.meta.MinLevel, &s.meta.MaxLevel, e.File.Level, e.File.Level)
	if e.File.FirstRowID == nil {
		s.rowIDs = false
		s.meta.MinRowID, s.meta.MaxRowID = nil, nil
	}
	if s.rowIDs {
		widen(&s.meta.MinRowID, &s.meta.MaxRowID, *e.File.FirstRowID, *e.File.FirstRowID+e.File.Rows-1)
	}
	s.entries++
	return s.addPartition(e.Partition)
}

// widen makes an optional range hold another one.
func widen[T int32 | int64](low, high **T, from, to T) {
	if *low == nil {
		*low, *high = &from, &to
		return
	}
	**low, **high = min(**low, from), max(**high, to)
}

func (s *summary) addPartition(partition []byte) error {
	if s.entries == 1 || !bytes.Equal(partition, s.last) {
		values, err := row.Deserialize(s.types, partition)
		if err != nil {
			return fmt.Errorf("partition: %w", err)
		}
		s.last, s.lastValues = partition, values
	}
	for i, v := range s.lastValues {
		switch {
		case v.Null:
			s.nulls[i]++
		case !bounded(s.types[i]):
		case s.min[i].Null:
			s.min[i], s.max[i] = v, v
		default:
			if row.Compare(s.types[i], v, s.min[i]) < 0 {
				s.min[i] = v
			}
			if row.Compare(s.types[i], v, s.max[i]) > 0 {
				s.max[i] = v
			}
		}
	}
	return nil
}

// bounded tells whether a type has bounds: Java's byte arrays are not Comparable and get none.
func bounded(t schema.Type) bool { return t.Kind != schema.Binary && t.Kind != schema.VarBinary }

func (s *summary) stats() Stats {
	if len(s.types) == 0 {
		return EmptyStats()
	}
	x := Stats{Min: row.Serialize(s.types, s.min), Max: row.Serialize(s.types, s.max)}
	for _, n := range s.nulls {
		x.NullCounts = append(x.NullCounts, &n)
	}
	return x
}
