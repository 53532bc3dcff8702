package filereader

import (
	"fmt"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/tributary-lake/tributary/lake/schema"
)

// fileColumn is a leaf of the file's schema.
type fileColumn struct {
	leaf     int // its number among the leaves, by which row groups list chunks
	physical format.Type
	length   int // of FIXED_LEN_BYTE_ARRAY
	// maxDef is the definition level of a value that is not null, maxRep the highest repetition level.
	maxDef, maxRep int
	unsigned       bool
	// typ says what the values are; they are decoded into a vector of it.
	typ schema.Type
}

func fileColumnOf(n *fileNode) (fileColumn, error) {
	e := n.element
	c := fileColumn{leaf: n.leaf, physical: e.Type.V, length: int(e.TypeLength.V), maxDef: n.def, maxRep: n.rep}
	if !e.Type.Valid {
		return c, fmt.Errorf("%w: no physical type", ErrCorrupt)
	}
	if c.physical == format.FixedLenByteArray && c.length < 1 {
		return c, fmt.Errorf("%w: values of %d bytes", ErrCorrupt, c.length)
	}
	if p, s, ok := decimalOfElement(e); ok {
		if p < 1 || p > 38 || s < 0 || s > p {
			return c, fmt.Errorf("%w: DECIMAL(%d, %d)", ErrCorrupt, p, s)
		}
		c.typ = schema.DecimalType(p, s)
		if p > 18 && (c.physical == format.Int32 || c.physical == format.Int64) {
			c.typ.Precision = 18 // all that the numbers can hold
		}
		return c, nil
	}
	c.typ = c.plainType(e)
	if c.typ.Kind == 0 {
		return c, fmt.Errorf("%w: physical type %d", ErrCorrupt, c.physical)
	}
	return c, nil
}

func decimalOfElement(e *format.SchemaElement) (precision, scale int, ok bool) {
	switch e.Type.V {
	case format.Int32, format.Int64, format.ByteArray, format.FixedLenByteArray:
	default:
		return 0, 0, false
	}
	if d, is := e.LogicalType.Value.(*format.DecimalType); is {
		return int(d.Precision), int(d.Scale), true
	}
	if e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Decimal {
		return int(e.Precision.V), int(e.Scale.V), true
	}
	return 0, 0, false
}

// plainType is the type of a column that is not a decimal.
func (c *fileColumn) plainType(e *format.SchemaElement) schema.Type {
	switch c.physical {
	case format.Boolean:
		return schema.Of(schema.Boolean)
	case format.Int32:
		return c.int32Type(e)
	case format.Int64:
		return int64Type(e)
	case format.Int96:
		return schema.Type{Kind: schema.Timestamp, Precision: 9}
	case format.Float:
		return schema.Of(schema.Float)
	case format.Double:
		return schema.Of(schema.Double)
	case format.ByteArray, format.FixedLenByteArray:
		return schema.BytesType()
	}
	return schema.Type{}
}

func (c *fileColumn) int32Type(e *format.SchemaElement) schema.Type {
	switch t := e.LogicalType.Value.(type) {
	case *format.DateType:
		return schema.Of(schema.Date)
	case *format.TimeType:
		return schema.Type{Kind: schema.Time, Precision: 3}
	case *format.IntType:
		switch {
		case t.IsSigned && t.BitWidth == 8:
			return schema.Of(schema.TinyInt)
		case t.IsSigned && t.BitWidth == 16:
			return schema.Of(schema.SmallInt)
		}
		c.unsigned = !t.IsSigned && t.BitWidth == 32
	}
	switch converted := e.ConvertedType; {
	case converted.Valid && converted.V == deprecated.Date:
		return schema.Of(schema.Date)
	case converted.Valid && converted.V == deprecated.TimeMillis:
		return schema.Type{Kind: schema.Time, Precision: 3}
	case converted.Valid && converted.V == deprecated.Int8:
		return schema.Of(schema.TinyInt)
	case converted.Valid && converted.V == deprecated.Int16:
		return schema.Of(schema.SmallInt)
	case converted.Valid && converted.V == deprecated.Uint32:
		c.unsigned = true
	}
	if c.unsigned {
		return schema.Of(schema.BigInt)
	}
	return schema.Of(schema.Int)
}

func int64Type(e *format.SchemaElement) schema.Type {
	if t, ok := e.LogicalType.Value.(*format.TimestampType); ok {
		switch t.Unit.Value.(type) {
		case *format.MilliSeconds:
			return schema.Type{Kind: schema.Timestamp, Precision: 3}
		case *format.MicroSeconds:
			return schema.Type{Kind: schema.Timestamp, Precision: 6}
		case *format.NanoSeconds:
			return schema.Type{Kind: schema.Timestamp, Precision: 9}
		}
	}
	switch converted := e.ConvertedType; {
	case converted.Valid && converted.V == deprecated.TimestampMillis:
		return schema.Type{Kind: schema.Timestamp, Precision: 3}
	case converted.Valid && converted.V == deprecated.TimestampMicros:
		return schema.Type{Kind: schema.Timestamp, Precision: 6}
	}
	return schema.Of(schema.BigInt)
}
