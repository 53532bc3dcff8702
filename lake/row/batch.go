package row

import "github.com/tributary-lake/tributary/lake/schema"

// Batch is a set of rows in columns. It is made once for a schema and reused: whoever receives one may read it until it
// returns from the call, unless it is told otherwise.
type Batch struct {
	Columns []Vector
	// Rows is the number of rows; every column has as many values.
	Rows int
}

// NewBatch returns an empty batch with a column for each type.
func NewBatch(types []schema.Type) *Batch {
	b := &Batch{Columns: make([]Vector, len(types))}
	for i, t := range types {
		b.Columns[i] = NewVector(t)
	}
	return b
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	for i := range b.Columns {
		b.Columns[i].Reset()
	}
	b.Rows = 0
}

// Size is the number of bytes of the values held.
func (b *Batch) Size() int {
	n := 0
	for i := range b.Columns {
		n += b.Columns[i].Size()
	}
	return n
}

// AppendRows adds rows of another batch of the same types, by their numbers.
func (b *Batch) AppendRows(src *Batch, rows []int32) {
	for c := range b.Columns {
		b.Columns[c].appendRows(&src.Columns[c], rows)
	}
	b.Rows += len(rows)
}
