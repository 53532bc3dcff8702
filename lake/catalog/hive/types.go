package hive

import (
	"fmt"
	"strings"

	"github.com/tributary-lake/tributary/lake/schema"
)

const (
	// maxChar and maxVarChar are the longest of Hive; longer ones are shown as string.
	maxChar    = 255
	maxVarChar = 65535
)

// typeName is Hive's name of a type, as HiveTypeUtils has it for Hive 3.
func typeName(t schema.Type) string {
	switch t.Kind {
	case schema.Boolean, schema.TinyInt, schema.SmallInt, schema.Int, schema.BigInt, schema.Float, schema.Double, schema.Date:
		return plainName(t.Kind)
	case schema.Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case schema.Char:
		if t.Length <= maxChar {
			return fmt.Sprintf("char(%d)", t.Length)
		}
		return "string"
	case schema.VarChar:
		if t.Length <= maxVarChar {
			return fmt.Sprintf("varchar(%d)", t.Length)
		}
		return "string"
	case schema.Time:
		return "string"
	case schema.Binary, schema.VarBinary:
		return "binary"
	case schema.Timestamp:
		return "timestamp"
	case schema.TimestampLTZ:
		return "timestamp with local time zone"
	case schema.Array:
		return "array<" + typeName(*t.Element) + ">"
	case schema.Map:
		return "map<" + typeName(*t.Key) + "," + typeName(*t.Element) + ">"
	case schema.Multiset:
		return "map<" + typeName(*t.Element) + ",int>"
	case schema.Row:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = f.Name + ":" + typeName(f.Type)
		}
		return "struct<" + strings.Join(fields, ",") + ">"
	}
	return "string"
}

func plainName(k schema.Kind) string {
	return map[schema.Kind]string{
		schema.Boolean: "boolean", schema.TinyInt: "tinyint", schema.SmallInt: "smallint", schema.Int: "int",
		schema.BigInt: "bigint", schema.Float: "float", schema.Double: "double", schema.Date: "date",
	}[k]
}
