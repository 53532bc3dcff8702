package lake

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/compact"
	"github.com/tributary-lake/tributary/lake/schema"
)

// told is a table and the rows that it was given, as lines.
type told struct {
	*made
	want []string
}

// fieldsOf are columns of these types, called c0 and so on.
func fieldsOf(types ...schema.Type) []schema.Field {
	var fields []schema.Field
	for i, t := range types {
		fields = append(fields, schema.Field{Name: fmt.Sprintf("c%d", i), Type: t})
	}
	return fields
}

// simple are the types that every release reads all values of, and that a partition or key can have.
func simple() []schema.Type {
	types := []schema.Type{
		schema.Of(schema.Boolean), schema.Of(schema.TinyInt), schema.Of(schema.SmallInt), schema.Of(schema.Int), schema.Of(schema.BigInt),
		schema.Of(schema.Date), schema.StringType(),
		{Kind: schema.Char, Length: 12},
		{Kind: schema.VarChar, Length: 20},
	}
	for _, p := range []int{1, 9, 10, 18, 19, 38} {
		types = append(types, schema.DecimalType(p, p/3))
	}
	for _, p := range []int{0, 3, 6} {
		types = append(types, schema.Type{Kind: schema.Time, Precision: p},
			schema.Type{Kind: schema.Timestamp, Precision: p}, schema.Type{Kind: schema.TimestampLTZ, Precision: p})
	}
	return types
}

// tell makes a table and gives it rows by two commits.
func (d draw) tell(w warehouse, name string, rows int, s schema.Spec) told {
	w.t.Helper()
	m := w.create(name, s)
	var all []testenv.Row
	for range 2 {
		some := d.rows(s, rows, nil)
		m.write(some...)
		all = append(all, some...)
	}
	return told{m, linesOf(w.t, s.Fields, all)}
}

// allSorts are tables of everything that this library writes without keys.
func allSorts(w warehouse, d draw) []told {
	everything := append(simple(), schema.Of(schema.Float), schema.Of(schema.Double), schema.BytesType(),
		schema.Type{Kind: schema.Binary, Length: 6}, schema.Type{Kind: schema.VarBinary, Length: 9})
	both := fieldsOf(everything...)
	for i, f := range fieldsOf(everything...) {
		both = append(both, schema.Field{Name: fmt.Sprintf("n%d", i), Type: f.Type.WithNotNull(true)})
	}
	tables := []told{d.tell(w, "db.types", 100, schema.Spec{Fields: both})}
	for _, codec := range []string{"zstd", "snappy", "gzip", "lz4", "none"} {
		tables = append(tables, d.tell(w, "db.codec_"+codec, 40, schema.Spec{Fields: fieldsOf(everything...), Options: map[string]string{
			"file.compression": codec, "file.block-size": "4 kb", "metadata.stats-mode": d.one("full", "none", "counts", "truncate(3)"),
		}}))
	}
	keys := simple()
	for i := 0; i < len(keys); i += 4 {
		for _, legacy := range []string{"true", "false"} {
			tables = append(tables, d.tell(w, fmt.Sprintf("db.partition_%d_%s", i, legacy), 10, schema.Spec{
				Fields: fieldsOf(schema.Of(schema.Int), keys[i], keys[i+1], keys[i+2], keys[i+3]), PartitionKeys: []string{"c3", "c1", "c4", "c2"},
				Options: map[string]string{"partition.legacy-name": legacy},
			}))
		}
	}
	tables = append(tables, d.tell(w, "db.buckets", 60, schema.Spec{Fields: fieldsOf(simple()...), Options: map[string]string{
		"bucket": "3", "bucket-key": "c3,c5,c6,c14",
	}}))
	text, number := schema.StringType(), schema.Of(schema.Int)
	row := schema.Type{Kind: schema.Row, Fields: []schema.Field{{Name: "a", Type: number}, {Name: "b", Type: schema.Type{Kind: schema.Array, Element: &text}}}}
	key := text.WithNotNull(true)
	tables = append(tables, d.tell(w, "db.nested", 60, schema.Spec{Fields: fieldsOf(
		number, schema.Type{Kind: schema.Array, Element: &row}, schema.Type{Kind: schema.Map, Key: &key, Element: &row}, row, text,
	)}))
	return tables
}

// altered is a table whose schema changes between commits, as a later row tells of all.
func altered(w warehouse) told {
	w.t.Helper()
	m := w.create("db.altered", schema.Spec{Fields: []schema.Field{
		{Name: "id", Type: schema.Of(schema.Int).WithNotNull(true)},
		{Name: "name", Type: schema.StringType()},
		{Name: "qty", Type: schema.Of(schema.Int)},
		{Name: "ratio", Type: schema.Of(schema.Float)},
		{Name: "price", Type: schema.DecimalType(9, 2)},
		{Name: "note", Type: schema.StringType()},
	}})
	m.write(testenv.Row{"id": "1", "name": "one", "qty": "-7", "ratio": "0.5", "price": "1.25", "note": "gone"})
	for _, changes := range evolution() {
		m.alter(changes...)
	}
	m.write(testenv.Row{"id": "2", "title": "two", "qty": "9223372036854775807", "ratio": "0.1", "price": "1234567890.12", "added": "new", "note": "again"})
	return told{m, sortedLines(w.t, []string{
		`{"id":"1","title":"one","qty":"-7","ratio":"0.5","price":"1.25","added":null,"note":null}`,
		`{"id":"2","title":"two","qty":"9223372036854775807","ratio":"0.1","price":"1234567890.12","added":"new","note":"again"}`,
	})}
}

// levels is a key table whose rows lie in several levels after our compaction.
func levels(w warehouse) told {
	w.t.Helper()
	m := w.create("db.levels", schema.Spec{
		Fields:      []schema.Field{{Name: "id", Type: schema.Of(schema.BigInt)}, {Name: "v", Type: schema.StringType()}},
		PrimaryKeys: []string{"id"}, Options: map[string]string{"bucket": "2"},
	})
	last := map[int]string{}
	put := func(from, to int, value, kind string) {
		var rows []testenv.Row
		for id := from; id < to; id++ {
			rows = append(rows, testenv.Row{"id": fmt.Sprint(id), "v": value, "_kind": kind})
			last[id] = fmt.Sprintf(`{"id":"%d","v":"%s"}`, id, value)
			if kind == "-D" {
				delete(last, id)
			}
		}
		m.write(rows...)
	}
	put(0, 100, "first", "+I")
	put(20, 30, "first", "-D")
	put(50, 120, "second", "+U")
	_, err := compact.Run(w.t.Context(), w.disk, m.path, "compactor", 1, compact.Options{})
	require.NoError(w.t, err)
	put(0, 10, "second", "-D")
	put(25, 60, "third", "+I")
	put(200, 210, "third", "+I")
	seen := map[int]bool{}
	for _, f := range m.describe(0).Files {
		seen[f.Level] = true
	}
	require.Equal(w.t, map[int]bool{0: true, 5: true}, seen)
	var want []string
	for _, line := range last {
		want = append(want, line)
	}
	return told{m, sortedLines(w.t, want)}
}

// What this library writes is read alike by every release of Paimon from 1.0.1 on.
func TestEveryReleaseReadsOurTables(t *testing.T) {
	w := openWarehouse(t, t.TempDir())
	d := draw{rand.New(rand.NewPCG(7, 7))}
	tables := append(allSorts(w, d), altered(w), levels(w))
	nanos := fieldsOf(schema.Type{Kind: schema.Timestamp, Precision: 9}, schema.Type{Kind: schema.TimestampLTZ, Precision: 7})
	later := w.create("db.nanos", schema.Spec{Fields: nanos})
	later.write(testenv.Row{"c0": "1970-01-01T00:00:00.000000001", "c1": "2024-02-29T12:34:56.7891234Z"}, testenv.Row{"c0": "9999-12-31T23:59:59.999999999"})
	tables = append(tables, told{later, sortedLines(t, []string{
		`{"c0":"1970-01-01T00:00:00.000000001","c1":"2024-02-29T12:34:56.7891234Z"}`, `{"c0":"9999-12-31T23:59:59.999999999","c1":null}`,
	})})
	// Which releases up to 1.2.0 cannot read, whoever wrote it.
	earlier := w.create("db.nanos_before_1970", schema.Spec{Fields: nanos})
	earlier.write(testenv.Row{"c0": "1969-12-31T23:59:59.999999999", "c1": "0001-01-01T00:00:00.0000001Z"})
	before := told{earlier, []string{`{"c0":"1969-12-31T23:59:59.999999999","c1":"0001-01-01T00:00:00.0000001Z"}`}}
	for _, release := range testenv.Releases() {
		java := testenv.RefereeOf(t, release)
		read := tables
		if release >= "1.3.1" {
			read = append(read[:len(read):len(read)], before)
		}
		for _, table := range read {
			requireSameLines(t, table.want, table.java(java, 0), "Paimon "+release+" of "+table.id.Table)
		}
	}
}
