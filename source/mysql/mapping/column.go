package mapping

import (
	"fmt"
	"strings"

	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
)

// The names of policies in losses and in the counts of values that they changed.
const (
	// GeometryWKB drops the SRID of geometries.
	GeometryWKB = "geometry: wkb"
	// ZeroDateNull makes dates that do not exist NULL.
	ZeroDateNull = "zero_date: null"
	// ZeroDateEpoch makes them 1970-01-01 00:00:00.
	ZeroDateEpoch = "zero_date: epoch"
)

// Column maps a column. The loss is nil when every value arrives as it is, or the read fails.
func (p Policy) Column(c definition.Column) (source.Column, *source.Loss) {
	out := source.Column{Name: c.Name, Definition: c.Definition(), Comment: c.Comment}
	d := definition.Parse(out.Definition)
	var loss *source.Loss
	switch d.Base {
	case "date", "datetime", "timestamp":
		out.Type = temporalType(d)
		loss = p.zeroDate(&out)
	case "decimal":
		out.Type, loss = p.decimal(d)
		if out.Type.Kind == schema.VarChar {
			out.Form = source.FormDecimal
		}
	case "tinyint":
		out.Type = integerType(d)
		if p.TinyInt1 == TinyInt1Boolean && !d.Unsigned && d.Arg(0, 4) == 1 {
			out.Type = schema.Of(schema.Boolean)
		}
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
		"geometrycollection", "geomcollection":
		out.Type, out.Form = schema.BytesType(), "WKB"
		loss = &source.Loss{What: "the SRID of each value is not kept, only its WKB", Policy: GeometryWKB}
	case "time":
		if out.Type = schema.StringType(); p.Time == TimeOfDay {
			out.Type = schema.Type{Kind: schema.Time, Precision: d.Arg(0, 0)}
		}
	case "bit":
		if out.Type = schema.Of(schema.Boolean); d.Arg(0, 1) > 1 {
			out.Type, out.Form = schema.BytesType(), fmt.Sprintf("BIT of %d bytes", (d.Arg(0, 1)+7)/8)
		}
	default:
		var ok bool
		if out.Type, ok = plainType(d); !ok {
			loss = &source.Loss{What: fmt.Sprintf("the type %q is not supported: leave the column out with columns", c.Type), Refused: true}
		}
	}
	if asked, ok := p.Types[strings.ToLower(c.Name)]; ok {
		loss = explicit(&out, d, c, asked, loss)
	}
	if loss != nil {
		loss.Column = c.Name
	}
	// A policy may have made it nullable: then NOT NULL of the source does not hold in the target.
	out.Type.NotNull = c.NotNull && out.ZeroDate != source.ZeroDateNull
	return out, loss
}

func (p Policy) zeroDate(c *source.Column) *source.Loss {
	z := p.ZeroDate
	if own, ok := p.ZeroDateColumns[strings.ToLower(c.Name)]; ok {
		z = own
	}
	switch z {
	case source.ZeroDateNull:
		c.ZeroDate = z
		return &source.Loss{What: "dates that do not exist become NULL", Policy: ZeroDateNull}
	case source.ZeroDateEpoch:
		c.ZeroDate = z
		return &source.Loss{What: "dates that do not exist become 1970-01-01 00:00:00", Policy: ZeroDateEpoch}
	case source.ZeroDateFail:
	}
	return nil
}

func (p Policy) decimal(d definition.Type) (schema.Type, *source.Loss) {
	precision, scale := d.Arg(0, 10), d.Arg(1, 0)
	if precision <= schema.MaxPrecision {
		return schema.DecimalType(precision, scale), nil
	}
	if p.DecimalOverflow == DecimalString {
		return schema.StringType(), nil
	}
	return schema.Type{}, &source.Loss{
		What:    fmt.Sprintf("DECIMAL(%d,%d) has more than %d digits: set types.decimal_overflow to string, or leave the column out with columns", precision, scale, schema.MaxPrecision),
		Policy:  "decimal_overflow: fail",
		Refused: true,
	}
}

// temporalType keeps the number of fraction digits.
func temporalType(d definition.Type) schema.Type {
	switch d.Base {
	case "datetime":
		return schema.Type{Kind: schema.Timestamp, Precision: d.Arg(0, 0)}
	case "timestamp":
		return schema.Type{Kind: schema.TimestampLTZ, Precision: d.Arg(0, 0)}
	}
	return schema.Of(schema.Date)
}

// integerType is the type that holds all values: unsigned ones take the next wider.
func integerType(d definition.Type) schema.Type {
	kinds := map[string][2]schema.Kind{
		"tinyint":   {schema.TinyInt, schema.SmallInt},
		"smallint":  {schema.SmallInt, schema.Int},
		"mediumint": {schema.Int, schema.Int},
		"int":       {schema.Int, schema.BigInt},
		"bigint":    {schema.BigInt, schema.Decimal},
	}
	pair := kinds[d.Base]
	if !d.Unsigned {
		return schema.Of(pair[0])
	}
	if pair[1] == schema.Decimal {
		return schema.DecimalType(20, 0)
	}
	return schema.Of(pair[1])
}

// plainType maps the types that no policy concerns.
func plainType(d definition.Type) (schema.Type, bool) {
	switch d.Base {
	case "smallint", "mediumint", "int", "bigint":
		return integerType(d), true
	case "year":
		return schema.Of(schema.Int), true
	case "float":
		return schema.Of(schema.Float), true
	case "double":
		return schema.Of(schema.Double), true
	case "enum", "set":
		if d.Binary {
			return schema.BytesType(), true
		}
		return schema.StringType(), true
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json", "uuid", "inet4", "inet6":
		return schema.StringType(), true
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return schema.BytesType(), true
	}
	return schema.Type{}, false
}
