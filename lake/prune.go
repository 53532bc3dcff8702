package lake

import (
	"context"

	"github.com/tributary-lake/tributary/lake/bucket"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/predicate"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// filter leaves out manifests and entries of partitions that are not wanted.
func (s *scan) filter() manifest.Filter {
	if s.partition.Always() {
		return manifest.Filter{}
	}
	types := make([]schema.Type, 0, len(s.table.schema.PartitionKeys))
	for _, f := range s.table.fieldsOf(s.table.schema.PartitionKeys) {
		types = append(types, f.Type)
	}
	return manifest.Filter{
		Manifest: func(m *manifest.FileMeta) bool {
			low, lowErr := row.Deserialize(types, m.PartitionStats.Min)
			high, highErr := row.Deserialize(types, m.PartitionStats.Max)
			if lowErr != nil || highErr != nil || len(m.PartitionStats.NullCounts) != len(types) {
				return true // nothing can be told from these statistics
			}
			return s.partition.MayMatch(low, high, m.PartitionStats.NullCounts, m.Added+m.Deleted)
		},
		Entry: func(e *manifest.Entry) bool {
			values, err := row.Deserialize(types, e.Partition)
			// What is wrong with the bytes is told where the entry is used.
			return err != nil || s.partition.Matches(values)
		},
	}
}

// mayHold tells whether a file is to be read at all, by what holds of it whatever other files there are.
func (s *scan) mayHold(ctx context.Context, f *File) (bool, error) {
	switch {
	case f.Bucket < 0:
		return false, nil // rows of postponed buckets wait for a compaction to find their buckets
	case s.hidden && f.DataFile.Level == 0:
		return false, nil
	}
	written, err := s.versions.get(ctx, f.DataFile.SchemaID)
	if err != nil {
		return false, err
	}
	if !s.bucket.mayHold(f, written) {
		return false, nil
	}
	if len(s.table.schema.PrimaryKeys) == 0 {
		return s.mayMatchValues(ctx, f)
	}
	var keys []schema.Field
	for _, name := range written.TrimmedPrimaryKey() {
		k, _ := written.Field(name)
		keys = append(keys, k)
	}
	return s.key.MayMatchFile(statsOf(keys, f.DataFile.KeyStats, nil, f.DataFile.Rows))
}

// mayMatchValues tells whether a file may hold a wanted row by the statistics of its values.
func (s *scan) mayMatchValues(ctx context.Context, f *File) (bool, error) {
	written, err := s.versions.get(ctx, f.DataFile.SchemaID)
	if err != nil {
		return false, err
	}
	return s.where.MayMatchFile(statsOf(written.Fields, f.DataFile.ValueStats, f.DataFile.ValueStatsColumns, f.DataFile.Rows))
}

func statsOf(fields []schema.Field, s manifest.Stats, columns []string, rows int64) predicate.FileStats {
	return predicate.FileStats{Fields: fields, Columns: columns, Min: s.Min, Max: s.Max, Nulls: s.NullCounts, Rows: rows}
}

// bucketFilter finds the one bucket that has all wanted rows, when the condition gives the bucket key
// (org.apache.paimon.operation.BucketSelectConverter).
type bucketFilter struct {
	keys     []schema.Field
	values   []row.Value
	function string
	// of is the bucket by number of buckets, -1 where it cannot be told.
	of map[int32]int32
}

// newBucketFilter returns nil when the condition leaves the bucket open.
func newBucketFilter(t *Table, where *predicate.Predicate) (*bucketFilter, error) {
	o, err := t.schema.ParseOptions()
	if err != nil || o.Bucket < 1 || len(t.schema.BucketKeys()) == 0 {
		return nil, err
	}
	b := &bucketFilter{function: o.BucketFunction, of: map[int32]int32{}}
	for _, f := range t.fieldsOf(t.schema.BucketKeys()) {
		v, ok := where.Equal(f.Name)
		if !ok {
			return nil, nil
		}
		b.keys, b.values = append(b.keys, f), append(b.values, v)
	}
	return b, nil
}

// mayHold goes by the number of buckets and the types of the bucket key with which the file was written: a number that was
// widened since may have another hash now.
func (b *bucketFilter) mayHold(f *File, written *schema.Table) bool {
	if b == nil || f.TotalBuckets < 1 {
		return true
	}
	for _, k := range b.keys {
		has, ok := written.Field(k.Name)
		if !ok || has.ID != k.ID || !schema.Equal(has.Type.WithNotNull(false), k.Type.WithNotNull(false)) {
			return true
		}
	}
	n, ok := b.of[f.TotalBuckets]
	if !ok {
		n = -1
		if a, err := bucket.NewAssigner(b.function, row.Types(b.keys), int(f.TotalBuckets)); err == nil {
			n = int32(a.Bucket(b.values))
		}
		b.of[f.TotalBuckets] = n
	}
	return n < 0 || n == f.Bucket
}
