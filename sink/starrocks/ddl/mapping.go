package ddl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/lake/schema"
)

// Column is a column on its way to StarRocks.
type Column struct {
	Name string
	// Type is that of the rows that are sent.
	Type schema.Type
	// Definitions are the source's, such as "varchar(20)", of every shard that has the column; none where nothing is known.
	Definitions []string
	Comment     string
}

// Mapped is what a column becomes.
type Mapped struct {
	// Type in SQL, without NOT NULL.
	Type string
	// Limit is the number of bytes above which a value that the source allows is refused by the load, 0 where there is none.
	Limit int
	// Note says what a reader should know, empty where nothing changes.
	Note string
}

const (
	// maxBytes is the longest VARCHAR and VARBINARY.
	maxBytes = 1 << 20
	// perCharacter is the longest UTF-8 of a character of MySQL's; a byte of another character set becomes no more either.
	perCharacter = 4
	// timeText is the length of MySQL's longest TIME: -838:59:59.000000.
	timeText = 17
)

// Map returns what a column becomes, or why it cannot be.
func Map(c Column) (Mapped, error) {
	t := c.Type
	switch t.Kind {
	case schema.Boolean, schema.TinyInt, schema.SmallInt, schema.Int, schema.BigInt, schema.Float, schema.Double, schema.Date:
		return Mapped{Type: t.Kind.String()}, nil
	case schema.Decimal:
		if t.Precision == 20 && t.Scale == 0 && every(c.Definitions, unsignedBig) {
			return Mapped{Type: "LARGEINT"}, nil
		}
		return Mapped{Type: fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)}, nil
	case schema.Char, schema.VarChar:
		longest, known := bytesOf(c.Definitions, textBytes)
		if t.Length != schema.MaxLength {
			longest, known = t.Length*perCharacter, true
		}
		return bounded("VARCHAR", longest, known), nil
	case schema.Binary, schema.VarBinary:
		longest, known := bytesOf(c.Definitions, binaryBytes)
		if t.Length != schema.MaxLength {
			longest, known = t.Length, true
		}
		return bounded("VARBINARY", longest, known), nil
	case schema.Time:
		return Mapped{Type: fmt.Sprintf("VARCHAR(%d)", timeText), Note: "StarRocks has no TIME: it is text"}, nil
	case schema.Timestamp, schema.TimestampLTZ:
		if t.Precision > 6 {
			break
		}
		m := Mapped{Type: "DATETIME"}
		if t.Kind == schema.TimestampLTZ {
			m.Note = "StarRocks' DATETIME has no time zone: it is UTC"
		}
		return m, nil
	case schema.Array, schema.Map, schema.Multiset, schema.Row:
	}
	return Mapped{}, fmt.Errorf("column %q: %s has no counterpart in StarRocks", c.Name, t)
}

// bounded is a type of so many bytes at most, or as many as there can be.
func bounded(name string, longest int, known bool) Mapped {
	if known && longest <= maxBytes {
		return Mapped{Type: fmt.Sprintf("%s(%d)", name, max(longest, 1))}
	}
	return Mapped{
		Type: fmt.Sprintf("%s(%d)", name, maxBytes), Limit: maxBytes,
		Note: fmt.Sprintf("a value of more than %d bytes is refused", maxBytes),
	}
}

var definition = regexp.MustCompile(`(?i)^([a-z0-9]+)(?:\((\d+)(?:,\s*\d+)?\))?(.*)$`)

// apart is a definition's name in lower case, its first number, -1 for none, and the rest.
func apart(text string) (base string, n int, rest string) {
	m := definition.FindStringSubmatch(text)
	if m == nil {
		return "", -1, ""
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		n = -1
	}
	return strings.ToLower(m[1]), n, strings.ToLower(m[3])
}

func unsignedBig(text string) bool {
	base, _, rest := apart(text)
	return base == "bigint" && strings.HasPrefix(rest, " unsigned")
}

func every(definitions []string, is func(string) bool) bool {
	for _, d := range definitions {
		if !is(d) {
			return false
		}
	}
	return len(definitions) > 0
}

// bytesOf is the largest of what the definitions allow; known is false when one of them does not tell.
func bytesOf(definitions []string, of func(base string, n int) (int, bool)) (longest int, known bool) {
	for _, d := range definitions {
		base, n, _ := apart(d)
		b, ok := of(base, n)
		if !ok {
			return 0, false
		}
		longest = max(longest, b)
	}
	return longest, len(definitions) > 0
}

// textBytes is how many bytes of UTF-8 a column of text may have, and of numbers that became text.
func textBytes(base string, n int) (int, bool) {
	switch base {
	case "char", "varchar":
		if n < 0 {
			n = 1
		}
		return n * perCharacter, true
	case "tinytext":
		return (1<<8 - 1) * perCharacter, true
	case "text":
		return (1<<16 - 1) * perCharacter, true
	case "enum":
		return 255 * perCharacter, true
	case "set":
		return 64 * 256 * perCharacter, true // so many members, so long, with commas
	case "decimal":
		return max(n, 10) + 3, true // a sign, a point and a zero before it
	case "time":
		return timeText, true
	case "tinyint", "smallint", "mediumint", "int", "bigint", "year":
		return 20, true // -9223372036854775808 and 18446744073709551615
	case "uuid":
		return 36, true
	case "inet4", "inet6":
		return 45, true
	}
	return 0, false
}

func binaryBytes(base string, n int) (int, bool) {
	switch base {
	case "binary", "varbinary":
		if n < 0 {
			n = 1
		}
		return n, true
	case "tinyblob":
		return 1<<8 - 1, true
	case "blob":
		return 1<<16 - 1, true
	case "bit":
		return 8, true
	case "enum", "set":
		return textBytes(base, n)
	}
	return 0, false
}
