package lake

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// ErrBucketCount is returned when a partition's live files were distributed over another number of buckets than the
// table's option says now: rows of one key would lie in two buckets. Overwrite the partition, or set the option back.
var ErrBucketCount = errors.New("the partition has another number of buckets")

// Existing is what the files of a snapshot ask of a writer of buckets: to use the number of buckets that a partition has,
// and to number rows on from the greatest sequence number of a bucket, since of two rows of a key the higher number wins
// whichever was committed last. It is read-only, so that writers may share one.
type Existing struct {
	counts map[string]int32 // by serialized partition
	next   map[string]int64 // by serialized partition and bucket
}

// Existing reads what a snapshot asks of writers; 0 is the latest. A table without a snapshot asks nothing.
func (t *Table) Existing(ctx context.Context, id snapshot.ID) (*Existing, error) {
	e := &Existing{counts: map[string]int32{}, next: map[string]int64{}}
	s, err := t.snapshot(ctx, id)
	if err != nil || s == nil {
		return e, err
	}
	err = t.liveEntries(ctx, s, manifest.Filter{}, func(entry *manifest.Entry) error {
		e.add(entry)
		return nil
	})
	return e, err
}

func (e *Existing) add(entry *manifest.Entry) {
	// Old releases wrote 0 where they did not know.
	if entry.TotalBuckets > 0 {
		e.counts[string(entry.Partition)] = entry.TotalBuckets
	}
	key := bucketKey(nil, entry.Partition, entry.Bucket)
	next := entry.File.MaxSequence
	if next < maxSequence {
		next++
	}
	if next > e.next[string(key)] {
		e.next[string(key)] = next
	}
}

// bucketKey appends what tells a partition's bucket from all others.
func bucketKey(dst, partition []byte, bucket int32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, partition...), uint32(bucket))
}

// maxSequence is a sequence number that no bucket comes to by counting its rows from 0. Not far beyond, numbers would run
// over, and new rows lose against all that are there.
const maxSequence = 1 << 62

// sequence is the number of the next row of a bucket.
func (e *Existing) sequence(partition []byte, bucket int32) (int64, error) {
	next := e.next[string(bucketKey(nil, partition, bucket))]
	if next >= maxSequence {
		return 0, fmt.Errorf("%w: bucket %d has a sequence number of %d or more, after which rows cannot be numbered; overwrite its partition",
			manifest.ErrCorrupt, bucket, next)
	}
	return next, nil
}

// checkBuckets refuses another number of buckets than the partition has
// (org.apache.paimon.operation.AbstractFileStoreWrite.scanExistingFileMetas).
func (e *Existing) checkBuckets(partition []byte, name string, buckets int32) error {
	has, ok := e.counts[string(partition)]
	if !ok || has == buckets {
		return nil
	}
	if name == "" {
		name = "the table"
	}
	return fmt.Errorf("write %s with bucket = %d: %w, %d; overwrite it to distribute its rows anew", name, buckets, ErrBucketCount, has)
}
