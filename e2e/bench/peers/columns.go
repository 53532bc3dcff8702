package peers

import (
	"fmt"
	"strings"
)

// Column is one of a table in MySQL.
type Column struct {
	Name string
	// Type is as information_schema.columns.column_type has it, such as `int(10) unsigned`.
	Type string
}

// base is the type's first word, such as int.
func (c Column) base() string {
	return c.Type[:len(c.Type)-len(strings.TrimLeft(c.Type, "abcdefghijklmnopqrstuvwxyz"))]
}

// digits is what stands in parentheses, or empty.
func (c Column) digits() string {
	_, rest, _ := strings.Cut(c.Type, "(")
	inside, _, _ := strings.Cut(rest, ")")
	return inside
}

// View is the statement that makes the view that the tools read of a table.
func View(table string, columns []Column) string {
	items := make([]string, len(columns))
	for i, c := range columns {
		switch name := "`" + c.Name + "`"; c.base() {
		case "time":
			items[i] = "CAST(" + name + " AS CHAR(20)) AS " + name
		case "bit", "year":
			items[i] = name + "+0 AS " + name
		default:
			items[i] = name
		}
	}
	return fmt.Sprintf("CREATE OR REPLACE VIEW %s AS SELECT %s FROM %s", ViewName(table), strings.Join(items, ", "), table)
}

// ViewName is the name of the view of a table.
func ViewName(table string) string { return "peers_" + table }

// flinkType is the type by which Flink's JDBC connector reads a column of the view.
func (c Column) flinkType() (string, error) {
	unsigned := strings.Contains(c.Type, "unsigned")
	switch base := c.base(); base {
	case "tinyint":
		if c.digits() == "1" {
			return "BOOLEAN", nil // Connector/J's tinyInt1isBit
		}
		return wider(unsigned, "TINYINT", "SMALLINT"), nil
	case "smallint":
		return wider(unsigned, "SMALLINT", "INT"), nil
	case "mediumint":
		return "INT", nil
	case "int":
		return wider(unsigned, "INT", "BIGINT"), nil
	case "bigint":
		return wider(unsigned, "BIGINT", "DECIMAL(20, 0)"), nil
	case "decimal":
		return "DECIMAL(" + c.digits() + ")", nil
	case "float", "double", "date":
		return strings.ToUpper(base), nil
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json", "enum", "set", "time":
		return "STRING", nil
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return "BYTES", nil
	case "datetime", "timestamp":
		precision := c.digits()
		if precision == "" {
			precision = "0"
		}
		return "TIMESTAMP(" + precision + ")", nil
	case "bit", "year":
		return "BIGINT", nil
	}
	return "", fmt.Errorf("column %s: no type of Flink is known for %s", c.Name, c.Type)
}

func wider(unsigned bool, signed, other string) string {
	if unsigned {
		return other
	}
	return signed
}
