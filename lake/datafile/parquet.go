package datafile

import (
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// createdBy has the form that parquet-mr parses; it does not trust bounds of strings from a writer it cannot parse.
const createdBy = "tributary version 1.0.0 (build datafile)"

const magic = "PAR1"

// schemaElement is format.SchemaElement with a field id that may be 0.
type schemaElement struct {
	Type           thrift.Null[format.Type]                `thrift:"1,optional"`
	TypeLength     thrift.Null[int32]                      `thrift:"2,optional"`
	RepetitionType thrift.Null[format.FieldRepetitionType] `thrift:"3,optional"`
	Name           string                                  `thrift:"4,required"`
	NumChildren    thrift.Null[int32]                      `thrift:"5,optional"`
	ConvertedType  thrift.Null[deprecated.ConvertedType]   `thrift:"6,optional"`
	Scale          thrift.Null[int32]                      `thrift:"7,optional"`
	Precision      thrift.Null[int32]                      `thrift:"8,optional"`
	FieldID        thrift.Null[int32]                      `thrift:"9,optional"`
	LogicalType    format.LogicalType                      `thrift:"10,optional"`
}

// fileMetaData is format.FileMetaData over schemaElement.
type fileMetaData struct {
	Version      int32                            `thrift:"1,required"`
	Schema       thrift.Slice[schemaElement]      `thrift:"2,required"`
	NumRows      int64                            `thrift:"3,required"`
	RowGroups    thrift.Slice[format.RowGroup]    `thrift:"4,required"`
	CreatedBy    string                           `thrift:"6,optional"`
	ColumnOrders thrift.Slice[format.ColumnOrder] `thrift:"7,optional"`
}

// physical is how a column's values become PLAIN bytes.
type physical uint8

const (
	asBoolean physical = iota + 1 // I32 as bits
	asInt32                       // I32
	asInt64                       // I64
	asNarrow                      // I64 as INT32
	asFloat                       // F32
	asDouble                      // F64
	asBytes                       // Data with a length before each value
	asFixed                       // Data as it is
	asInt96                       // I64 and I32 as nanoseconds of the day and Julian day
)

// physicalOf tells the physical form of a type that is not nested, 0 for what is no type.
func physicalOf(t schema.Type) physical {
	switch row.LayoutOf(t) {
	case row.LayoutInt32:
		if t.Kind == schema.Boolean {
			return asBoolean
		}
		return asInt32
	case row.LayoutInt64:
		if t.Kind == schema.Decimal && t.Precision <= 9 {
			return asNarrow
		}
		return asInt64
	case row.LayoutFloat32:
		return asFloat
	case row.LayoutFloat64:
		return asDouble
	case row.LayoutBytes:
		return asBytes
	case row.LayoutFixed:
		return asFixed
	case row.LayoutNanos:
		return asInt96
	}
	return 0
}

// parquetType is the physical type of the format.
func (p physical) parquetType() format.Type {
	switch p {
	case asBoolean:
		return format.Boolean
	case asInt32, asNarrow:
		return format.Int32
	case asInt64:
		return format.Int64
	case asFloat:
		return format.Float
	case asDouble:
		return format.Double
	case asFixed:
		return format.FixedLenByteArray
	case asInt96:
		return format.Int96
	default:
		return format.ByteArray
	}
}

// width is the number of bytes that a value takes in a page under construction, 0 where it varies. A boolean takes a
// whole byte until its page is finished.
func (p physical) width(t schema.Type) int {
	switch p {
	case asBoolean:
		return 1
	case asInt32, asNarrow, asFloat:
		return 4
	case asInt64, asDouble:
		return 8
	case asFixed:
		return row.FixedWidth(t.Precision)
	case asInt96:
		return 12
	default:
		return 0
	}
}

// parquetSchema is the schema part of the footer: the root and one element a column, as Paimon's Java writer has it.
func parquetSchema(fields []schema.Field) []schemaElement {
	elements := make([]schemaElement, 0, len(fields)+1)
	elements = append(elements, schemaElement{
		Name:        "paimon_schema",
		NumChildren: thrift.New(int32(len(fields))),
	})
	for _, f := range fields {
		elements = appendElements(elements, f, int32(f.ID), 0)
	}
	return elements
}

// nestedIDs is the middle of the range in which the ids of elements, keys and values lie
// (org.apache.paimon.table.SpecialFields.STRUCTURED_TYPE_FIELD_ID_BASE).
const nestedIDs = math.MaxInt32 / 4

// appendElements adds a field of some id and what is below it. The ids of elements, keys and values are made from the id of the
// column, or of the field of a ROW, around them, and how deep below it they are. As in Java they may overflow.
func appendElements(elements []schemaElement, f schema.Field, around, depth int32) []schemaElement {
	if !f.Type.Nested() {
		return append(elements, parquetElement(f))
	}
	kids := childFields(f.Type)
	e := element(f)
	e.NumChildren = thrift.New(int32(len(kids)))
	annotateGroup(&e, f.Type)
	elements = append(elements, e)
	if f.Type.Kind == schema.Row {
		for _, k := range kids {
			elements = appendElements(elements, k, int32(k.ID), 0)
		}
		return elements
	}
	elements[len(elements)-1].NumChildren = thrift.New(int32(1))
	middle := schemaElement{
		RepetitionType: thrift.New(format.Repeated),
		Name:           middleGroup(f.Type),
		NumChildren:    thrift.New(int32(len(kids))),
	}
	if f.Type.Kind != schema.Array {
		middle.ConvertedType = thrift.New(deprecated.MapKeyValue)
	}
	elements = append(elements, middle)
	depth++
	for _, k := range kids {
		k.ID = int(nestedIDs + 1024*around + depth)
		if k.Name == "key" {
			k.ID = int(nestedIDs - 1024*around - depth)
		}
		elements = appendElements(elements, k, around, depth)
	}
	return elements
}

func annotateGroup(e *schemaElement, t schema.Type) {
	switch t.Kind { //nolint:exhaustive // ROW has no annotation
	case schema.Array:
		e.LogicalType.Value = &format.ListType{}
		e.ConvertedType = thrift.New(deprecated.List)
	case schema.Map, schema.Multiset:
		e.LogicalType.Value = &format.MapType{}
		e.ConvertedType = thrift.New(deprecated.Map)
	}
}

// element is what all fields have.
func element(f schema.Field) schemaElement {
	e := schemaElement{
		RepetitionType: thrift.New(format.Optional),
		Name:           f.Name,
		FieldID:        thrift.New(int32(f.ID)),
	}
	if f.Type.NotNull {
		e.RepetitionType = thrift.New(format.Required)
	}
	return e
}

func parquetElement(f schema.Field) schemaElement {
	p := physicalOf(f.Type)
	e := element(f)
	e.Type = thrift.New(p.parquetType())
	if p == asFixed {
		e.TypeLength = thrift.New(int32(row.FixedWidth(f.Type.Precision)))
	}
	annotate(&e, f.Type)
	return e
}

// annotate sets the logical type and the older converted type beside it.
func annotate(e *schemaElement, t schema.Type) {
	converted := func(c deprecated.ConvertedType) { e.ConvertedType = thrift.New(c) }
	switch t.Kind {
	case schema.Char, schema.VarChar:
		e.LogicalType.Value = &format.StringType{}
		converted(deprecated.UTF8)
	case schema.TinyInt:
		e.LogicalType.Value = &format.IntType{BitWidth: 8, IsSigned: true}
		converted(deprecated.Int8)
	case schema.SmallInt:
		e.LogicalType.Value = &format.IntType{BitWidth: 16, IsSigned: true}
		converted(deprecated.Int16)
	case schema.Decimal:
		e.LogicalType.Value = &format.DecimalType{Scale: int32(t.Scale), Precision: int32(t.Precision)}
		converted(deprecated.Decimal)
		e.Scale, e.Precision = thrift.New(int32(t.Scale)), thrift.New(int32(t.Precision))
	case schema.Date:
		e.LogicalType.Value = &format.DateType{}
		converted(deprecated.Date)
	case schema.Time:
		e.LogicalType.Value = &format.TimeType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MilliSeconds{}}}
		converted(deprecated.TimeMillis)
	case schema.Timestamp, schema.TimestampLTZ:
		annotateTimestamp(e, t)
	default: // the physical type says all
	}
}

func annotateTimestamp(e *schemaElement, t schema.Type) {
	if t.Precision > 6 {
		return // INT96 has no annotation
	}
	unit, old := format.TimeUnitValue(&format.MilliSeconds{}), deprecated.TimestampMillis
	if t.Precision > 3 {
		unit, old = &format.MicroSeconds{}, deprecated.TimestampMicros
	}
	utc := t.Kind == schema.TimestampLTZ
	e.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: utc, Unit: format.TimeUnit{Value: unit}}
	// The converted types mean an instant; Paimon writes them beside wall clocks too.
	e.ConvertedType = thrift.New(old)
}

// checkFields refuses what no file can hold.
func checkFields(fields []schema.Field) error {
	if len(fields) == 0 {
		return fmt.Errorf("no columns to write")
	}
	return checkGroup(fields, 0)
}

// maxDepth bounds how deep types are nested; levels are kept in bytes.
const maxDepth = 100

func checkGroup(fields []schema.Field, depth int) error {
	names := make(map[string]bool, len(fields))
	for _, f := range fields {
		if err := checkType(f.Type, depth); err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
		if names[f.Name] {
			return fmt.Errorf("column %q appears twice", f.Name)
		}
		names[f.Name] = true
	}
	return nil
}

func checkType(t schema.Type, depth int) error {
	switch {
	case t.Kind == schema.Decimal && (t.Precision < 1 || t.Precision > 38):
		return fmt.Errorf("decimal precision %d is not within 1 and 38", t.Precision)
	case !t.Nested() && physicalOf(t) == 0:
		return fmt.Errorf("%s is no type", t.Kind)
	case !t.Nested():
		return nil
	case depth >= maxDepth:
		return fmt.Errorf("types are nested more than %d deep", maxDepth)
	case t.Kind == schema.Row && len(t.Fields) == 0:
		return fmt.Errorf("a ROW without fields, which Parquet cannot hold")
	case t.Kind != schema.Row && t.Element == nil, t.Kind == schema.Map && t.Key == nil:
		return fmt.Errorf("%s lacks the type of its elements", t.Kind)
	}
	return checkGroup(childFields(t), depth+1)
}
