package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
	"github.com/tributary-lake/tributary/source/mysql/mapping"
)

// What a sample finds beside the policies: values that arrive as they are, and that people may take for others.
const (
	// NotUTF8 are bytes in a text that no character set explains.
	NotUTF8 = "text that is not UTF-8"
	// EnumError is what MySQL stores for a value that an ENUM does not have.
	EnumError = "the error value of an ENUM, which is empty"
)

// shownValue bounds the text of a value in a finding.
const shownValue = 60

// sampled decodes a row as row does. What a policy changes or refuses is found, and does not end it. place is the row's in
// the batch.
func (d *decoder) sampled(p []byte, place int, found func(source.Finding)) error {
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
		next, err := c.sampled(p, pos, place, found)
		if err != nil {
			return err
		}
		pos = next
	}
	if pos != len(p) {
		return fmt.Errorf("%w: %d bytes after the last value of a row", ErrMalformed, len(p)-pos)
	}
	return nil
}

// sampled decodes a value.
func (c *column) sampled(p []byte, pos, place int, found func(source.Finding)) (int, error) {
	f := source.Finding{Output: c.output, Column: c.source.Name, Row: place}
	replaced := c.replaced
	next, err := c.decode(c, p, pos)
	switch {
	case errors.Is(err, source.ErrRefused):
		f.Refused, f.Problem = true, strings.TrimPrefix(err.Error(), source.ErrRefused.Error()+": ")
		if next = skip(c.kind, p, pos); next < 0 {
			return -1, err
		}
		c.standIn()
	case err != nil:
		return -1, err
	case next < 0:
		return -1, fmt.Errorf("%w: value of column %q", ErrMalformed, c.source.Name)
	case c.replaced > replaced:
		f.Policy = c.policy
	default:
		if f.Policy = c.odd(); f.Policy == "" {
			return next, nil
		}
	}
	f.Value = c.printed(p, pos)
	found(f)
	return next, nil
}

// standIn appends a zero for a value that is refused.
func (c *column) standIn() {
	if v := c.vector; v.Layout == row.LayoutFixed {
		v.Data = append(v.Data, make([]byte, v.Width)...)
	} else {
		v.Append(row.Value{})
	}
}

// odd says what is odd about the value that was decoded last, if anything.
func (c *column) odd() string {
	v := c.vector
	if v.Layout != row.LayoutBytes || v.Type.Kind != schema.VarChar && v.Type.Kind != schema.Char {
		return ""
	}
	switch b := v.Bytes(v.Len() - 1); {
	case !utf8.Valid(b):
		return NotUTF8
	case len(b) == 0 && c.enum:
		return EnumError
	}
	return ""
}

// emptyIsError tells whether an empty value of the definition is the error value of an ENUM.
func emptyIsError(d string) bool {
	return definition.Parse(d).Base == "enum" && !strings.HasPrefix(d, "enum('',") && !strings.HasPrefix(d, "enum('')") && !strings.Contains(d, ",''")
}

// printed is the value at pos as MySQL prints it; empty for what is of no help.
func (c *column) printed(p []byte, pos int) string {
	switch c.kind {
	case typeDate, typeDateTime, typeTimestamp:
		m, _ := readMoment(p, pos)
		return m.text()
	case typeGeometry:
		if b, next := lenbytes(p, pos); next > 0 && len(b) >= 4 {
			return fmt.Sprintf("SRID %d", binary.LittleEndian.Uint32(b))
		}
	case typeTiny, typeShort, wireInt24, typeLong, typeLongLong, typeYear:
		n, _ := c.integer(p, pos)
		if c.unsigned {
			return fmt.Sprint(uint64(n))
		}
		return fmt.Sprint(n)
	case typeTime:
		v := row.Vector{Offsets: []uint32{0}}
		said := column{vector: &v, width: 6}
		if next, err := decodeTimeText(&said, p, pos); err == nil && next > 0 {
			return string(v.Data)
		}
	case typeFloat, typeDouble:
	default:
		if b, next := lenbytes(p, pos); next > 0 {
			if len(b) > shownValue {
				b = b[:shownValue]
			}
			if c.policy != mapping.GeometryWKB && c.kind != typeNewDecimal && c.kind != typeDecimal {
				return fmt.Sprintf("%q", b)
			}
			return string(b)
		}
	}
	return ""
}

// skip is the position after a value of a protocol type, -1 when the packet is malformed.
func skip(kind byte, p []byte, pos int) int {
	next := -1
	switch kind {
	case typeTiny:
		next = pos + 1
	case typeShort, typeYear:
		next = pos + 2
	case wireInt24, typeLong, typeFloat:
		next = pos + 4
	case typeLongLong, typeDouble:
		next = pos + 8
	case typeDate, typeDateTime, typeTimestamp, typeTime:
		if pos < len(p) {
			next = pos + 1 + int(p[pos])
		}
	default:
		_, next = lenbytes(p, pos)
	}
	if next > len(p) {
		return -1
	}
	return next
}
