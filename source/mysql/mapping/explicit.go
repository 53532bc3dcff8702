package mapping

import (
	"fmt"

	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
)

// explicit gives a mapped column the type that the configuration asks for, or refuses it. The loss is that of the mapping,
// which an explicit type can heal.
func explicit(out *source.Column, d definition.Type, c definition.Column, asked schema.Type, loss *source.Loss) *source.Loss {
	policy := "columns: {type: " + asked.String() + "}"
	refuse := func(format string, args ...any) *source.Loss {
		return &source.Loss{What: fmt.Sprintf(format, args...), Policy: policy, Refused: true}
	}
	nullable := !c.NotNull || out.ZeroDate == source.ZeroDateNull
	if asked.NotNull && nullable {
		return refuse("%s may be NULL, which %s cannot hold", out.Definition, asked)
	}
	if loss != nil && loss.Refused && d.Base != "decimal" {
		return loss
	}
	natural := out.Type
	if d.Base == "decimal" {
		natural = schema.StringType() // as one of too many digits is, whatever the policy for it
		if precision, scale := d.Arg(0, 10), d.Arg(1, 0); precision <= schema.MaxPrecision {
			natural = schema.DecimalType(precision, scale)
		}
	}
	natural.NotNull, asked.NotNull = false, false
	if !holds(d, natural, asked) {
		return refuse("%s cannot become %s, because values would be changed: take another type, or none", out.Definition, asked)
	}
	if !schema.Equal(natural, asked) || d.Base == "decimal" {
		out.Form = ""
	}
	out.Type = asked
	if d.Base == "decimal" {
		return nil
	}
	return loss
}

// holds tells whether values of a definition, which by the rules become type natural, can be of the type that is asked for
// as they are: all of them, or each that is read, because the reader looks at each.
func holds(d definition.Type, natural, asked schema.Type) bool {
	if t, ok := source.CommonType(natural, asked); ok && schema.Equal(t, asked) {
		return true
	}
	switch asked.Kind {
	case schema.TinyInt, schema.SmallInt, schema.Int, schema.BigInt:
		return d.Integer() || d.Base == "year"
	case schema.Boolean:
		return d.Base == "tinyint" && !d.Unsigned
	case schema.Decimal:
		return d.Base == "decimal"
	case schema.Time:
		return d.Base == "time"
	case schema.Char, schema.VarChar:
		return holdsText(d, asked)
	case schema.Binary, schema.VarBinary:
		return holdsBytes(d, asked)
	default:
		return false
	}
}

// holdsText: text by its length, and numbers and times as the text of their digits.
func holdsText(d definition.Type, asked schema.Type) bool {
	if d.Integer() || d.Base == "year" || d.Base == "decimal" || d.Base == "time" {
		return asked.Kind == schema.VarChar && asked.Length == schema.MaxLength
	}
	longest := map[string]int{"char": d.Arg(0, 1), "varchar": d.Arg(0, 0), "tinytext": 1<<8 - 1, "text": 1<<16 - 1, "mediumtext": 1<<24 - 1}
	n, ok := longest[d.Base]
	return ok && n <= asked.Length && (asked.Kind == schema.VarChar || d.Base == "char")
}

// holdsBytes: BINARY holds only values of just its length.
func holdsBytes(d definition.Type, asked schema.Type) bool {
	longest := map[string]int{
		"binary": d.Arg(0, 1), "bit": (d.Arg(0, 1) + 7) / 8, "varbinary": d.Arg(0, 0),
		"tinyblob": 1<<8 - 1, "blob": 1<<16 - 1, "mediumblob": 1<<24 - 1,
	}
	n, ok := longest[d.Base]
	if d.Base == "bit" && d.Arg(0, 1) == 1 {
		return false // a BOOLEAN
	}
	if asked.Kind == schema.Binary {
		return n == asked.Length && (d.Base == "binary" || d.Base == "bit")
	}
	return ok && n <= asked.Length
}
