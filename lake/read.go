package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/datafile/filereader"
	"github.com/tributary-lake/tributary/lake/deletion"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// projection is a set of columns to read, in the table's own schema whatever schema a file has. It is not changed once it is
// made.
type projection struct {
	table *Table
	// fields are those of the table that are read, system the ones that key tables have in front of them.
	system, fields []schema.Field
	// keys has for each field its place among the partition keys, or -1.
	keys []int
	// wanted has the places among fields of what the caller asked for.
	wanted []int
}

// newProjection reads fields for those that are wanted, which are among them.
func newProjection(t *Table, system, fields, wanted []schema.Field) *projection {
	p := &projection{table: t, system: system, fields: fields}
	for _, f := range fields {
		p.keys = append(p.keys, slices.Index(t.schema.PartitionKeys, f.Name))
	}
	for _, w := range wanted {
		p.wanted = append(p.wanted, slices.IndexFunc(fields, func(f schema.Field) bool { return f.ID == w.ID }))
	}
	return p
}

// newBatch returns a batch for fileRows: the system's fields, then the others.
func (p *projection) newBatch() *row.Batch {
	return row.NewBatch(append(row.Types(p.system), row.Types(p.fields)...))
}

// wantedTypes are the types of what the caller asked for.
func (p *projection) wantedTypes() []schema.Type {
	types := make([]schema.Type, len(p.wanted))
	for i, at := range p.wanted {
		types[i] = p.fields[at].Type
	}
	return types
}

// mapping is how files of one schema become rows of a projection.
type mapping struct {
	fields []schema.Field // to read from the file, by the file's names and the table's types
	source []int          // for each column of the projection's batch its place in fields, or -1 for a null or partition value
}

// mapping finds the columns among those of a version of the schema, by id: a name may have been given anew.
func (p *projection) mapping(written *schema.Table) (*mapping, error) {
	byID := map[int]schema.Field{}
	for _, f := range slices.Concat(p.system, written.Fields) {
		byID[f.ID] = f
	}
	m := &mapping{}
	for i, want := range slices.Concat(p.system, p.fields) {
		has, ok := byID[want.ID]
		if !ok || i >= len(p.system) && p.keys[i-len(p.system)] >= 0 {
			m.source = append(m.source, -1)
			continue
		}
		if !keepsValues(has.Type, want.Type) {
			return nil, fmt.Errorf("column %q was %s in schema %d and is %s, which %w",
				want.Name, has.Type, written.ID, want.Type, ErrNotReadable)
		}
		m.source = append(m.source, len(m.fields))
		has.Type = want.Type
		m.fields = append(m.fields, has)
	}
	return m, nil
}

// keepsValues refuses changes of type for which Paimon casts values and the files' reader would pass them on as they are.
// All others it judges itself.
func keepsValues(from, to schema.Type) bool {
	text := func(k schema.Kind) bool { return k == schema.Char || k == schema.VarChar }
	binary := func(k schema.Kind) bool { return k == schema.Binary || k == schema.VarBinary }
	switch {
	case from.Nested() || to.Nested():
		return schema.Equal(from.WithNotNull(false), to.WithNotNull(false))
	case text(to.Kind), binary(to.Kind):
		return text(from.Kind) == text(to.Kind) && binary(from.Kind) == binary(to.Kind) && from.Length <= to.Length
	case to.Kind == schema.Timestamp, to.Kind == schema.TimestampLTZ:
		return from.Kind == to.Kind && from.Precision <= to.Precision
	case to.Kind == schema.Date, to.Kind == schema.Time:
		return from.Kind == to.Kind
	}
	return true
}

// versions are the versions of a table's schema under which files were written.
type versions struct {
	table *Table
	known map[schema.ID]*schema.Table
}

func newVersions(t *Table) *versions {
	return &versions{table: t, known: map[schema.ID]*schema.Table{t.schema.ID: t.schema}}
}

func (v *versions) get(ctx context.Context, id schema.ID) (*schema.Table, error) {
	if s := v.known[id]; s != nil {
		return s, nil
	}
	s, err := snapshot.Schemas{Store: v.table.store, Table: v.table.path}.Get(ctx, id)
	if err == nil {
		v.known[id] = s
	}
	return s, err
}

// fileRows reads the rows of one file. It is a mergetree.Source when the projection has the system's fields.
type fileRows struct {
	p       *projection
	f       *File
	where   string
	mapping *mapping
	reader  *filereader.Reader
	in      *row.Batch
	// deleted are the rows to leave out, next is the position of the next row in the file.
	deleted *deletion.Vector
	next    int64
	live    []int32
	kept    *row.Batch
}

// open opens a file that was written under a version of the schema, to read the rows that are not deleted.
func (p *projection) open(ctx context.Context, f *File, written *schema.Table, deleted *deletion.Vector) (mergetree.Source, error) {
	name := f.DataFile.Name
	if f.DataFile.ExternalPath != nil {
		return nil, fmt.Errorf("data file %s lies at %s; files outside the table's folder %w", name, *f.DataFile.ExternalPath, ErrNotReadable)
	}
	where := p.table.store.URI(f.Path)
	if format := strings.TrimPrefix(path.Ext(name), "."); format != "parquet" {
		return nil, fmt.Errorf("data file %s: files of format %q %w", where, format, ErrNotReadable)
	}
	m, err := p.mapping(written)
	if err != nil {
		return nil, fmt.Errorf("data file %s: %w", where, err)
	}
	r, err := filereader.Open(ctx, p.table.store, f.Path, f.DataFile.Size, m.fields, filereader.Options{})
	if err != nil {
		return nil, err
	}
	if r.Rows() != f.DataFile.Rows {
		return nil, errors.Join(fmt.Errorf("data file %s: %w: it has %d rows, its manifest says %d",
			where, filereader.ErrCorrupt, r.Rows(), f.DataFile.Rows), r.Close())
	}
	return &fileRows{p: p, f: f, where: where, mapping: m, reader: r, in: row.NewBatch(row.Types(m.fields)), deleted: deleted}, nil
}

// Next replaces what is in a batch of the projection by the next rows. At the end it gives io.EOF and an empty batch.
func (r *fileRows) Next(ctx context.Context, b *row.Batch) error {
	for {
		err := r.reader.NextBatch(ctx, r.in)
		if errors.Is(err, io.EOF) {
			b.Reset()
			return io.EOF
		}
		if err != nil {
			return fmt.Errorf("data file %s: %w", r.where, err)
		}
		r.assemble(b)
		if r.dropDeleted(b); b.Rows > 0 {
			return nil
		}
	}
}

// dropDeleted leaves the rows in a batch that are not deleted.
func (r *fileRows) dropDeleted(b *row.Batch) {
	from, n := r.next, b.Rows
	r.next += int64(n)
	if r.deleted == nil {
		return
	}
	r.live = r.deleted.Live(r.live[:0], from, n)
	if len(r.live) == n {
		return
	}
	if r.kept == nil {
		r.kept = r.p.newBatch()
	}
	r.kept.Reset()
	r.kept.AppendRows(b, r.live)
	*b, *r.kept = *r.kept, *b
}

// assemble makes rows of the projection from those of the file. The two batches exchange their memory.
func (r *fileRows) assemble(b *row.Batch) {
	b.Rows = r.in.Rows
	for i := range b.Columns {
		v := &b.Columns[i]
		if from := r.mapping.source[i]; from >= 0 {
			*v, r.in.Columns[from] = r.in.Columns[from], *v
			continue
		}
		value := row.NullValue()
		if key := r.p.keys[i-len(r.p.system)]; key >= 0 {
			value = r.f.Partition[key]
		}
		v.Reset()
		for range b.Rows {
			v.Append(value)
		}
	}
}

// Close gives the file up.
func (r *fileRows) Close() error {
	if r.reader == nil {
		return nil
	}
	reader := r.reader
	r.reader = nil
	return reader.Close()
}
