package lake

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/schema"
)

// draw makes random schemas and rows. Values are made as their canonical text, from what the types allow by definition, so
// that they owe nothing to this library.
type draw struct{ *rand.Rand }

func (d draw) one(of ...string) string { return of[d.IntN(len(of))] }

// in tells whether an event of that chance, in percent, happens.
func (d draw) in(percent int) bool { return d.IntN(100) < percent }

// atomic is a type that is not nested.
func (d draw) atomic() schema.Type {
	kinds := []schema.Kind{
		schema.Boolean, schema.TinyInt, schema.SmallInt, schema.Int, schema.BigInt, schema.Float, schema.Double, schema.Decimal, schema.Decimal,
		schema.Char, schema.VarChar, schema.VarChar, schema.Binary, schema.VarBinary, schema.Date, schema.Time, schema.Timestamp, schema.TimestampLTZ,
	}
	t := schema.Type{Kind: kinds[d.IntN(len(kinds))], NotNull: d.in(20)}
	switch t.Kind {
	case schema.Decimal:
		t.Precision = 1 + d.IntN(38)
		t.Scale = d.IntN(t.Precision + 1)
	case schema.Char, schema.Binary:
		t.Length = 1 + d.IntN(30)
	case schema.VarChar, schema.VarBinary:
		t.Length = 1 + d.IntN(60)
		if d.in(60) {
			t.Length = schema.StringType().Length
		}
	case schema.Time, schema.Timestamp, schema.TimestampLTZ:
		t.Precision = d.IntN(10)
	}
	return t
}

// any is a type, nested at most to a depth.
func (d draw) any(depth int) schema.Type {
	if depth == 0 || d.in(75) {
		return d.atomic()
	}
	inner := func() schema.Type { return d.any(depth - 1) }
	switch d.IntN(3) {
	case 0:
		e := inner()
		return schema.Type{Kind: schema.Array, Element: &e, NotNull: d.in(20)}
	case 1:
		// What text has as the key of an object.
		keys := []schema.Type{schema.StringType(), schema.Of(schema.Int), schema.Of(schema.Date), schema.DecimalType(20, 3)}
		k, v := keys[d.IntN(len(keys))].WithNotNull(true), inner()
		return schema.Type{Kind: schema.Map, Key: &k, Element: &v, NotNull: d.in(20)}
	}
	t := schema.Type{Kind: schema.Row, NotNull: d.in(20)}
	for i := range 1 + d.IntN(3) {
		t.Fields = append(t.Fields, schema.Field{Name: d.name("f", i), Type: inner()})
	}
	return t
}

func (d draw) name(prefix string, i int) string {
	if d.in(10) {
		return fmt.Sprintf("%s Ünï %d", prefix, i)
	}
	return fmt.Sprintf("%s%d", prefix, i)
}

// value is any value of a type, often one of the extremes.
func (d draw) value(t schema.Type) any {
	if !t.NotNull && d.in(15) {
		return nil
	}
	switch t.Kind {
	case schema.Array:
		list := make([]any, d.IntN(5))
		for i := range list {
			list[i] = d.value(*t.Element)
		}
		return list
	case schema.Map:
		pairs := map[string]any{}
		for range d.IntN(5) {
			pairs[d.value(*t.Key).(string)] = d.value(*t.Element)
		}
		return pairs
	case schema.Row:
		fields := map[string]any{}
		for _, f := range t.Fields {
			fields[f.Name] = d.value(f.Type)
		}
		return fields
	}
	return d.text(t)
}

func (d draw) text(t schema.Type) string {
	switch t.Kind {
	case schema.Boolean:
		return d.one("true", "false")
	case schema.TinyInt:
		return d.integer(8)
	case schema.SmallInt:
		return d.integer(16)
	case schema.Int:
		return d.integer(32)
	case schema.BigInt:
		return d.integer(64)
	case schema.Float:
		return d.float(32, math.MaxFloat32, math.SmallestNonzeroFloat32)
	case schema.Double:
		return d.float(64, math.MaxFloat64, math.SmallestNonzeroFloat64)
	case schema.Decimal:
		return d.decimal(t.Precision, t.Scale)
	case schema.Char, schema.VarChar:
		return d.characters(min(t.Length, 40))
	case schema.Binary, schema.VarBinary:
		b := make([]byte, d.IntN(min(t.Length, 40)+1))
		for i := range b {
			b[i] = byte(d.Uint32()) | byte(d.IntN(2)*0xff)
		}
		return hex.EncodeToString(b)
	case schema.Date:
		return d.date()
	case schema.Time:
		return d.clock(t.Precision, min(t.Precision, 3)) // Paimon keeps milliseconds
	case schema.Timestamp:
		return d.date() + "T" + d.clock(t.Precision, t.Precision)
	case schema.TimestampLTZ:
		return d.date() + "T" + d.clock(t.Precision, t.Precision) + "Z"
	}
	panic("no text for " + t.String())
}

func (d draw) integer(bits int) string {
	least := int64(-1) << (bits - 1)
	switch d.IntN(6) {
	case 0:
		return d.one(fmt.Sprint(least), fmt.Sprint(^least), "0", "-1")
	case 1:
		return fmt.Sprint(int64(d.Uint64()) >> (64 - bits))
	}
	return fmt.Sprint(d.IntN(60) - 30)
}

func (d draw) float(bits int, largest, smallest float64) string {
	v := []float64{
		0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), largest, -largest, smallest, -smallest, 0.1, -0.5, 1e6, 123456, 1e21,
	}[d.IntN(14)]
	if d.in(50) {
		v = (d.Float64() - 0.5) * math.Pow(10, float64(d.IntN(20)-8))
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

func (d draw) decimal(precision, scale int) string {
	digits := []byte(strings.Repeat(d.one("0", "9", "1"), precision))
	if d.in(70) {
		for i := d.IntN(precision); i < precision; i++ {
			digits[i] = byte('0' + d.IntN(10))
		}
	}
	whole := strings.TrimLeft(string(digits[:precision-scale]), "0")
	if whole == "" {
		whole = "0"
	}
	if scale > 0 {
		whole += "." + string(digits[precision-scale:])
	}
	if d.in(50) && strings.Trim(whole, "0.") != "" {
		return "-" + whole
	}
	return whole
}

func (d draw) characters(most int) string {
	// Not U+D7FF: Paimon counts it up to a surrogate when it cuts the largest text, which then is a question mark.
	alphabet := []rune("abz 09_-,;'\"\\/%=äß中文日本😀\t\n\x00\x7f\u0080\ue000\uffff\U0010ffff")
	out := make([]rune, d.IntN(most+1))
	same := alphabet[d.IntN(len(alphabet))]
	for i := range out {
		out[i] = alphabet[d.IntN(len(alphabet))]
		if most%3 == 0 { // long equal beginnings, which statistics cut
			out[i] = same
		}
	}
	return string(out)
}

func (d draw) date() string {
	if d.in(20) {
		return d.one("0001-01-01", "9999-12-31", "1969-12-31", "1970-01-01", "2024-02-29", "1582-10-10")
	}
	return time.Unix(0, 0).UTC().AddDate(0, 0, d.IntN(60000)-30000).Format(time.DateOnly)
}

// clock is a time of day with a number of digits of which some may be other than zero.
func (d draw) clock(digits, used int) string {
	text := d.one("00:00:00", "23:59:59", fmt.Sprintf("%02d:%02d:%02d", d.IntN(24), d.IntN(60), d.IntN(60)))
	if digits == 0 {
		return text
	}
	fraction := []byte(strings.Repeat("0", digits))
	for i := range used {
		fraction[i] = d.one("0", "9", strconv.Itoa(d.IntN(10)))[0]
	}
	return text + "." + string(fraction)
}

// spec is a table of one to twelve columns.
func (d draw) spec() schema.Spec {
	s := schema.Spec{Options: map[string]string{}}
	for i := range 1 + d.IntN(12) {
		s.Fields = append(s.Fields, schema.Field{Name: d.name("c", i), Type: d.any(2)})
	}
	var plain []string
	for _, i := range d.Perm(len(s.Fields)) {
		if f := s.Fields[i]; !f.Type.Nested() {
			plain = append(plain, f.Name)
		}
	}
	take := func(most int) (names []string) {
		n := min(d.IntN(most+1), len(plain))
		names, plain = plain[:n:n], plain[n:]
		return names
	}
	s.PartitionKeys = slices.DeleteFunc(take(2), func(name string) bool { return !d.divides(s.Fields, name) })
	switch keys := take(3); {
	case len(keys) == 0:
	case d.in(50):
		s.PrimaryKeys = slices.Concat(keys, s.PartitionKeys)
		s.Options["bucket"] = strconv.Itoa(1 + d.IntN(3))
		d.keyOptions(&s, plain)
	default:
		s.Options["bucket"], s.Options["bucket-key"] = strconv.Itoa(1+d.IntN(3)), strings.Join(keys, ",")
	}
	d.options(&s)
	return s
}

// divides tells whether a column can be a partition key; texts are kept short enough for a folder's name.
func (d draw) divides(fields []schema.Field, name string) bool {
	f := fields[slices.IndexFunc(fields, func(f schema.Field) bool { return f.Name == name })]
	return !slices.Contains([]schema.Kind{schema.Float, schema.Double, schema.Binary, schema.VarBinary}, f.Type.Kind)
}

func (d draw) keyOptions(s *schema.Spec, others []string) {
	switch d.IntN(6) {
	case 0:
		s.Options["merge-engine"] = "partial-update"
	case 1:
		s.Options["merge-engine"] = "first-row"
	case 2, 3:
		if len(others) > 0 {
			s.Options["sequence.field"] = others[0]
		}
	}
	if s.Options["merge-engine"] != "first-row" && d.in(25) {
		s.Options["changelog-producer"] = "input"
	}
	s.Options["write-only"] = d.one("true", "false")
}

func (d draw) options(s *schema.Spec) {
	set := func(percent int, key string, values ...string) {
		if d.in(percent) {
			s.Options[key] = d.one(values...)
		}
	}
	set(50, "metadata.stats-mode", "none", "counts", "full", "truncate(1)", "truncate(5)")
	set(20, "fields."+s.Fields[0].Name+".stats-mode", "none", "counts", "full", "truncate(3)")
	set(20, "metadata.stats-dense-store", "false")
	set(50, "file.compression", "zstd", "snappy", "gzip", "lz4", "none")
	set(40, "target-file-size", "4 kb", "64 kb")
	set(40, "file.block-size", "2 kb", "32 kb")
	set(30, "partition.legacy-name", "false")
	set(30, "manifest.merge-min-count", "2", "3")
	set(20, "manifest.target-file-size", "1 kb", "4 kb")
	set(20, "manifest.full-compaction-threshold-size", "1 kb")
}

// rows of a table; those of a key table often have keys of others, and some take their key away.
func (d draw) rows(s schema.Spec, n int, sofar []testenv.Row) []testenv.Row {
	var out []testenv.Row
	for range n {
		r := testenv.Row{}
		for _, f := range s.Fields {
			if slices.Contains(s.PrimaryKeys, f.Name) {
				f.Type.NotNull = true
			}
			r[f.Name] = d.value(f.Type)
			switch {
			case slices.Contains(s.PartitionKeys, f.Name):
				r[f.Name] = d.partition(f.Type)
			case len(s.PrimaryKeys) > 0 && (r[f.Name] == "NaN" || r[f.Name] == "-0"):
				// Up to 1.4 Paimon's keys and sequence fields take -0 for 0 and NaN for any number; 2.0 tells them apart, as this library does.
				r[f.Name] = "0.5"
			}
		}
		if earlier := append(sofar[:len(sofar):len(sofar)], out...); len(s.PrimaryKeys) > 0 && len(earlier) > 0 && d.in(50) {
			same := earlier[d.IntN(len(earlier))]
			for _, key := range s.PrimaryKeys {
				r[key] = same[key]
			}
			if engine := s.Options["merge-engine"]; engine == "" && d.in(40) {
				r["_kind"] = d.one("-D", "-U", "+U")
			}
		}
		out = append(out, r)
	}
	return out
}

// partition is one of few values.
func (d draw) partition(t schema.Type) any {
	few := draw{rand.New(rand.NewPCG(uint64(d.IntN(3)), uint64(t.Kind)))}
	if t.Kind != schema.Char && t.Kind != schema.VarChar {
		return few.value(t)
	}
	texts := []string{"", " ", "a b", "a/b=c%d", "__DEFAULT_PARTITION__", "ä中😀", ".", "..", "x'\"\\:*?{}[]^#\x01\x7f"}
	text := []rune(texts[d.IntN(len(texts))])
	return string(text[:min(len(text), t.Length)])
}
