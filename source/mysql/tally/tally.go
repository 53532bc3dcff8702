package tally

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
	"github.com/tributary-lake/tributary/source/tally"
)

// Select is what is to be selected of the rows: one text, that Parse reads. Names are quoted by quote.
func Select(outputs []source.Output, quote func(string) string) (string, error) {
	var values []string
	read := false
	for _, o := range outputs {
		if o.Provenance != "" {
			continue
		}
		if o.Column.Name == "" { // the shard lacks it
			values = append(values, "'N'")
			continue
		}
		text := textOf(quote(o.Column.Name), definition.Parse(o.Column.Definition), o)
		if text == "" {
			return "", fmt.Errorf("%w: column %q (%s) as %s: the server has no text of it that could be compared: use verify: checksums",
				source.ErrRefused, o.Column.Name, o.Column.Definition, o.Type)
		}
		values, read = append(values, "IFNULL(CRC32("+text+"), 'N')"), true
	}
	if !read {
		return "", fmt.Errorf("%w: no column is selected", source.ErrRefused)
	}
	number := "CAST(CONV(LEFT(MD5(CONCAT_WS(',', " + strings.Join(values, ", ") + ")), 16), 16, 10) AS UNSIGNED)"
	return "CONCAT(COUNT(*), ' ', COALESCE(SUM(" + number + "), 0))", nil
}

// Without is the condition of rows whose column has not this text, which is as package source/tally has it.
func Without(o source.Output, text string, quote func(string) string) string {
	column := textOf(quote(o.Column.Name), definition.Parse(o.Column.Definition), o)
	return fmt.Sprintf("NOT (CAST(%s AS BINARY) <=> X'%x')", column, text)
}

// Parse reads what the server answers.
func Parse(text string) (tally.Sum, error) {
	var s tally.Sum
	var sum big.Int
	if n, err := fmt.Sscan(text, &s.Rows, &sum); n != 2 {
		return s, fmt.Errorf("the server's sum of rows is %q: %w", text, err)
	}
	s.Sum = new(big.Int).And(&sum, new(big.Int).SetUint64(^uint64(0))).Uint64()
	return s, nil
}

// textOf is the expression of a column's text, empty for none.
func textOf(name string, d definition.Type, o source.Output) string {
	switch d.Base {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		if o.Type.Kind == schema.Decimal {
			return decimal(name+" + 0", o.Type)
		}
		return name + " + 0" // without the zeros of ZEROFILL
	case "decimal":
		if o.Type.Kind == schema.Decimal {
			return decimal(name, o.Type)
		}
		return "CAST(" + name + " AS CHAR)"
	case "float", "double":
		return name + " * 1e0" // which keeps a negative zero, and no number of digits
	case "bit":
		if o.Type.Kind == schema.Boolean {
			return name + " + 0"
		}
		return fmt.Sprintf("UNHEX(LPAD(HEX(%s), %d, '0'))", name, (d.Arg(0, 1)+7)/8*2)
	case "date", "datetime", "timestamp":
		return dated(name, d, o.Column.ZeroDate)
	case "time":
		if o.Type.Kind == schema.Time {
			return fraction(name, d, len("12:34:56.789"))
		}
		return "CAST(" + name + " AS CHAR)"
	}
	return bytesOf(name, d)
}

// bytesOf is the expression of what is read as text or as bytes.
func bytesOf(name string, d definition.Type) string {
	switch d.Base {
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection":
		return "UNHEX(SUBSTR(HEX(" + name + "), 9))" // behind the SRID
	case "enum", "set":
		if d.Binary {
			return name
		}
		return utf8(name)
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json":
		return utf8(name)
	case "uuid", "inet4", "inet6":
		return "CAST(" + name + " AS CHAR)"
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return name
	}
	return ""
}

func utf8(name string) string { return "CONVERT(" + name + " USING utf8mb4)" }

func decimal(value string, t schema.Type) string {
	return fmt.Sprintf("CAST(CAST(%s AS DECIMAL(%d,%d)) AS CHAR)", value, t.Precision, t.Scale)
}

// fraction is a time with as many digits behind the point as fill so many characters.
func fraction(name string, d definition.Type, length int) string {
	text := "CAST(" + name + " AS CHAR)"
	if d.Arg(0, 0) == 0 {
		text = "CONCAT(" + text + ", '.')"
	}
	return fmt.Sprintf("RPAD(%s, %d, '0')", text, length)
}

// dated is a date, perhaps with a time, after the policy for those that do not exist. It goes by their text: functions of dates
// make NULL of some of them, each server of others, and IS NULL is true of 0000-00-00.
func dated(name string, d definition.Type, policy source.ZeroDate) string {
	text, epoch := "CAST("+name+" AS CHAR)", "1970-01-01"
	whole := text
	if d.Base != "date" {
		whole, epoch = fraction(name, d, len("2024-02-29 12:34:56.789012")), epoch+" 00:00:00.000000"
	}
	instead := "NULL"
	switch policy {
	case source.ZeroDateNull:
	case source.ZeroDateEpoch:
		instead = "'" + epoch + "'"
	default:
		return whole // the read has ended at the first that does not exist
	}
	year, month, day := "LEFT("+text+", 4)", "SUBSTR("+text+", 6, 2)", "SUBSTR("+text+", 9, 2)"
	leap := fmt.Sprintf("(%s %% 4 = 0 AND (%s %% 100 <> 0 OR %s %% 400 = 0))", year, year, year)
	last := fmt.Sprintf("ELT(%s + 0, '31', IF(%s, '29', '28'), '31', '30', '31', '30', '31', '31', '30', '31', '30', '31')", month, leap)
	return fmt.Sprintf("CASE WHEN %s IS NULL THEN NULL WHEN %s BETWEEN '01' AND '12' AND %s BETWEEN '01' AND %s THEN %s ELSE %s END",
		text, month, day, last, whole, instead)
}
