package starrocks

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxLabel is the length of the longest label (FeNameFormat.LABEL_REGEX).
const maxLabel = 128

// Label makes a label of names, such as job, run, table, unit and attempt: what can be read of them, and a hash that keeps
// apart what looks alike. The same names give the same label, on every machine.
func Label(names ...string) string {
	h := sha256.New()
	var text strings.Builder
	for _, n := range names {
		h.Write([]byte(strconv.Itoa(len(n)) + ":" + n))
		text.WriteString(strings.Map(plainLetter, n))
		text.WriteByte('_')
	}
	const hashed = 20
	readable := text.String()
	if most := maxLabel - hashed; len(readable) > most {
		readable = readable[:most]
	}
	return readable + hex.EncodeToString(h.Sum(nil))[:hashed]
}

// plainLetter keeps what a label may hold. A hyphen may be in one too, by the sources, not by the manual.
func plainLetter(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
		return r
	}
	return '_'
}
