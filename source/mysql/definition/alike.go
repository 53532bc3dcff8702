package definition

import (
	"regexp"
	"strings"
)

var (
	// width is that of an integer, by which nothing but its display is changed; tinyint(1) is more than that, as policies treat it
	// in another way.
	width = regexp.MustCompile(`^(tinyint|smallint|mediumint|int|bigint|year)\(\d+\)`)
	// oldName is the name that servers gave to utf8mb3 until MySQL 8.0.28 and MariaDB 10.6.
	oldName = regexp.MustCompile(`(` + charsetClause + `)utf8( |$)`)
)

// Alike tells whether two definitions of [Column.Definition] are the same, on whatever servers.
func Alike(a, b string) bool { return plain(a) == plain(b) }

func plain(text string) string {
	if !strings.HasPrefix(text, "tinyint(1)") {
		text = width.ReplaceAllString(text, "$1")
	}
	// A value of an ENUM may say the same, but what follows the last parenthesis is no value.
	i := strings.LastIndexByte(text, ')') + 1
	return text[:i] + oldName.ReplaceAllString(text[i:], "${1}utf8mb3$2")
}
