package key

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
)

// form is how a column's values are written so that MySQL compares them as they are, without converting the column.
type form int

const (
	noForm     form = iota
	formNumber      // decimal digits, which MySQL parses exactly: integers to 64 bits, others as DECIMAL
	formQuoted      // MySQL's own text: dates and times in UTC, and MariaDB's uuid and inet types
	formText        // the column's own bytes in its own character set and collation
	formBytes       // bytes
)

// formOf is the form of a type's literals; noForm for a type whose values do not sort as any literal of it compares:
// ENUM and SET sort by number but compare as text, FLOAT and DOUBLE are not printed exactly, BIT prints as bytes.
func formOf(d definition.Type) form {
	switch d.Base {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year":
		return formNumber
	case "date", "datetime", "timestamp", "time", "uuid", "inet4", "inet6":
		return formQuoted
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return formText
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return formBytes
	}
	return noForm
}

// Column is a column that a shard is cut by.
type Column struct {
	Name string
	Kind definition.Type
	// Collation of text, which names its character set too.
	Collation string
	Nullable  bool
}

// Integer tells whether ranges of the column can be computed.
func (c Column) Integer() bool { return c.Kind.Integer() }

// Expression prints the column's value exactly: text and bytes as hexadecimal digits.
func (c Column) Expression() string {
	switch formOf(c.Kind) {
	case formText, formBytes:
		return "HEX(" + QuoteName(c.Name) + ")"
	case formNumber, formQuoted, noForm:
	}
	return QuoteName(c.Name)
}

// Literal is a printed value as SQL. A bound need not be a value of the table: dates that the calendar lacks, which
// MySQL stores but does not compare, become the next that it has.
func (c Column) Literal(printed string) (string, error) {
	out := ""
	switch formOf(c.Kind) {
	case formNumber:
		out = printed
	case formQuoted:
		out = "'" + onCalendar(printed) + "'"
	case formText:
		charset, _, _ := strings.Cut(c.Collation, "_")
		out = "_" + charset + " X'" + printed + "' COLLATE " + c.Collation
	case formBytes:
		out = "_binary X'" + printed + "'"
	case noForm:
	}
	if !literalShape.MatchString(out) {
		return "", fmt.Errorf("the value %.200q of key column %q is not one of %s", printed, c.Name, c.Kind.Base)
	}
	return out, nil
}

// literalShape are the literals that bounds may be; a plan is no way to inject SQL.
var literalShape = regexp.MustCompile(`^(?:-?[0-9]{1,255}(?:\.[0-9]{1,38})?|'[0-9A-Fa-f:. -]{1,64}'|_[a-z0-9]{1,64} X'(?:[0-9A-F][0-9A-F])*'(?: COLLATE [a-z0-9_]{1,64})?)$`)

// onCalendar moves a time on a day beyond its month's end to the beginning of the next month. Zero days and months stay.
func onCalendar(text string) string {
	if len(text) < 10 || text[4] != '-' || text[7] != '-' {
		return text
	}
	year, e1 := strconv.Atoi(text[:4])
	month, e2 := strconv.Atoi(text[5:7])
	day, e3 := strconv.Atoi(text[8:10])
	if e1 != nil || e2 != nil || e3 != nil || month < 1 || month > 11 || day <= time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return text
	}
	return fmt.Sprintf("%04d-%02d-01", year, month+1)
}

// Condition is a key range as a condition. What both bounds begin with is an equation, so that a range within one value of
// the leading columns uses the rest of the index too.
func Condition(k source.KeyRange) (string, error) {
	if len(k.Columns) == 0 {
		return "", fmt.Errorf("a key range without columns")
	}
	names := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		names[i] = QuoteName(c)
	}
	if k.Null {
		return names[0] + " IS NULL", nil
	}
	switch {
	case len(k.Upper) > 0:
	case len(k.Lower) > 0:
		return conditionAbove(names, k)
	case k.Nullable:
		return names[0] + " IS NOT NULL", nil
	}
	if len(k.Upper) != len(names) || len(k.Lower) != 0 && len(k.Lower) != len(names) {
		return "", fmt.Errorf("bounds of %d and %d values for key columns %q", len(k.Lower), len(k.Upper), k.Columns)
	}
	if err := checkLiterals(k); err != nil {
		return "", err
	}
	return Between(names, k.Lower, k.Upper, "<="), nil
}

// conditionAbove is that of a range without an upper bound.
func conditionAbove(names []string, k source.KeyRange) (string, error) {
	if len(k.Lower) != len(names) {
		return "", fmt.Errorf("a bound of %d values for key columns %q", len(k.Lower), k.Columns)
	}
	if err := checkLiterals(k); err != nil {
		return "", err
	}
	return Between(names, k.Lower, nil, ""), nil
}

func checkLiterals(k source.KeyRange) error {
	for _, bound := range [][]string{k.Lower, k.Upper} {
		for i, l := range bound {
			if !literalShape.MatchString(l) {
				return fmt.Errorf("bound %.200q of key column %q is no literal", l, k.Columns[i])
			}
		}
	}
	return nil
}

// Between is the condition for keys above lower, if there is one, and below upper, if there is one, or with <= at it.
// Names are quoted.
func Between(names, lower, upper []string, end string) string {
	var all []string
	if lower != nil && upper != nil {
		for len(names) > 1 && lower[0] == upper[0] {
			all = append(all, names[0]+" = "+lower[0])
			names, lower, upper = names[1:], lower[1:], upper[1:]
		}
	}
	if len(lower) > 0 {
		all = append(all, beyond(names, lower, ">", ">"))
	}
	if len(upper) > 0 {
		all = append(all, beyond(names, upper, "<", end))
	}
	return strings.Join(all, " AND ")
}

// beyond compares a row value with a bound, written so that MySQL uses an index over the columns for all of them.
func beyond(names, bound []string, order, last string) string {
	if len(names) == 1 {
		return names[0] + " " + last + " " + bound[0]
	}
	return fmt.Sprintf("%[1]s %[2]s= %[3]s AND (%[1]s %[2]s %[3]s OR (%[1]s = %[3]s AND %[4]s))",
		names[0], order, bound[0], beyond(names[1:], bound[1:], order, last))
}
