package shuffle

import (
	"cmp"
	"context"
	"slices"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/mergetree"
)

// atOnce bounds the segments that are held to tell what merges read.
const atOnce = 200_000

// Contents hands what each merge reads to a function, which must not keep it. Where there is too much to be held at once, all
// that shufflers left is read several times.
func (d *Division) Contents(ctx context.Context, each Each, do func(ctx context.Context, merge int, c Content) error) error {
	for from := 0; from < len(d.merges); {
		to, segments := from, 0
		for to < len(d.merges) && (to == from || segments < atOnce) {
			for _, p := range d.merges[to] {
				segments += d.buckets[p.bucketID].segments
			}
			to++
		}
		contents, err := d.contents(ctx, each, d.merges[from:to])
		if err != nil {
			return err
		}
		for i, c := range contents {
			if err := do(ctx, from+i, c); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// contents collects what merges read.
func (d *Division) contents(ctx context.Context, each Each, merges [][]part) ([]Content, error) {
	contents := make([]Content, len(merges))
	wanted := map[bucketID][]*lake.BucketMerge{}
	for i, parts := range merges {
		contents[i].Buckets = make([]lake.BucketMerge, len(parts))
		for k, p := range parts {
			b := &contents[i].Buckets[k]
			b.Partition, b.Bucket, b.Keys = []byte(p.partition), p.bucket, p.keys
			wanted[p.bucketID] = append(wanted[p.bucketID], b)
		}
	}
	err := each(ctx, func(where *lake.Shuffled) error {
		for _, p := range where.Parts {
			for _, b := range wanted[bucketID{string(p.Partition), p.Bucket}] {
				for _, source := range p.Sources {
					within := slices.DeleteFunc(slices.Clone(source), func(s mergetree.Segment) bool { return !b.Keys.Holds(s) })
					if len(within) > 0 {
						b.Sources = append(b.Sources, within)
					}
				}
			}
		}
		return nil
	})
	for i := range contents {
		for _, b := range contents[i].Buckets {
			// What is read first does not matter, but two tries should not differ.
			slices.SortFunc(b.Sources, func(x, y []mergetree.Segment) int {
				return cmp.Or(cmp.Compare(x[0].Path, y[0].Path), cmp.Compare(x[0].Offset, y[0].Offset))
			})
		}
	}
	return contents, err
}
