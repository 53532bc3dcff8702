package shuffle

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/mergetree"
)

// Each hands what every shuffler left to a function, one after the other in any order. It may be called several times.
type Each func(ctx context.Context, do func(where *lake.Shuffled) error) error

// Content is what one merge reads: some buckets, or a range of the keys of one. It may be kept as JSON.
type Content struct {
	Buckets []lake.BucketMerge `json:"buckets"`
}

// Limits say how much a merge takes, in bytes of sorted rows.
type Limits struct {
	// Most is what a merge takes at most, unless nothing tells where a bucket could be cut. Default 128 MiB.
	Most int64
	// AtOnce is how many merges are made at the same time: there will be enough for all to end at about the same time.
	AtOnce int
	// Whole leaves buckets uncut.
	Whole bool
}

const (
	defaultMost = 128 << 20
	least       = 4 << 20 // less is not worth an activity
	perSlot     = 4
	// cutAbove is how many times what one merge should take a bucket must have to be cut.
	cutAbove = 2
)

// size is what one merge should take of a total.
func (l Limits) size(total int64) int64 {
	most := cmp.Or(l.Most, defaultMost)
	return min(max(total/int64(perSlot*max(1, l.AtOnce)), min(least, most)), most)
}

// Division is how sorted rows are divided into merges.
type Division struct {
	// Rows is the number of all sorted rows.
	Rows    int64
	bytes   int64
	buckets map[bucketID]*bucketRows
	merges  [][]part
}

type bucketID struct {
	partition string
	bucket    int32
}

// bucketRows is what all shufflers left of a bucket.
type bucketRows struct {
	bucketID
	bytes    int64
	segments int
	// firsts are the first keys of its segments, of buckets that are to be cut.
	firsts []weighted
}

type weighted struct {
	key   []byte
	bytes int64
}

// part is a bucket, or a range of its keys, as a part of a merge.
type part struct {
	bucketID
	keys mergetree.KeyRange
}

// Divide divides what shufflers left into merges: neighbouring buckets share one while they are small, and a bucket that is
// large is cut by ranges of keys.
func Divide(ctx context.Context, each Each, l Limits) (*Division, error) {
	d := &Division{buckets: map[bucketID]*bucketRows{}}
	if err := each(ctx, d.sum); err != nil {
		return nil, err
	}
	size := l.size(d.bytes)
	large := map[bucketID]*bucketRows{}
	for id, b := range d.buckets {
		if !l.Whole && b.bytes > cutAbove*size && b.segments > 1 {
			large[id] = b
		}
	}
	if len(large) > 0 {
		if err := each(ctx, func(where *lake.Shuffled) error { return readFirsts(large, where) }); err != nil {
			return nil, err
		}
	}
	d.divide(size)
	return d, nil
}

// Merges is the number of merges.
func (d *Division) Merges() int { return len(d.merges) }

// sum adds what one shuffler left.
func (d *Division) sum(where *lake.Shuffled) error {
	for _, p := range where.Parts {
		id := bucketID{string(p.Partition), p.Bucket}
		b := d.buckets[id]
		if b == nil {
			b = &bucketRows{bucketID: id}
			d.buckets[id] = b
		}
		for _, source := range p.Sources {
			for _, s := range source {
				d.Rows += s.Rows
				d.bytes += s.Size
				b.bytes += s.Size
				b.segments++
			}
		}
	}
	return nil
}

// readFirsts reads by which keys the buckets that are to be cut can be.
func readFirsts(large map[bucketID]*bucketRows, where *lake.Shuffled) error {
	for _, p := range where.Parts {
		b := large[bucketID{string(p.Partition), p.Bucket}]
		if b == nil {
			continue
		}
		for _, source := range p.Sources {
			for _, s := range source {
				b.firsts = append(b.firsts, weighted{s.First, s.Size})
			}
		}
	}
	return nil
}

// divide makes merges of about the given size of the buckets in their order.
func (d *Division) divide(size int64) {
	var all []*bucketRows
	for _, b := range d.buckets {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *bucketRows) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.bucket, b.bucket))
	})
	held := int64(0)
	for _, b := range all {
		if len(b.firsts) > 0 {
			for _, keys := range b.cut(size) {
				d.merges = append(d.merges, []part{{b.bucketID, keys}})
			}
			held = size // nothing joins a part of a bucket
			continue
		}
		if n := len(d.merges) - 1; n >= 0 && held+b.bytes <= size {
			d.merges[n] = append(d.merges[n], part{bucketID: b.bucketID})
			held += b.bytes
			continue
		}
		d.merges = append(d.merges, []part{{bucketID: b.bucketID}})
		held = b.bytes
	}
}

// cut divides a bucket's keys into ranges of about the same number of bytes, as far as the first keys of its segments tell.
func (b *bucketRows) cut(size int64) []mergetree.KeyRange {
	slices.SortFunc(b.firsts, func(x, y weighted) int {
		return cmp.Or(bytes.Compare(x.key, y.key), cmp.Compare(x.bytes, y.bytes))
	})
	ranges := []mergetree.KeyRange{{}}
	share := b.bytes / ((b.bytes + size - 1) / size)
	held := int64(0)
	for i, f := range b.firsts {
		if held >= share && !bytes.Equal(f.key, b.firsts[i-1].key) {
			ranges[len(ranges)-1].To = f.key
			ranges = append(ranges, mergetree.KeyRange{From: f.key})
			held = 0
		}
		held += f.bytes
	}
	return ranges
}
