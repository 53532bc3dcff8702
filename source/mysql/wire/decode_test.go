package wire

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// unscaled is the number that a vector of decimals holds.
func unscaled(v *row.Vector, i int) *big.Int {
	if v.Layout == row.LayoutInt64 {
		return big.NewInt(v.I64[i])
	}
	b := v.Bytes(i)
	n := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// TestDecimalAgainstBig decodes random decimals of every precision and scale, and compares with exact arithmetic.
func TestDecimalAgainstBig(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		precision := 1 + random.IntN(38)
		scale := random.IntN(precision + 1)
		wider := random.IntN(39 - precision)
		more := random.IntN(wider + 1) // some of the wider digits go behind the point
		digits := make([]byte, precision)
		for i := range digits {
			digits[i] = '0' + byte(random.IntN(10))
		}
		if random.IntN(4) == 0 {
			copy(digits, strings.Repeat("9", precision))
		}
		text := string(digits[:precision-scale])
		if text = strings.TrimLeft(text, "0"); text == "" {
			text = "0"
		}
		if scale > 0 {
			text += "." + string(digits[precision-scale:])
		}
		want, ok := new(big.Int).SetString(string(digits)+strings.Repeat("0", more), 10)
		require.True(t, ok)
		if random.IntN(2) == 0 {
			text = "-" + text
			want.Neg(want)
		}
		v := row.NewVector(schema.DecimalType(precision+wider, scale+more))
		c := &column{vector: &v}
		decode := decodeFunc(decodeDecimal)
		if v.Layout == row.LayoutInt64 {
			decode = decodeDecimal64
		}
		packet := append([]byte{byte(len(text))}, text...)
		next, err := decode(c, packet, 0)
		require.NoError(t, err)
		require.Equal(t, len(packet), next, text)
		require.Equal(t, want.String(), unscaled(&v, 0).String(), "%s as %s", text, v.Type)
	}
}

func TestDecimalRefused(t *testing.T) {
	for _, c := range []struct {
		precision, scale int
		text             string
		malformed        bool
	}{
		{5, 2, "", true},
		{5, 2, "-", true},
		{5, 2, ".", true},
		{5, 2, "1.234", true},
		{5, 2, "1..2", true},
		{5, 2, "1e3", true},
		{5, 2, "--1", true},
		{5, 2, " 1", true},
		{5, 2, "1000.00", false},
		{18, 0, "1000000000000000000", false},
		{18, 0, strings.Repeat("9", 40), false},
		{38, 0, "1" + strings.Repeat("0", 38), false},
		{38, 38, "1." + strings.Repeat("0", 38), false},
		{38, 0, strings.Repeat("9", 200), false},
		{20, 2, "x", true},
	} {
		v := row.NewVector(schema.DecimalType(c.precision, c.scale))
		col := &column{vector: &v, source: source.Column{Name: "d"}}
		decode := decodeFunc(decodeDecimal)
		if v.Layout == row.LayoutInt64 {
			decode = decodeDecimal64
		}
		next, err := decode(col, append([]byte{byte(len(c.text))}, c.text...), 0)
		require.Equal(t, -1, next, c.text)
		if c.malformed {
			require.NoError(t, err, c.text)
		} else {
			require.ErrorIs(t, err, source.ErrSchemaChanged, c.text)
		}
		require.Zero(t, v.Len())
	}
}

// TestDaysAgainstTime compares every day from year 0 to 9999 with Go's calendar, and what exists with its normalising.
func TestDaysAgainstTime(t *testing.T) {
	day := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	for ; day.Year() < 10000; day = day.AddDate(0, 0, 1) {
		m := moment{year: day.Year(), month: int(day.Month()), day: day.Day()}
		if !m.exists() || int64(m.days())*86400 != day.Unix() {
			require.Failf(t, "wrong", "%v: %v, day %d", day, m.exists(), m.days())
		}
	}
	for _, m := range []moment{{2023, 2, 29, 0, 0, 0, 0}, {2100, 2, 29, 0, 0, 0, 0}, {2024, 4, 31, 0, 0, 0, 0}, {2024, 0, 1, 0, 0, 0, 0}, {2024, 13, 1, 0, 0, 0, 0}, {2024, 1, 0, 0, 0, 0, 0}, {2024, 1, 32, 0, 0, 0, 0}, {10000, 1, 1, 0, 0, 0, 0}} {
		require.False(t, m.exists(), m.text())
	}
}

// everyDecoder has a column for each way of decoding.
func everyDecoder() ([]source.Output, []resultColumn) {
	var outputs []source.Output
	var wire []resultColumn
	add := func(definition string, kind byte, flags uint16, decimals byte, zero source.ZeroDate, types ...schema.Type) {
		for _, t := range types {
			name := fmt.Sprintf("c%d", len(outputs))
			outputs = append(outputs, source.Output{Column: source.Column{Name: name, Definition: definition, Type: t, ZeroDate: zero}, Type: t})
			wire = append(wire, resultColumn{name: name, kind: kind, flags: flags, decimals: decimals})
		}
	}
	of := schema.Of
	add("tinyint(1)", typeTiny, 0, 0, "", of(schema.TinyInt), of(schema.Boolean), of(schema.Int), of(schema.BigInt), schema.DecimalType(5, 2))
	add("tinyint unsigned", typeTiny, flagUnsigned, 0, "", of(schema.SmallInt), of(schema.BigInt))
	add("smallint", typeShort, 0, 0, "", of(schema.SmallInt), of(schema.Int))
	add("smallint unsigned", typeShort, flagUnsigned, 0, "", of(schema.Int))
	add("mediumint unsigned", wireInt24, flagUnsigned, 0, "", of(schema.Int))
	add("int", typeLong, 0, 0, "", of(schema.Int), of(schema.BigInt))
	add("int unsigned", typeLong, flagUnsigned, 0, "", of(schema.BigInt), schema.DecimalType(38, 20))
	add("bigint", typeLongLong, 0, 0, "", of(schema.BigInt), schema.DecimalType(19, 0), schema.DecimalType(18, 10))
	add("bigint unsigned", typeLongLong, flagUnsigned, 0, "", schema.DecimalType(20, 0))
	add("year(4)", typeYear, flagUnsigned, 0, "", of(schema.Int))
	add("float", typeFloat, 0, 31, "", of(schema.Float), of(schema.Double))
	add("double", typeDouble, 0, 31, "", of(schema.Double))
	add("decimal(12,2)", typeNewDecimal, 0, 2, "", schema.DecimalType(12, 2), schema.DecimalType(38, 4), schema.StringType())
	add("bit(1)", typeBit, 0, 0, "", of(schema.Boolean))
	add("bit(12)", typeBit, 0, 0, "", schema.BytesType())
	for _, zero := range []source.ZeroDate{source.ZeroDateNull, source.ZeroDateEpoch, ""} {
		add("date", typeDate, 0, 0, zero, of(schema.Date))
		add("datetime(3)", typeDateTime, 0, 3, zero, schema.Type{Kind: schema.Timestamp, Precision: 3}, schema.Type{Kind: schema.Timestamp, Precision: 6}, schema.Type{Kind: schema.Timestamp, Precision: 9})
		add("timestamp(6)", typeTimestamp, 0, 6, zero, schema.Type{Kind: schema.TimestampLTZ, Precision: 6})
	}
	// What is asked for although it holds less.
	add("bigint", typeLongLong, 0, 0, "", of(schema.Int), schema.StringType())
	add("bigint unsigned", typeLongLong, flagUnsigned, 0, "", of(schema.BigInt), of(schema.SmallInt), schema.StringType())
	add("decimal(12,2)", typeNewDecimal, 0, 2, "", schema.DecimalType(5, 2), schema.DecimalType(38, 2))
	add("time", typeTime, 0, 0, "", of(schema.Time))
	add("time(6)", typeTime, 0, 6, "", schema.StringType())
	add("varchar(9) character set utf8", typeVarString, 0, 0, "", schema.StringType())
	add("point", typeGeometry, 0, 0, "", schema.BytesType())
	return outputs, wire
}

// TestNarrowerRefused checks that no column is read into an output that cannot hold all its values.
func TestNarrowerRefused(t *testing.T) {
	for _, c := range []struct {
		definition string
		wire       resultColumn
		into       schema.Type
	}{
		{"int", resultColumn{kind: typeLong}, schema.Of(schema.SmallInt)},
		{"int unsigned", resultColumn{kind: typeLong, flags: flagUnsigned}, schema.Of(schema.Int)},
		{"bigint unsigned", resultColumn{kind: typeLongLong, flags: flagUnsigned}, schema.Of(schema.BigInt)},
		{"tinyint unsigned", resultColumn{kind: typeTiny, flags: flagUnsigned}, schema.Of(schema.Boolean)},
		{"int", resultColumn{kind: typeLong}, schema.Type{Kind: schema.VarChar, Length: 5}},
		{"double", resultColumn{kind: typeDouble}, schema.Of(schema.Float)},
		{"float", resultColumn{kind: typeFloat}, schema.Of(schema.Int)},
		{"decimal(10,4)", resultColumn{kind: typeNewDecimal, decimals: 4}, schema.DecimalType(10, 2)},
		{"decimal(10,4)", resultColumn{kind: typeNewDecimal, decimals: 4}, schema.Of(schema.Double)},
		{"datetime(6)", resultColumn{kind: typeDateTime, decimals: 6}, schema.Type{Kind: schema.Timestamp, Precision: 3}},
		{"datetime", resultColumn{kind: typeDateTime}, schema.Type{Kind: schema.TimestampLTZ}},
		{"timestamp", resultColumn{kind: typeTimestamp}, schema.Type{Kind: schema.Timestamp}},
		{"date", resultColumn{kind: typeDate}, schema.Type{Kind: schema.Timestamp}},
		{"time(6)", resultColumn{kind: typeTime, decimals: 6}, schema.Of(schema.Time)},
		{"bit(2)", resultColumn{kind: typeBit}, schema.Of(schema.Boolean)},
		{"text character set utf8", resultColumn{kind: typeBlob}, schema.Of(schema.Int)},
		{"point", resultColumn{kind: typeGeometry}, schema.Of(schema.Int)},
	} {
		output := source.Output{Column: source.Column{Name: "c", Definition: c.definition}, Type: c.into}
		_, err := chooseDecoders(source.Shard{}, []source.Output{output}, []resultColumn{c.wire})
		require.ErrorIs(t, err, source.ErrRefused, "%s into %s", c.definition, c.into)
	}
	_, err := chooseDecoders(source.Shard{}, []source.Output{{Type: schema.Of(schema.Int).WithNotNull(true)}}, nil)
	require.ErrorIs(t, err, source.ErrRefused)
	_, err = chooseDecoders(source.Shard{}, []source.Output{{Type: schema.Of(schema.Int)}}, nil)
	require.ErrorIs(t, err, source.ErrRefused)
}

// goodRow is a row for everyDecoder.
func goodRow(wire []resultColumn) []byte {
	p := make([]byte, 1+(len(wire)+9)/8)
	for _, w := range wire {
		switch w.kind {
		case typeTiny:
			p = append(p, 1)
		case typeShort, typeYear:
			p = binary.LittleEndian.AppendUint16(p, 1000)
		case wireInt24, typeLong, typeFloat:
			p = binary.LittleEndian.AppendUint32(p, 1000)
		case typeLongLong, typeDouble:
			p = binary.LittleEndian.AppendUint64(p, 1000)
		case typeNewDecimal:
			p = append(p, "\x051.25"...)
			p[len(p)-5] = 4
		case typeBit:
			p = append(p, 1, 1)
		case typeDate:
			p = append(p, 4, 0xe8, 7, 2, 29)
		case typeDateTime, typeTimestamp:
			p = append(p, 11, 0xe8, 7, 2, 29, 23, 59, 59, 1, 2, 3, 0)
		case typeTime:
			if w.decimals == 0 {
				p = append(p, 8, 0, 0, 0, 0, 0, 22, 59, 59)
				continue
			}
			p = append(p, 12, 1, 34, 0, 0, 0, 22, 59, 59, 1, 2, 3, 0)
		case typeGeometry:
			p = append(p, 6, 1, 0, 0, 0, 9, 9)
		default:
			p = append(p, 0xfc, 3, 0, 'a', 'b', 'c')
		}
	}
	return p
}

// FuzzRow feeds rows that no server would send: each is decoded whole or refused, never more.
func FuzzRow(f *testing.F) {
	outputs, wire := everyDecoder()
	good := goodRow(wire)
	f.Add(good)
	for i := range len(good) {
		if i%7 == 0 {
			f.Add(good[:i])
		}
	}
	nulls := append([]byte{0}, bytesOf(0xff, (len(wire)+9)/8)...)
	f.Add(nulls)
	types := make([]schema.Type, len(outputs))
	for i := range outputs {
		types[i] = outputs[i].Type
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		columns, err := chooseDecoders(source.Shard{}, outputs, wire)
		require.NoError(t, err)
		d := newDecoder(columns)
		b := row.NewBatch(types)
		d.bind(b)
		failed := d.row(p)
		if failed == nil {
			for i := range b.Columns {
				require.Equal(t, 1, b.Columns[i].Len(), "column %d", i)
			}
		}
		b.Reset()
		if err := d.sampled(p, 0, func(source.Finding) {}); err != nil {
			require.Error(t, failed, "a sample takes what a read takes")
			return
		}
		for i := range b.Columns {
			require.Equal(t, 1, b.Columns[i].Len(), "column %d of a sample", i)
		}
	})
}

func bytesOf(b byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = b
	}
	return out
}

// TestGoodRow pins that the row which fuzzing starts from is a good one.
func TestGoodRow(t *testing.T) {
	outputs, wire := everyDecoder()
	columns, err := chooseDecoders(source.Shard{}, outputs, wire)
	require.NoError(t, err)
	types := make([]schema.Type, len(outputs))
	for i := range outputs {
		types[i] = outputs[i].Type
	}
	d, b := newDecoder(columns), row.NewBatch(types)
	d.bind(b)
	require.NoError(t, d.row(goodRow(wire)))
	last := len(outputs) - 1
	require.EqualValues(t, 82799000, b.Columns[last-3].I32[0], "22:59:59 in milliseconds")
	require.Equal(t, "-838:59:59.197121", string(b.Columns[last-2].Bytes(0)))
	require.Equal(t, "abc", string(b.Columns[last-1].Bytes(0)))
	require.Equal(t, []byte{9, 9}, b.Columns[last].Bytes(0))
}

// FuzzStream feeds whole conversations.
func FuzzStream(f *testing.F) {
	def := definitionPacket(typeLong, 0)
	f.Add(answers([][]byte{prepareOK, def}, [][]byte{{1}, def, {0, 0, 1, 0, 0, 0}, {headEOF, 0, 0, 2, 0, 0, 0}}), true, false)
	f.Add(answers([][]byte{prepareOK, def, eofPacket}, [][]byte{{1}, def, eofPacket, {0, 4}, eofPacket}), false, false)
	f.Add(answers([][]byte{prepareOK, def}, [][]byte{{1, 0}, {0, 4}, eofPacket}), true, true)
	f.Fuzz(func(t *testing.T, raw []byte, deprecateEOF, cacheMetadata bool) {
		_, _ = runInt(raw, deprecateEOF, cacheMetadata)
	})
}
