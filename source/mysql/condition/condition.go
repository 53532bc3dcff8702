package condition

import (
	"fmt"
	"strings"

	"github.com/tributary-lake/tributary/source"
)

// Check refuses a condition that would not stay within the brackets that a query puts around it: one that closes
// a bracket it did not open could be joined to the split's range by its own OR, and every split would read the whole
// shard. The text is otherwise left to the server.
func Check(where string) error {
	refuse := func(what string) error {
		return fmt.Errorf("%w: where: %s: write one condition, as it would stand after WHERE: %.200q", source.ErrRefused, what, where)
	}
	depth := 0
	for i := 0; i < len(where); i++ {
		rest := where[i:]
		switch c := where[i]; {
		case c == '\'' || c == '"' || c == '`':
			n := quotedLength(rest)
			if n == 0 {
				return refuse("a quote is not closed")
			}
			i += n - 1
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return refuse("a bracket is closed that was not opened")
			}
		case c == ';':
			return refuse("a semicolon ends the statement")
		case strings.HasPrefix(rest, "/*"):
			return refuse("a comment in /* */ is not allowed, since some are carried out")
		case c == '#' || strings.HasPrefix(rest, "--") && (len(rest) == 2 || rest[2] <= ' '):
			i += lineLength(rest) - 1
		}
	}
	if depth > 0 {
		return refuse("a bracket is not closed")
	}
	return nil
}

// lineLength is the length of a line with its end, or of what is left.
func lineLength(text string) int {
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return n + 1
	}
	return len(text)
}

// quotedLength is the length of the quoted text at the beginning, 0 when it does not end. A backslash escapes within ' and
// ", since sessions have no NO_BACKSLASH_ESCAPES; a doubled quote reads here as two texts, which comes to the same.
func quotedLength(text string) int {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return 0
}
