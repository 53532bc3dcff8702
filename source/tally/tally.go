package tally

import (
	"crypto/md5" //nolint:gosec // it is what servers have, and for no secret
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Sum is the number of rows and the sum of their numbers modulo 2^64. The zero value is that of no rows.
type Sum struct {
	Rows int64  `json:"rows"`
	Sum  uint64 `json:"sum"`
}

// Same tells whether two are of the same rows.
func (s Sum) Same(o Sum) bool { return s == o }

// Add takes in the rows of another.
func (s *Sum) Add(o Sum) {
	s.Rows += o.Rows
	s.Sum += o.Sum
}

// String gives both numbers for people.
func (s Sum) String() string { return fmt.Sprintf("%d rows with sum %016x", s.Rows, s.Sum) }

// Adder adds up the rows of batches.
type Adder struct {
	Sum Sum
	// columns of the batches that count.
	columns []int
	line    []byte
	text    []byte
}

// NewAdder is for batches of which these columns, by their places, have values from the source.
func NewAdder(columns []int) *Adder { return &Adder{columns: columns} }

// Add adds the rows of a batch.
func (a *Adder) Add(b *row.Batch) {
	for i := range b.Rows {
		a.Sum.Sum += a.Number(b, i)
	}
	a.Sum.Rows += int64(b.Rows)
}

// Number is that of one row of a batch, which is not added.
func (a *Adder) Number(b *row.Batch, i int) uint64 {
	a.line = a.line[:0]
	for n, c := range a.columns {
		if n > 0 {
			a.line = append(a.line, ',')
		}
		v := &b.Columns[c]
		if v.IsNull(i) {
			a.line = append(a.line, 'N')
			continue
		}
		a.text = AppendText(a.text[:0], v, i)
		a.line = strconv.AppendUint(a.line, uint64(crc32.ChecksumIEEE(a.text)), 10)
	}
	digest := md5.Sum(a.line) //nolint:gosec // see above
	return binary.BigEndian.Uint64(digest[:])
}

// AppendText appends the text of a value that is not NULL.
func AppendText(to []byte, v *row.Vector, i int) []byte {
	value := v.Value(i)
	switch v.Type.Kind {
	case schema.Boolean, schema.TinyInt, schema.SmallInt, schema.Int, schema.BigInt:
		return strconv.AppendInt(to, value.I64, 10)
	case schema.Float, schema.Double:
		return appendFloat(to, value.F64)
	case schema.Decimal:
		return append(to, row.Text(v.Type, value)...)
	case schema.Date:
		return append(to, row.DateText(row.TimeOf(v.Type, value))...)
	case schema.Time:
		return append(to, row.ClockText(row.TimeOf(v.Type, value), 3)...)
	case schema.Timestamp, schema.TimestampLTZ:
		at := row.TimeOf(v.Type, value)
		to = append(append(to, row.DateText(at)...), ' ')
		return append(to, row.ClockText(at, 6)...)
	default:
		return append(to, value.B...)
	}
}

// appendFloat appends a number as MySQL and MariaDB print it: the fewest digits that give it back, and an exponent where the
// point would be more than 14 zeros before the first of them, or, from 10^15 on, behind the last.
func appendFloat(to []byte, f float64) []byte {
	const most = 15 // MAX_DECPT_FOR_F_FORMAT of dtoa.c
	if f == 0 {
		return strconv.AppendFloat(to, f, 'f', -1, 64)
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, after, _ := strings.Cut(text, "e")
	exponent, _ := strconv.Atoi(after) // strconv's own text
	digits := len(strings.Trim(mantissa, "-"))
	if digits > 1 {
		digits-- // the point
	}
	if point := exponent + 1; point < -most+1 || point > most && point >= digits {
		return strconv.AppendInt(append(append(to, mantissa...), 'e'), int64(exponent), 10)
	}
	return strconv.AppendFloat(to, f, 'f', -1, 64)
}
