package datafile

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

const benchBatch = 8192

// narrowFields are the 5 columns of an orders table: id, user_id, amount, status, created_at, all NOT NULL.
func narrowFields() []schema.Field {
	return fieldsOf(true, schema.Of(schema.BigInt), schema.Of(schema.Int), schema.DecimalType(12, 2),
		schema.StringType(), schema.Type{Kind: schema.Timestamp})
}

// wideFields are 31 columns, one for each MySQL type, all but the first nullable.
func wideFields() []schema.Field {
	text, bytes := schema.StringType(), schema.BytesType()
	fields := fieldsOf(false, schema.Of(schema.BigInt),
		schema.Of(schema.TinyInt), schema.Of(schema.TinyInt), schema.Of(schema.SmallInt), // tinyint, bool, tinyint unsigned
		schema.Of(schema.SmallInt), schema.Of(schema.Int), // smallint, unsigned
		schema.Of(schema.Int), schema.Of(schema.Int), // mediumint, unsigned
		schema.Of(schema.Int), schema.Of(schema.BigInt), schema.DecimalType(20, 0), // int, unsigned, bigint unsigned
		schema.DecimalType(20, 6), schema.DecimalType(38, 10),
		schema.Of(schema.Float), schema.Of(schema.Double),
		text, text, text, // char, varchar, text
		bytes, bytes, // binary, blob
		schema.Of(schema.Date), text, text, // date, time, time(6)
		schema.Type{Kind: schema.Timestamp, Precision: 6}, schema.Type{Kind: schema.TimestampLTZ}, schema.Of(schema.Int), // year
		text, text, text, // json, enum, set
		schema.Of(schema.Boolean), bytes) // bit(1), bit(8)
	fields[0].Type.NotNull = true
	return fields
}

func fieldsOf(notNull bool, types ...schema.Type) []schema.Field {
	var fields []schema.Field
	for i, t := range types {
		fields = append(fields, schema.Field{ID: i, Name: "c" + strconv.Itoa(i), Type: t.WithNotNull(notNull)})
	}
	return fields
}

func appendNarrow(b *row.Batch, id int) {
	sum := func(x int) int64 { return int64(crc32.ChecksumIEEE([]byte(strconv.Itoa(x)))) }
	c := b.Columns
	c[0].I64 = append(c[0].I64, int64(id))
	c[1].I32 = append(c[1].I32, int32(sum(id)%1000003))
	c[2].I64 = append(c[2].I64, sum(id*7)%10000000)
	c[3].AppendBytes([]byte([]string{"NEW", "PAID", "SHIPPED", "DONE", "REFUNDED"}[sum(id*3)%5]))
	c[4].I64 = append(c[4].I64, (1609459200+sum(id*5)%94608000)*1000)
	b.Rows++
}

func appendWide(b *row.Batch, id int) {
	h := int64(crc32.ChecksumIEEE([]byte(strconv.Itoa(id))))
	digest := md5.Sum([]byte(strconv.Itoa(id)))
	m := hex.EncodeToString(digest[:])
	reverse := []byte(m)
	slices.Reverse(reverse)
	at := 1609459200 + h%94608000
	ints := func(x int64) row.Value { return row.Value{I64: x} }
	text := func(s string) row.Value { return row.Value{B: []byte(s)} }
	values := []row.Value{
		ints(int64(id)), ints(h%256 - 128), ints(h % 2), ints(h % 256), ints(h%65536 - 32768), ints(h % 65536),
		ints(h%16777216 - 8388608), ints(h % 16777216), ints(h - 2147483648), ints(h),
		decimalOf(20, h*2147483647), decimalOf(20, h%1000000000*1000000+h%1000000), decimalOf(38, (h*1000003)*10000000000/1e9),
		{F64: float64(float32(float64(h) / 3))},
		{F64: float64(h) / 7},
		text(m[:16]), text("order " + m + " " + m[h%20:]), text(fmt.Sprintf("note %d: %s %s", id, m, reverse)),
		{B: digest[:]},
		{B: append(digest[:], digest[:]...)},
		ints(10957 + h%9000), text(clock(h % 86400)), text(clock(h%24*3600+h%60*60+h%60) + fmt.Sprintf(".%06d", h%1000000)),
		ints(at*1e6 + h), ints(at * 1000), ints(1970 + h%100),
		text(fmt.Sprintf(`{"k":"%s","n":%d,"tags":["x","y"]}`, m[:12], h%1000)),
		text([]string{"low", "mid", "high"}[h%3]), text([]string{"", "a", "b", "a,b", "c", "a,c", "b,c", "a,b,c", "d"}[h%9]),
		ints(h % 2),
		{B: []byte{byte(h)}},
	}
	for i, v := range values {
		b.Columns[i].Append(v)
	}
	b.Rows++
}

func clock(seconds int64) string { return time.Unix(seconds, 0).UTC().Format("15:04:05") }

func decimalOf(precision int, x int64) row.Value {
	out := make([]byte, row.FixedWidth(precision))
	for i := range out {
		out[len(out)-1-i] = byte(x >> min(63, 8*i))
	}
	return row.Value{B: out}
}

// narrowBatches and wideBatches are about a row group each, made once.
var (
	narrowBatches = sync.OnceValue(func() []*row.Batch { return batchesOf(narrowFields(), appendNarrow) })
	wideBatches   = sync.OnceValue(func() []*row.Batch { return batchesOf(wideFields(), appendWide) })
)

func batchesOf(fields []schema.Field, add func(*row.Batch, int)) []*row.Batch {
	const batches = 31
	var made []*row.Batch
	for i := range batches {
		batch := row.NewBatch(row.Types(fields))
		for k := range benchBatch {
			add(batch, i*benchBatch+k)
		}
		made = append(made, batch)
	}
	return made
}

func benchmarkWrite(b *testing.B, fields []schema.Field, made []*row.Batch, codec string) {
	c, err := NewCodec(codec, 1)
	require.NoError(b, err)
	w, err := NewWriter(io.Discard, fields, Options{Codec: c, RowGroupBytes: 32 << 20})
	require.NoError(b, err)
	written, size := 0, int64(0)
	run := func(rows int) {
		w.Reset(io.Discard)
		written = 0
		for i := 0; written < rows; i++ {
			batch := made[i%len(made)]
			require.NoError(b, w.Write(batch))
			written += batch.Rows
		}
		res, err := w.Close()
		require.NoError(b, err)
		size = res.Size
	}
	run(len(made) * benchBatch) // grows the buffers
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	run(b.N)
	// Unlike the time on the clock this holds on a busy machine too.
	b.ReportMetric(float64(cpuTime(b)-before)/float64(written), "cpu-ns/row")
	b.ReportMetric(float64(written)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(size)/float64(written), "B/row")
	b.ReportMetric(float64(w.Buffered())/(1<<20), "MiB-held")
}

// cpuTime is the processor time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func BenchmarkWriteNarrow(b *testing.B) { benchmarkWrite(b, narrowFields(), narrowBatches(), "zstd") }
func BenchmarkWriteWide(b *testing.B)   { benchmarkWrite(b, wideFields(), wideBatches(), "zstd") }

func BenchmarkWriteNarrowUncompressed(b *testing.B) {
	benchmarkWrite(b, narrowFields(), narrowBatches(), "none")
}

func BenchmarkWriteWideUncompressed(b *testing.B) {
	benchmarkWrite(b, wideFields(), wideBatches(), "none")
}

func benchmarkRead(b *testing.B, fields []schema.Field, add func(*row.Batch, int)) {
	var out bytes.Buffer
	w, err := NewWriter(&out, fields, Options{})
	require.NoError(b, err)
	const batches = 20
	batch := row.NewBatch(row.Types(fields))
	for i := range batches {
		batch.Reset()
		for k := range benchBatch {
			add(batch, i*benchBatch+k)
		}
		require.NoError(b, w.Write(batch))
	}
	_, err = w.Close()
	require.NoError(b, err)
	dir := b.TempDir()
	require.NoError(b, os.WriteFile(filepath.Join(dir, "f"), out.Bytes(), 0o600))
	store, read := localStore(b, dir), 0
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	for read < b.N {
		readEach(b, store, "f", int64(out.Len()), fields, 0, func(got *row.Batch) { read += got.Rows })
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(read), "cpu-ns/row")
	b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkReadNarrow(b *testing.B) { benchmarkRead(b, narrowFields(), appendNarrow) }
func BenchmarkReadWide(b *testing.B)   { benchmarkRead(b, wideFields(), appendWide) }

// nestedFields are an id, tags, attributes and a list of items.
func nestedFields() []schema.Field {
	text, number := schema.StringType(), schema.Of(schema.BigInt)
	key := text.WithNotNull(true)
	item := schema.Type{Kind: schema.Row, Fields: []schema.Field{
		{ID: 10, Name: "name", Type: text}, {ID: 11, Name: "price", Type: schema.DecimalType(12, 2)}, {ID: 12, Name: "count", Type: schema.Of(schema.Int)},
	}}
	return fieldsOf(false, number, schema.Type{Kind: schema.Array, Element: &text}, schema.Type{Kind: schema.Map, Key: &key, Element: &number},
		schema.Type{Kind: schema.Array, Element: &item})
}

func appendNested(b *row.Batch, id int) {
	fields := nestedFields()
	n := int64(id)
	text := func(x int64) row.Value { return row.Value{B: strconv.AppendInt([]byte("value "), x, 10)} }
	item := func(x int64) row.Value {
		return row.Value{B: row.AppendBinary(nil, row.Types(fields[3].Type.Element.Fields), []row.Value{text(x % 1000), {I64: x * 7}, {I64: x % 10}})}
	}
	b.Columns[0].Append(row.Value{I64: n})
	b.Columns[1].Append(row.Value{B: row.AppendArray(nil, *fields[1].Type.Element, []row.Value{text(n % 10), row.NullValue(), text(n)})})
	key, value := row.MapTypes(fields[2].Type)
	b.Columns[2].Append(row.Value{B: row.AppendMap(nil, key, value, []row.Value{text(1), text(2)}, []row.Value{{I64: n}, {I64: -n}})})
	b.Columns[3].Append(row.Value{B: row.AppendArray(nil, *fields[3].Type.Element, []row.Value{item(n), item(n + 1)})})
	b.Rows++
}

func BenchmarkWriteNested(b *testing.B) {
	benchmarkWrite(b, nestedFields(), batchesOf(nestedFields(), appendNested), "zstd")
}
func BenchmarkReadNested(b *testing.B) { benchmarkRead(b, nestedFields(), appendNested) }
