package key

import (
	"strings"

	"github.com/tributary-lake/tributary/source"
)

// QuoteText is a text literal under an empty sql_mode, where the backslash escapes.
func QuoteText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`, "\x00", `\0`).Replace(s) + "'"
}

// QuoteName is an identifier.
func QuoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

// TableSQL is a shard's name in a statement.
func TableSQL(s source.Shard) string { return QuoteName(s.Database) + "." + QuoteName(s.Table) }
