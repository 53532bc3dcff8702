package wire

import (
	"fmt"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
)

// decodeFunc reads the value at pos into the column's vector and returns the position after it. A position of -1
// means that the packet is malformed.
type decodeFunc func(c *column, p []byte, pos int) (int, error)

// column is a selected column and how its values are decoded.
type column struct {
	decode decodeFunc
	// vector is the batch's, set anew for each batch.
	vector *row.Vector
	// output is the column's place in the batch.
	output int
	// width is the bytes of a BIT value, the fraction digits of a TIME or of a time of day, or the bytes of an integer.
	width int
	// power is by what an integer that becomes a DECIMAL is multiplied, as a power of ten.
	power    int
	unsigned bool
	// bits is the size of the integer type that was asked for although the column's values may be larger.
	bits int
	// replaced counts values that a policy changed.
	replaced int64
	policy   string
	source   source.Column
	// kind is the protocol's type; enum tells that an empty text is the error value of an ENUM.
	kind byte
	enum bool
}

// decoder turns rows of the binary protocol into values of a batch.
type decoder struct {
	columns []column
	// nullBytes is the size of a row's null bitmap.
	nullBytes int
}

func newDecoder(columns []column) *decoder {
	return &decoder{columns: columns, nullBytes: (len(columns) + 9) / 8}
}

// bind makes a batch the one that rows go to. Its columns must have the types that the decoder was made for.
func (d *decoder) bind(b *row.Batch) {
	for i := range d.columns {
		c := &d.columns[i]
		c.vector = &b.Columns[c.output]
	}
}

// row decodes a row: 0x00, a bitmap of nulls that begins at its third bit, then the values that are not null. After
// an error the batch's columns are of different length.
func (d *decoder) row(p []byte) error {
	pos := 1 + d.nullBytes
	if len(p) < pos || p[0] != headOK {
		return fmt.Errorf("%w: row", ErrMalformed)
	}
	nulls := p[1:pos]
	for i := range d.columns {
		c := &d.columns[i]
		if nulls[(i+2)>>3]>>((i+2)&7)&1 != 0 {
			if c.vector.Type.NotNull {
				return c.nullInNotNull()
			}
			c.vector.AppendNull()
			continue
		}
		var err error
		if pos, err = c.decode(c, p, pos); pos < 0 || err != nil {
			if err == nil {
				err = fmt.Errorf("%w: value of column %q", ErrMalformed, c.source.Name)
			}
			return err
		}
	}
	if pos != len(p) {
		return fmt.Errorf("%w: %d bytes after the last value of a row", ErrMalformed, len(p)-pos)
	}
	return nil
}

func (c *column) nullInNotNull() error {
	return fmt.Errorf("%w: column %q was %s when the plan was made, but holds NULL now: start a new run, which plans anew",
		source.ErrSchemaChanged, c.source.Name, c.source.Definition)
}

// replacedCounts are the counts of columns that have any.
func (d *decoder) replacedCounts() []source.Replaced {
	var out []source.Replaced
	for i := range d.columns {
		if c := &d.columns[i]; c.replaced > 0 {
			out = append(out, source.Replaced{Column: c.source.Name, Policy: c.policy, Count: c.replaced})
		}
	}
	return out
}
