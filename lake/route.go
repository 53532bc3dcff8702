package lake

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/tributary-lake/tributary/lake/bucket"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// ErrFolderName is returned for a partition whose value is too long to be a folder's name.
var ErrFolderName = errors.New("partition value is too long for a folder's name")

// arityBytes stand before the row in a serialized BinaryRow.
const arityBytes = 4

// part is one partition and bucket of a writer.
type part struct {
	partition []byte // serialized BinaryRow
	bucket    int32
	folder    string
	sequence  int64 // of the next row
	rows      []int32
	names     []string // of all files begun, so that they can be removed
	appended  appendPart
	keyed     keyPart
}

// group is one partition of a writer.
type group struct {
	partition []byte
	folder    string
	parts     map[int32]*part
	last      *part
}

// router finds the partition and bucket of every row.
type router struct {
	table   *Table
	naming  partition.Naming
	buckets int32 // schema.BucketUnaware when there are none

	keys         []int // columns of the partition keys
	keyTypes     []schema.Type
	bucketKeys   []int
	assigner     *bucket.Assigner
	groups       map[string]*group
	last         *group
	order        []*part // as they appeared, for messages in a stable order
	touched      []*part // by the batch in work
	key          []byte
	values       []row.Value
	bucketValues []row.Value

	// existing gives what live files ask for; it is called at the first row.
	existing func(ctx context.Context) (*Existing, error)
}

func newRouter(t *Table, o schema.Options) (*router, error) {
	r := &router{table: t, naming: partition.NamingOf(o), buckets: int32(o.Bucket), groups: map[string]*group{}}
	for _, k := range t.schema.PartitionKeys {
		i := t.schema.Index(k)
		r.keys = append(r.keys, i)
		r.keyTypes = append(r.keyTypes, t.schema.Fields[i].Type)
	}
	r.values = make([]row.Value, len(r.keys))
	if o.Bucket < 1 {
		return r, nil
	}
	var types []schema.Type
	for _, k := range t.schema.BucketKeys() {
		i := t.schema.Index(k)
		r.bucketKeys = append(r.bucketKeys, i)
		types = append(types, t.schema.Fields[i].Type)
	}
	r.bucketValues = make([]row.Value, len(r.bucketKeys))
	var err error
	r.assigner, err = bucket.NewAssigner(o.BucketFunction, types, o.Bucket)
	return r, err
}

// only is the part of all rows where there are neither partitions nor buckets, else nil.
func (r *router) only(ctx context.Context) (*part, error) {
	if len(r.keys) > 0 || r.assigner != nil {
		return nil, nil
	}
	g, err := r.group(ctx, nil)
	if err != nil {
		return nil, err
	}
	return r.part(ctx, g, 0)
}

// route lists the rows of a batch by part, in r.touched.
func (r *router) route(ctx context.Context, b *row.Batch) error {
	for _, p := range r.touched {
		p.rows = p.rows[:0]
	}
	r.touched = r.touched[:0]
	for i := range b.Rows {
		g := r.last
		if g == nil || len(r.keys) > 0 {
			var err error
			if g, err = r.groupOf(ctx, b, i); err != nil {
				return err
			}
		}
		p, err := r.partOf(ctx, g, b, i)
		if err != nil {
			return err
		}
		if len(p.rows) == 0 {
			r.touched = append(r.touched, p)
		}
		p.rows = append(p.rows, int32(i))
	}
	return nil
}

// groupOf is the partition of a row.
func (r *router) groupOf(ctx context.Context, b *row.Batch, i int) (*group, error) {
	for k, column := range r.keys {
		r.values[k] = b.Columns[column].Value(i)
	}
	r.key = row.AppendBinary(r.key[:0], r.keyTypes, r.values)
	if g := r.last; g != nil && string(g.partition[arityBytes:]) == string(r.key) {
		return g, nil
	}
	g, err := r.group(ctx, r.values)
	if err == nil {
		r.last = g
	}
	return g, err
}

// partOf is the part of a row of a partition.
func (r *router) partOf(ctx context.Context, g *group, b *row.Batch, i int) (*part, error) {
	if r.assigner == nil {
		return r.part(ctx, g, 0)
	}
	for k, column := range r.bucketKeys {
		r.bucketValues[k] = b.Columns[column].Value(i)
	}
	return r.part(ctx, g, int32(r.assigner.Bucket(r.bucketValues)))
}

// group finds or makes the partition of the values that r.key holds as a row.
func (r *router) group(ctx context.Context, values []row.Value) (*group, error) {
	if g := r.groups[string(r.key)]; g != nil {
		return g, nil
	}
	dir := partition.Path(r.table.schema.PartitionKeys, r.keyTypes, values, r.naming)
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	g := &group{partition: row.Serialize(r.keyTypes, values), folder: path.Join(r.table.path, dir), parts: map[int32]*part{}}
	if r.assigner != nil {
		e, err := r.existing(ctx)
		if err != nil {
			return nil, err
		}
		if err := e.checkBuckets(g.partition, dir, r.buckets); err != nil {
			return nil, err
		}
	}
	r.groups[string(r.key)] = g
	return g, nil
}

// part finds or makes a bucket of a partition.
func (r *router) part(ctx context.Context, g *group, n int32) (*part, error) {
	if p := g.last; p != nil && p.bucket == n {
		return p, nil
	}
	if p := g.parts[n]; p != nil {
		g.last = p
		return p, nil
	}
	p := &part{partition: g.partition, bucket: n, folder: path.Join(g.folder, partition.BucketFolder(n))}
	if r.assigner != nil {
		e, err := r.existing(ctx)
		if err != nil {
			return nil, err
		}
		if p.sequence, err = e.sequence(g.partition, n); err != nil {
			return nil, fmt.Errorf("write to %s: %w", g.folder, err)
		}
	}
	g.parts[n], g.last = p, p
	r.order = append(r.order, p)
	return p, nil
}

// checkFolder refuses what no file system takes, before anything is tried that would fail again and again.
func checkFolder(folder string) error {
	const most = 255
	for name := range strings.SplitSeq(folder, "/") {
		if len(name) > most {
			return fmt.Errorf("%w: %.60s… has %d bytes, the most is %d: partition by another column", ErrFolderName, name, len(name), most)
		}
	}
	return nil
}
