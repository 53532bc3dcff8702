package partition

import (
	"strings"
	"unicode/utf8"
)

// replaceMalformed is what Java makes of bytes that are no UTF-8: a replacement character for each malformed part, of up to
// three bytes, where Go has one for each byte (java.lang.String(byte[], Charset), by which Paimon's BinaryString falls back).
func replaceMalformed(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			n = malformed(text)
		}
		b.WriteRune(r)
		text = text[n:]
	}
	return b.String()
}

// malformed is the number of bytes of the malformed part at the start of a text. To Java a half of a surrogate pair is one
// part, like the start of a longer character that is cut off.
func malformed(text string) int {
	at := func(i int, from, to byte) bool { return i < len(text) && from <= text[i] && text[i] <= to }
	first, low, high := text[0], byte(0x80), byte(0xbf)
	switch first {
	case 0xe0:
		low = 0xa0
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	if first < 0xe0 || first > 0xf4 || !at(1, low, high) {
		return 1
	}
	if !at(2, 0x80, 0xbf) {
		return 2
	}
	return 3
}
