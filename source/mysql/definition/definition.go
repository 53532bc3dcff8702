package definition

import (
	"strconv"
	"strings"
)

// Type is a column's type text taken apart, such as "decimal(12,2) unsigned".
type Type struct {
	// Base is the type's name in lower case, as information_schema spells it.
	Base string
	// Args are the numbers in parentheses: width, precision and scale, or fraction digits. None for enum and set.
	Args []int
	// Unsigned is true for numbers without a sign.
	Unsigned bool
	// Binary text has no character set, so its bytes are not text.
	Binary bool
}

// Parse takes a definition of [Column.Definition], or a COLUMN_TYPE, apart.
func Parse(text string) Type {
	d := Type{Base: text}
	rest := ""
	if i := strings.IndexAny(text, "( "); i >= 0 {
		d.Base, rest = text[:i], text[i:]
	}
	d.Base = strings.ToLower(d.Base)
	if d.Base == "enum" || d.Base == "set" {
		// What follows are values, which may hold anything.
		d.Binary = !strings.Contains(rest[strings.LastIndexByte(rest, ')')+1:], charsetClause)
		return d
	}
	if strings.HasPrefix(rest, "(") {
		if end := strings.IndexByte(rest, ')'); end > 0 {
			for _, a := range strings.Split(rest[1:end], ",") {
				n, err := strconv.Atoi(strings.TrimSpace(a))
				if err != nil {
					break
				}
				d.Args = append(d.Args, n)
			}
			rest = rest[end+1:]
		}
	}
	d.Unsigned = strings.Contains(rest, "unsigned")
	return d
}

// Arg is the i-th number in parentheses, or the default that the type has without it.
func (d Type) Arg(i, without int) int {
	if i < len(d.Args) {
		return d.Args[i]
	}
	return without
}

// Integer tells whether the type is one of the integers, whose ranges can be cut.
func (d Type) Integer() bool {
	switch d.Base {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		return true
	}
	return false
}

// charsetClause stands before a character set in a definition.
const charsetClause = " character set "

// Column is a column as information_schema describes it.
type Column struct {
	// Name, Type, Extra and Comment are COLUMN_NAME, COLUMN_TYPE, EXTRA and COLUMN_COMMENT.
	Name, Type, Extra, Comment string
	// Charset is empty for what is not text.
	Charset string
	// NotNull is true when IS_NULLABLE is NO.
	NotNull bool
}

// Definition is the text that a plan keeps, and that a reader compares: all that decides how values are read.
func (c Column) Definition() string {
	text := c.Type
	if c.Charset != "" && c.Charset != "binary" {
		text += charsetClause + c.Charset
	}
	if c.NotNull {
		text += " not null"
	}
	switch extra := strings.ToUpper(c.Extra); {
	case strings.Contains(extra, "VIRTUAL GENERATED"):
		text += " virtual"
	case strings.Contains(extra, "STORED GENERATED"), strings.Contains(extra, "PERSISTENT"):
		text += " stored"
	}
	return text
}
