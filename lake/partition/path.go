package partition

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Naming is what a table's options say of directory names.
type Naming struct {
	// Legacy chooses Java's toString of the internal value, Paimon's default: a DATE is its number of days since 1970.
	// Otherwise values are cast to STRING.
	Legacy bool
	// DefaultName is the directory of null, empty and blank values.
	DefaultName string
	// Zone is in which TIMESTAMP_LTZ is printed when Legacy is false: that of the JVMs that read the table. Nil is UTC.
	Zone *time.Location
}

// NamingOf returns the naming of a table with these options, in UTC.
func NamingOf(o schema.Options) Naming {
	return Naming{Legacy: o.PartitionLegacyName, DefaultName: o.PartitionDefaultName}
}

// Path is the directory of a partition below the table's, such as "dt=2024-01-01/hour=7", without a slash behind it; empty
// when there are no keys. There must be as many types and values as keys.
func Path(keys []string, types []schema.Type, values []row.Value, n Naming) string {
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteByte('/')
		}
		escape(&b, key)
		b.WriteByte('=')
		escape(&b, n.value(types[i], values[i]))
	}
	return b.String()
}

// value is the text of a value before escaping.
func (n Naming) value(t schema.Type, v row.Value) string {
	if v.Null {
		return n.DefaultName
	}
	text := n.cast(t, v)
	if n.Legacy {
		text = legacyText(t, v)
	}
	text = replaceMalformed(text)
	if blank(text) {
		return n.DefaultName
	}
	return text
}

// escape writes the text as PartitionPathUtils.escapePathName: characters that mean something in a path or URI as % and two
// hexadecimal digits, all others raw, blanks and everything beyond ASCII among them.
func escape(b *strings.Builder, text string) {
	for i := range len(text) {
		c := text[i]
		if c < ' ' || strings.IndexByte("\x7f\"#%'*/:=?\\{}[]^", c) >= 0 {
			fmt.Fprintf(b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
}

// blank tells whether Java's Character.isWhitespace holds for all of the text; no-break spaces are none there.
func blank(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool {
		switch {
		case r >= '\t' && r <= '\r' || r >= 0x1c && r <= 0x1f:
			return true
		case r == 0x85 || r == 0xa0 || r == 0x2007 || r == 0x202f:
			return false
		}
		return unicode.In(r, unicode.Z)
	}) == ""
}
