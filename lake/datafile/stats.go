package datafile

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// ColumnStats is what a writer has seen of a column.
type ColumnStats struct {
	Field schema.Field
	// Nulls is the number of nulls.
	Nulls int64
	// Min and Max are the least and the greatest value, both null where there is none or it is not known: no value but nulls,
	// a NaN, BINARY and VARBINARY, timestamps of more than six digits, nested values.
	Min, Max row.Value
	// MinCut and MaxCut tell that only the beginning of a long string is there: enough for statistics that are cut.
	MinCut, MaxCut bool
}

func (c *column) stats() ColumnStats {
	s := ColumnStats{Field: c.field, Nulls: c.nulls, Min: row.NullValue(), Max: row.NullValue()}
	if !c.total.known() {
		return s
	}
	s.Min, s.Max = c.total.values()
	s.Min.B, s.Max.B = slices.Clone(s.Min.B), slices.Clone(s.Max.B)
	s.MinCut, s.MaxCut = c.total.minCut, c.total.maxCut
	return s
}

// checkRange refuses bounds that the type cannot hold: a reader would take them for something else.
func (c *column) checkRange(b *bounds) error {
	if !b.any {
		return nil
	}
	low, high := int64(0), int64(0)
	switch t := c.field.Type; t.Kind {
	case schema.TinyInt:
		low, high = -1<<7, 1<<7-1
	case schema.SmallInt:
		low, high = -1<<15, 1<<15-1
	case schema.Time:
		low, high = 0, millisOfDay-1
	case schema.Decimal:
		if c.physical == asFixed {
			return c.checkFixed(b)
		}
		high = pow10(t.Precision) - 1
		low = -high
	default:
		return nil
	}
	if b.minInt < low || b.maxInt > high {
		return c.rangeError()
	}
	return nil
}

func (c *column) checkFixed(b *bounds) error {
	limit := bigPow10(c.field.Type.Precision)
	if fromTwosComplement(b.minBytes).CmpAbs(limit) >= 0 || fromTwosComplement(b.maxBytes).CmpAbs(limit) >= 0 {
		return c.rangeError()
	}
	return nil
}

// bigPow10 is 10 to the n.
func bigPow10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// fromTwosComplement reads a big-endian number.
func fromTwosComplement(b []byte) *big.Int {
	x := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return x
}

func pow10(n int) int64 {
	x := int64(1)
	for range n {
		x *= 10
	}
	return x
}

// StatsMode is how much of a column's statistics goes into the manifest (`metadata.stats-mode`).
type StatsMode struct {
	kind   statsKind
	length int
}

type statsKind uint8

const (
	statsNone statsKind = iota
	statsCounts
	statsTruncate
	statsFull
)

// ParseStatsMode reads none, counts, full or truncate(n).
func ParseStatsMode(s string) (StatsMode, error) {
	switch mode := strings.ToLower(strings.TrimSpace(s)); mode {
	case "none":
		return StatsMode{kind: statsNone}, nil
	case "counts":
		return StatsMode{kind: statsCounts}, nil
	case "full":
		return StatsMode{kind: statsFull}, nil
	default:
		inner, ok := strings.CutPrefix(mode, "truncate(")
		inner, closed := strings.CutSuffix(inner, ")")
		n, err := strconv.Atoi(strings.TrimSpace(inner))
		if !ok || !closed || err != nil || n < 1 {
			return StatsMode{}, fmt.Errorf("statistics mode %q is none of none, counts, full, truncate(n)", s)
		}
		return StatsMode{kind: statsTruncate, length: n}, nil
	}
}

// StatsModes reads the mode of each column from a table's options: `metadata.stats-mode` (truncate(16) when not set),
// `metadata.stats-keep-first-n-columns` and `fields.<column>.stats-mode`, which goes before both.
func StatsModes(fields []schema.Field, options map[string]string) ([]StatsMode, error) {
	mode, err := ParseStatsMode(option(options, "metadata.stats-mode", "truncate(16)"))
	if err != nil {
		return nil, err
	}
	first, err := strconv.Atoi(option(options, "metadata.stats-keep-first-n-columns", "-1"))
	if err != nil {
		return nil, fmt.Errorf("option metadata.stats-keep-first-n-columns: %w", err)
	}
	modes := make([]StatsMode, len(fields))
	for i, f := range fields {
		modes[i] = mode
		if first >= 0 && i >= first {
			modes[i] = StatsMode{kind: statsNone}
		}
		if own, ok := options["fields."+f.Name+".stats-mode"]; ok {
			if modes[i], err = ParseStatsMode(own); err != nil {
				return nil, fmt.Errorf("column %q: %w", f.Name, err)
			}
		}
	}
	return modes, nil
}

func option(options map[string]string, key, otherwise string) string {
	if v, ok := options[key]; ok {
		return v
	}
	return otherwise
}

// ManifestStats makes the statistics of a data file, with one mode a column, and the names of the columns in them: nil when
// these are all columns. Columns of mode none and nested columns are left out, as `metadata.stats-dense-store` (the default)
// wants it.
func ManifestStats(columns []ColumnStats, modes []StatsMode) (manifest.Stats, []string, error) {
	if len(modes) != len(columns) {
		return manifest.Stats{}, nil, fmt.Errorf("%d statistics modes for %d columns", len(modes), len(columns))
	}
	names := []string{}
	var types []schema.Type
	var low, high []row.Value
	counts := []*int64{}
	for i, c := range columns {
		if modes[i].kind == statsNone || c.Field.Type.Nested() {
			continue
		}
		l, h := modes[i].bounds(c)
		nulls := c.Nulls
		names, types = append(names, c.Field.Name), append(types, c.Field.Type)
		low, high, counts = append(low, l), append(high, h), append(counts, &nulls)
	}
	stats := manifest.Stats{Min: row.Serialize(types, low), Max: row.Serialize(types, high), NullCounts: counts}
	if len(names) == len(columns) {
		names = nil
	}
	return stats, names, nil
}

// bounds are the bounds that the mode keeps of a column.
func (m StatsMode) bounds(c ColumnStats) (low, high row.Value) {
	null := row.NullValue()
	if m.kind == statsCounts || c.Min.Null || c.Max.Null {
		return null, null
	}
	text := c.Field.Type.Kind == schema.Char || c.Field.Type.Kind == schema.VarChar
	if m.kind != statsTruncate || !text {
		if c.MinCut || c.MaxCut {
			return null, null
		}
		return c.Min, c.Max
	}
	minBytes, ok := cutMin(c.Min.B, m.length, c.MinCut)
	if !ok {
		return null, null
	}
	maxBytes, ok := cutMax(c.Max.B, m.length, c.MaxCut)
	if !ok {
		return null, null
	}
	return row.Value{B: minBytes}, row.Value{B: maxBytes}
}

// codePoints returns the first n code points of a string, and whether there are as many and they are sound.
func codePoints(s []byte, n int) (prefix []byte, full, valid bool) {
	at := 0
	for i := 0; i < n; i++ {
		if at == len(s) {
			return s, false, true
		}
		r, size := utf8.DecodeRune(s[at:])
		if r == utf8.RuneError && size <= 1 {
			return nil, false, false
		}
		at += size
	}
	return s[:at], true, true
}

// cutMin cuts a lower bound to n code points. It fails where the string is not UTF-8 or too little of it is known.
func cutMin(s []byte, n int, cut bool) ([]byte, bool) {
	prefix, full, valid := codePoints(s, n)
	return prefix, valid && (full || !cut)
}

// cutMax cuts an upper bound to n code points and, if something was cut off, raises its last code point, or one before that,
// by one. It fails as cutMin, and where no code point can be raised. Java raises U+D7FF to a surrogate, which UTF-8 cannot
// hold; here it becomes U+E000.
func cutMax(s []byte, n int, cut bool) ([]byte, bool) {
	prefix, full, valid := codePoints(s, n)
	if !valid || cut && !full {
		return nil, false
	}
	if len(prefix) == len(s) && !cut {
		return prefix, true
	}
	for len(prefix) > 0 {
		r, size := utf8.DecodeLastRune(prefix)
		prefix = prefix[:len(prefix)-size]
		if r++; r == 0xD800 {
			r = 0xE000
		}
		if r <= utf8.MaxRune {
			return utf8.AppendRune(slices.Clone(prefix), r), true
		}
	}
	return nil, false
}
