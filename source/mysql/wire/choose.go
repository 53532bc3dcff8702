package wire

import (
	"fmt"
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
	"github.com/tributary-lake/tributary/source/mysql/mapping"
)

// chooseDecoders plans how each selected column goes into its output. The server's own description of a column must
// agree with the planned definition, else the error is a [*source.SchemaChangedError].
func chooseDecoders(shard source.Shard, outputs []source.Output, wire []resultColumn) ([]column, error) {
	var columns []column
	for i, o := range outputs {
		if o.Column.Name == "" {
			if o.Constant == nil && o.Type.NotNull {
				return nil, fmt.Errorf("%w: shard %s lacks a column whose output is NOT NULL", source.ErrRefused, shard)
			}
			continue
		}
		if len(columns) == len(wire) {
			return nil, fmt.Errorf("%w: %d columns for more outputs", ErrMalformed, len(wire))
		}
		w := wire[len(columns)]
		d := definition.Parse(o.Column.Definition)
		if !slices.Contains(typesOf(d.Base), w.kind) || d.Integer() && d.Unsigned != w.unsigned() {
			return nil, &source.SchemaChangedError{Shard: shard, Column: o.Column.Name, Planned: o.Column.Definition, Found: w.describe()}
		}
		c := column{output: i, source: o.Column, kind: w.kind, enum: emptyIsError(o.Column.Definition)}
		if c.decode = c.choose(d, w, o.Type); c.decode == nil {
			return nil, fmt.Errorf("%w: shard %s: column %q (%s) cannot become %s", source.ErrRefused, shard, o.Column.Name, o.Column.Definition, o.Type)
		}
		columns = append(columns, c)
	}
	if len(columns) != len(wire) {
		return nil, fmt.Errorf("%w: %d columns for %d outputs", ErrMalformed, len(wire), len(columns))
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("%w: shard %s: no column is selected from it", source.ErrRefused, shard)
	}
	return columns, nil
}

// describe is the server's description in words, for a message.
func (c resultColumn) describe() string {
	sign := ""
	if c.unsigned() {
		sign = " unsigned"
	}
	return fmt.Sprintf("of protocol type %d%s", c.kind, sign)
}

// typesOf gives the protocol types that columns of a type may be sent as.
func typesOf(base string) []byte {
	switch base {
	case "tinyint":
		return []byte{typeTiny}
	case "smallint":
		return []byte{typeShort}
	case "mediumint":
		return []byte{wireInt24, typeLong}
	case "int":
		return []byte{typeLong}
	case "bigint":
		return []byte{typeLongLong}
	case "year":
		return []byte{typeYear}
	case "float":
		return []byte{typeFloat}
	case "double":
		return []byte{typeDouble}
	case "decimal":
		return []byte{typeNewDecimal, typeDecimal}
	case "bit":
		return []byte{typeBit}
	case "date":
		return []byte{typeDate}
	case "time":
		return []byte{typeTime}
	case "datetime":
		return []byte{typeDateTime}
	case "timestamp":
		return []byte{typeTimestamp}
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection":
		return []byte{typeGeometry}
	}
	return []byte{
		typeString, typeVarString, typeVarChar, typeBlob, typeTinyBlob, typeMediumBlob, typeLongBlob,
		typeEnum, typeSet, typeJSON,
	}
}

// choose is the function that decodes the column into an output of type t, nil when there is none.
func (c *column) choose(d definition.Type, w resultColumn, t schema.Type) decodeFunc {
	layout := row.LayoutOf(t)
	switch w.kind {
	case typeTiny, typeShort, wireInt24, typeLong, typeLongLong, typeYear:
		return c.chooseInteger(w, t, layout)
	case typeFloat:
		if layout == row.LayoutFloat32 {
			return decodeFloat
		}
		if layout == row.LayoutFloat64 {
			return decodeFloatToDouble
		}
	case typeDouble:
		if layout == row.LayoutFloat64 {
			return decodeDouble
		}
	case typeDecimal, typeNewDecimal:
		return c.chooseDecimal(d, w, t, layout)
	case typeBit:
		c.width = (d.Arg(0, 1) + 7) / 8
		switch {
		case t.Kind == schema.Boolean && d.Arg(0, 1) == 1:
			return decodeBitToBoolean
		case layout == row.LayoutBytes:
			return decodeBit
		}
	case typeDate, typeDateTime, typeTimestamp:
		return c.chooseTemporal(w, t, layout)
	case typeTime:
		c.width = d.Arg(0, 0)
		switch {
		case c.width > 6 || int(w.decimals) > c.width:
		case t.Kind == schema.VarChar:
			return decodeTimeText
		case t.Kind == schema.Time && c.source.Type.Kind == schema.Time && t.Precision >= c.source.Type.Precision:
			c.width = min(c.source.Type.Precision, 3)
			return decodeTimeOfDay
		}
	case typeGeometry:
		c.policy = mapping.GeometryWKB
		if layout == row.LayoutBytes {
			return decodeGeometry
		}
	default:
		if layout == row.LayoutBytes {
			return decodeBytes
		}
	}
	return nil
}

func (c *column) chooseDecimal(d definition.Type, w resultColumn, t schema.Type, layout row.Layout) decodeFunc {
	own := c.source.Type
	switch {
	case layout == row.LayoutBytes:
		return decodeBytes
	case t.Kind != schema.Decimal:
		return nil
	case own.Kind == schema.Decimal && own.Scale <= t.Scale && (own.Scale < int(w.decimals) || own.Precision-own.Scale < d.Arg(0, 10)-d.Arg(1, 0)):
		return decodeDecimalChecked
	case int(w.decimals) > t.Scale:
		return nil
	case layout == row.LayoutInt64:
		return decodeDecimal64
	}
	return decodeDecimal
}

func (c *column) chooseTemporal(w resultColumn, t schema.Type, layout row.Layout) decodeFunc {
	switch c.source.ZeroDate {
	case source.ZeroDateNull:
		c.policy = mapping.ZeroDateNull
	case source.ZeroDateEpoch:
		c.policy = mapping.ZeroDateEpoch
	case source.ZeroDateFail:
	}
	if w.kind == typeDate {
		if t.Kind == schema.Date {
			return decodeDate
		}
		return nil
	}
	want := schema.Timestamp
	if w.kind == typeTimestamp {
		want = schema.TimestampLTZ
	}
	switch {
	case t.Kind != want || int(w.decimals) > t.Precision:
		return nil
	case layout == row.LayoutNanos:
		return decodeNanos
	case t.Precision > 3:
		return decodeMicros
	}
	return decodeMillis
}

func (c *column) chooseInteger(w resultColumn, t schema.Type, layout row.Layout) decodeFunc {
	sizes := map[byte]int{typeTiny: 1, typeShort: 2, typeYear: 2, wireInt24: 4, typeLong: 4, typeLongLong: 8}
	c.width, c.unsigned = sizes[w.kind], w.unsigned() || w.kind == typeYear
	switch t.Kind {
	case schema.Boolean:
		if w.kind == typeTiny && !c.unsigned {
			return decodeBoolean
		}
		return nil
	case schema.Decimal:
		c.power = t.Scale
		return decodeIntegerToDecimal
	case schema.VarChar:
		if t.Length == schema.MaxLength {
			return decodeIntegerText
		}
		return nil
	default:
	}
	// Bits that the value needs, and that the output has; an unsigned one needs one more for the sign.
	need := map[byte]int{typeTiny: 8, typeShort: 16, typeYear: 16, wireInt24: 24, typeLong: 32, typeLongLong: 64}[w.kind]
	if c.unsigned {
		need++
	}
	// The column's own type may have been asked for although it has fewer: then each value is looked at.
	if own := c.source.Type.Kind.IntegerBits(); own > 0 && own < need {
		if own > t.Kind.IntegerBits() {
			return nil
		}
		c.bits = own
		return decodeIntegerChecked
	}
	if need > t.Kind.IntegerBits() {
		return nil
	}
	return fastInteger(c.width, c.unsigned, layout)
}

// fastInteger prefers the functions made for one width.
func fastInteger(width int, unsigned bool, layout row.Layout) decodeFunc {
	type shape struct {
		width    int
		unsigned bool
		layout   row.Layout
	}
	fast := map[shape]decodeFunc{
		{1, false, row.LayoutInt32}: decodeI8,
		{1, true, row.LayoutInt32}:  decodeU8,
		{2, false, row.LayoutInt32}: decodeI16,
		{2, true, row.LayoutInt32}:  decodeU16,
		{4, false, row.LayoutInt32}: decodeI32,
		{4, true, row.LayoutInt32}:  decodeI32, // MEDIUMINT UNSIGNED, of 24 bits
		{4, true, row.LayoutInt64}:  decodeU32To64,
		{8, false, row.LayoutInt64}: decodeI64,
	}
	if f := fast[shape{width, unsigned, layout}]; f != nil {
		return f
	}
	if layout == row.LayoutInt64 {
		return decodeIntegerTo64
	}
	return decodeIntegerTo32
}
