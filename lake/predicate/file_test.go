package predicate_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/predicate"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// goldenFile is a data file of a table that Paimon's Java wrote, and the schema that it was written with.
type goldenFile struct {
	manifest.DataFile
	fields []schema.Field
}

func (f goldenFile) stats() predicate.FileStats {
	return predicate.FileStats{
		Fields: f.fields, Columns: f.ValueStatsColumns, Min: f.ValueStats.Min, Max: f.ValueStats.Max, Nulls: f.ValueStats.NullCounts,
		Rows: f.Rows,
	}
}

// golden reads the files that each snapshot of an append table added, and its latest schema.
func golden(t *testing.T, table string) ([][]goldenFile, *schema.Table) {
	t.Helper()
	root, err := filepath.Abs("../testdata/golden.db")
	require.NoError(t, err)
	store, err := fileio.NewLocal(root)
	require.NoError(t, err)
	schemas := snapshot.Schemas{Store: store, Table: table}
	m := snapshot.NewManager(store, table)
	ids, err := m.List(t.Context())
	require.NoError(t, err)
	var files [][]goldenFile
	for _, id := range ids {
		s, err := m.Get(t.Context(), id)
		require.NoError(t, err)
		folder := manifest.In(store, table)
		metas, err := folder.ReadList(t.Context(), manifest.List{Name: s.DeltaManifestList})
		require.NoError(t, err)
		var added []goldenFile
		for _, meta := range metas {
			require.NoError(t, folder.ReadManifest(t.Context(), meta, func(e *manifest.Entry) error {
				written, err := schemas.Get(t.Context(), e.File.SchemaID)
				if err == nil {
					added = append(added, goldenFile{e.File, written.Fields})
				}
				return err
			}))
		}
		require.NotEmpty(t, added)
		files = append(files, added)
	}
	latest, err := schemas.Latest(t.Context())
	require.NoError(t, err)
	return files, latest
}

func rows(t *testing.T, file string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(path.Join("../testdata/expected", file))
	require.NoError(t, err)
	var out []map[string]any
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r map[string]any
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		out = append(out, r)
	}
	require.NotEmpty(t, out)
	return out
}

// exactly are conditions that a value fulfils.
func exactly(f schema.Field, v row.Value) []predicate.Condition {
	if v.Null {
		return []predicate.Condition{predicate.IsNull(f.Name)}
	}
	return []predicate.Condition{
		predicate.IsNotNull(f.Name), predicate.Eq(f.Name, v), predicate.LessOrEq(f.Name, v), predicate.GreaterOrEq(f.Name, v),
		predicate.In(f.Name, v),
	}
}

// Paimon's statistics of five schema versions, judged in the latest: the file of a row is never ruled out by the row's
// values as Paimon reads them, and the others are by its id.
func TestMayMatchFileAcrossPaimonsSchemas(t *testing.T) {
	files, latest := golden(t, "append_schema_evolution")
	// Which snapshot brought which rows is what the table was made with: the second row of id 1 came with the fourth.
	snapshotOf := map[string]int{"one": 0, "two": 0, "three": 1, "four": 2, "five": 3, "one again": 3, "six": 4}
	require.Len(t, files, 5)
	kept := 0
	for _, r := range rows(t, "append_schema_evolution/expected.jsonl") {
		mine := snapshotOf[r["title"].(string)]
		for _, f := range latest.Fields {
			v := row.NullValue()
			if text, ok := r[f.Name].(string); ok {
				var err error
				v, err = row.ParseText(f.Type, text)
				require.NoError(t, err)
			}
			for _, c := range exactly(f, v) {
				p, err := predicate.Bind(latest.Fields, c)
				require.NoError(t, err)
				for _, file := range files[mine] {
					may, err := p.MayMatchFile(file.stats())
					require.NoError(t, err)
					require.True(t, may, "%s in the file of snapshot %d", p, mine+1)
				}
			}
			if f.Name != "id" && f.Name != "qty" && f.Name != "price" {
				continue
			}
			p, err := predicate.Bind(latest.Fields, predicate.Eq(f.Name, v))
			require.NoError(t, err)
			for i := range files {
				may, err := p.MayMatchFile(files[i][0].stats())
				require.NoError(t, err)
				if may {
					kept++
				}
			}
		}
	}
	// Of 7 rows × 3 columns × 5 files those stay that hold the value, or whose bounds include it: the fourth file has ids 1
	// to 5, quantities 5 to 11 and prices 5.50 to 11.00. By id 2+2+2+2+1+2+1 files, by quantity 1+1+1+1+1+2+1, where 6 lies
	// within the fourth too, and as many by price.
	require.Equal(t, 12+8+8, kept)
}

func TestMayMatchFileOfColumnsThatAFileLacks(t *testing.T) {
	files, latest := golden(t, "append_schema_evolution")
	for _, c := range []struct {
		condition predicate.Condition
		want      []bool
	}{
		// The first file has a note under an id that was dropped; the note of now came with the fifth.
		{predicate.IsNotNull("note"), []bool{false, false, false, false, true}},
		{predicate.Eq("note", row.Value{B: []byte("note 1")}), []bool{false, false, false, false, false}},
		{predicate.IsNull("added"), []bool{true, false, false, false, false}},
	} {
		p, err := predicate.Bind(latest.Fields, c.condition)
		require.NoError(t, err)
		for i, want := range c.want {
			may, err := p.MayMatchFile(files[i][0].stats())
			require.NoError(t, err)
			require.Equal(t, want, may, "%s in file %d", p, i)
		}
	}
}

// One file of all types, as Paimon wrote it: no value of its rows rules it out.
func TestMayMatchFileOfAllTypes(t *testing.T) {
	files, latest := golden(t, "append_all_types")
	require.Len(t, files, 1)
	for _, r := range rows(t, "append_all_types/expected.jsonl") {
		for _, f := range latest.Fields {
			text, ok := r[f.Name].(string)
			v := row.NullValue()
			if ok {
				var err error
				v, err = row.ParseText(f.Type, text)
				require.NoError(t, err)
			}
			for _, c := range exactly(f, v) {
				p, err := predicate.Bind(latest.Fields, c)
				require.NoError(t, err)
				may, err := p.MayMatchFile(files[0][0].stats())
				require.NoError(t, err)
				require.True(t, may, p.String())
			}
		}
	}
}

func TestMayMatchFileWidensBounds(t *testing.T) {
	for _, c := range []struct {
		from, low, high, to string
		inside, outside     string
	}{
		{"TINYINT", "-5", "7", "BIGINT", "7", "8"},
		{"FLOAT", "0.1", "0.2", "DOUBLE", "0.10000000149011612", "0.1"},
		{"DECIMAL(9, 2)", "-1.10", "2.20", "DECIMAL(30, 4)", "2.2000", "2.2001"},
		{"DECIMAL(20, 2)", "-1.10", "2.20", "DECIMAL(22, 4)", "-1.1000", "-1.1001"},
		{"TIMESTAMP(3)", "1969-12-31T23:59:59.999", "2024-01-01T00:00:00.000", "TIMESTAMP(9)", "1969-12-31T23:59:59.999000000", "1969-12-31T23:59:59.998999999"},
		{"TIMESTAMP(3) WITH LOCAL TIME ZONE", "1970-01-01T00:00:00.001Z", "2024-01-01T00:00:00.000Z", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00.000001Z"},
		{"CHAR(3)", "abc", "abd", "STRING", "abcd", "abe"},
		// Casts to these may change a value, so that nothing is known.
		{"BIGINT", "1", "2", "INT", "7", ""},
		{"STRING", "a", "b", "INT", "7", ""},
		{"INT", "1", "2", "DOUBLE", "7", ""},
	} {
		from := column(t, c.from)
		nulls := int64(0)
		stats := predicate.FileStats{
			Fields: from, Rows: 3, Nulls: []*int64{&nulls},
			Min: row.Serialize(row.Types(from), []row.Value{parsed(t, c.from, c.low)}),
			Max: row.Serialize(row.Types(from), []row.Value{parsed(t, c.from, c.high)}),
		}
		renamed := column(t, c.to)
		renamed[0].Name = "renamed"
		for text, want := range map[string]bool{c.inside: true, c.outside: false} {
			if text == "" {
				continue
			}
			p, err := predicate.Bind(renamed, predicate.Eq("renamed", parsed(t, c.to, text)))
			require.NoError(t, err)
			may, err := p.MayMatchFile(stats)
			require.NoError(t, err)
			require.Equal(t, want, may, "%s in %s to %s of %s, now %s", p, c.low, c.high, c.from, c.to)
		}
		p, err := predicate.Bind(renamed, predicate.IsNull("renamed"))
		require.NoError(t, err)
		may, err := p.MayMatchFile(stats)
		require.NoError(t, err)
		require.Equal(t, c.outside == "", may, "a cast may give NULL, widening gives none")
	}
}

func TestMayMatchFileNamesWhatIsWrong(t *testing.T) {
	fields := column(t, "INT")
	p, err := predicate.Bind(fields, predicate.Eq("c", row.Value{I64: 1}))
	require.NoError(t, err)
	one := row.Serialize(row.Types(fields), []row.Value{{I64: 5}})
	none := make([]byte, 12)
	for want, s := range map[string]predicate.FileStats{
		"too short":        {Fields: fields, Rows: 1},
		"a column \"x\"":   {Fields: fields, Columns: []string{"x"}, Min: one, Max: one, Nulls: []*int64{nil}, Rows: 1},
		"upper bounds":     {Fields: fields, Min: one, Max: none, Nulls: []*int64{nil}, Rows: 1},
		"lower bounds":     {Fields: fields, Min: none, Max: one, Nulls: []*int64{nil}, Rows: 1},
		"numbers of nulls": {Fields: fields, Min: one, Max: one, Rows: 1},
	} {
		_, err := p.MayMatchFile(s)
		require.ErrorContains(t, err, want)
	}
	for _, s := range []predicate.FileStats{
		{Fields: fields, Min: none, Max: none, Rows: 1},
		{Fields: fields, Columns: []string{}, Min: none, Max: none, Rows: 1},
	} {
		may, err := p.MayMatchFile(s)
		require.NoError(t, err)
		require.True(t, may, "nothing is known")
	}
}

// random makes rows, files and conditions of columns of all atomic types.
type random struct{ *rand.Rand }

func kinds() []string {
	return []string{
		"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(18, 3)", "DECIMAL(30, 4)",
		"CHAR(5)", "STRING", "BINARY(3)", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
		"TIMESTAMP(6) WITH LOCAL TIME ZONE",
	}
}

func (r random) value(t schema.Type) row.Value {
	n := int64(r.IntN(9) - 4)
	switch row.LayoutOf(t) {
	case row.LayoutInt32:
		if t.Kind == schema.Boolean || t.Kind == schema.Time {
			n = int64(r.IntN(2))
		}
		return row.Value{I64: n}
	case row.LayoutFloat32, row.LayoutFloat64:
		special := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1)}
		if r.IntN(4) == 0 {
			return row.Value{F64: special[r.IntN(len(special))]}
		}
		return row.Value{F64: float64(n) / 2}
	case row.LayoutNanos:
		return row.Value{I64: n, Nanos: int32(r.IntN(3))}
	case row.LayoutFixed:
		b := bytes.Repeat([]byte{byte(n >> 8)}, row.FixedWidth(t.Precision))
		b[len(b)-1] = byte(n)
		return row.Value{B: b}
	case row.LayoutBytes:
		letters := []string{"", "a", "b", "é", "中", "😀", "\U0010FFFF", "xxxxxxxxxxxxxxxxxxxxxxxxx"}
		s := letters[r.IntN(len(letters))] + letters[r.IntN(len(letters))]
		return row.Value{B: []byte(s)}
	}
	return row.Value{I64: n}
}

func (r random) condition(fields []schema.Field, depth int) predicate.Condition {
	if depth < 3 && r.IntN(3) == 0 {
		parts := make([]predicate.Condition, r.IntN(4))
		for i := range parts {
			parts[i] = r.condition(fields, depth+1)
		}
		if r.IntN(2) == 0 {
			return predicate.And(parts...)
		}
		return predicate.Or(parts...)
	}
	f := fields[r.IntN(len(fields))]
	v := r.value(f.Type)
	return []predicate.Condition{
		predicate.Eq(f.Name, v), predicate.NotEq(f.Name, v), predicate.Less(f.Name, v), predicate.LessOrEq(f.Name, v),
		predicate.Greater(f.Name, v), predicate.GreaterOrEq(f.Name, v), predicate.In(f.Name, v, r.value(f.Type)),
		predicate.IsNull(f.Name), predicate.IsNotNull(f.Name), predicate.In(f.Name),
	}[r.IntN(10)]
}

// A file with a wanted row is never ruled out by the statistics that this library writes of it, and a batch's selection is
// what the rows one by one say; yet most files without a wanted row are ruled out.
func TestNoWantedRowIsRuledOut(t *testing.T) {
	r := random{rand.New(rand.NewPCG(20, 24))}
	ruledOut, kept := 0, 0
	for range 150 {
		var fields []schema.Field
		for i := range 1 + r.IntN(5) {
			typ := typeOf(t, kinds()[r.IntN(len(kinds()))])
			fields = append(fields, schema.Field{ID: i, Name: string(rune('a' + i)), Type: typ})
		}
		b := row.NewBatch(row.Types(fields))
		b.Rows = 1 + r.IntN(5)
		for i, f := range fields {
			nulls := []float64{0, 0.3, 1}[r.IntN(3)]
			for range b.Rows {
				if r.Float64() < nulls {
					b.Columns[i].AppendNull()
				} else {
					b.Columns[i].Append(r.value(f.Type))
				}
			}
		}
		var file bytes.Buffer
		w, err := datafile.NewWriter(&file, fields, datafile.Options{})
		require.NoError(t, err)
		require.NoError(t, w.Write(b))
		result, err := w.Close()
		require.NoError(t, err)
		modes, err := datafile.StatsModes(fields, map[string]string{
			"metadata.stats-mode": []string{"truncate(2)", "full", "counts", "none"}[r.IntN(4)], "fields.a.stats-mode": "truncate(16)",
		})
		require.NoError(t, err)
		stats, columns, err := datafile.ManifestStats(result.Columns, modes)
		require.NoError(t, err)
		s := predicate.FileStats{Fields: fields, Columns: columns, Min: stats.Min, Max: stats.Max, Nulls: stats.NullCounts, Rows: result.Rows}
		for range 100 {
			p, err := predicate.Bind(fields, r.condition(fields, 0), r.condition(fields, 2))
			require.NoError(t, err)
			wanted := []int32{}
			for i := range b.Rows {
				values := make([]row.Value, len(fields))
				for j := range fields {
					values[j] = b.Columns[j].Value(i)
				}
				if p.Matches(values) {
					wanted = append(wanted, int32(i))
				}
			}
			require.Equal(t, wanted, p.Select(b, []int32{}), p.String())
			may, err := p.MayMatchFile(s)
			require.NoError(t, err)
			switch {
			case len(wanted) > 0:
				require.True(t, may, p.String())
			case may:
				kept++
			default:
				ruledOut++
			}
		}
	}
	require.Greater(t, ruledOut, 2*kept)
}

func FuzzFileStats(f *testing.F) {
	fields := []schema.Field{
		{ID: 0, Name: "i", Type: schema.Of(schema.Int)}, {ID: 1, Name: "s", Type: schema.StringType()}, {ID: 2, Name: "d", Type: schema.DecimalType(30, 2)},
	}
	good := row.Serialize(row.Types(fields), []row.Value{{I64: 1}, {B: []byte("a longer string")}, {B: make([]byte, row.FixedWidth(30))}})
	f.Add(good, good, int64(2), uint8(3))
	f.Add(make([]byte, 12), make([]byte, 12), int64(2), uint8(0))
	wide := []schema.Field{
		{ID: 0, Name: "i", Type: schema.Of(schema.BigInt)}, {ID: 1, Name: "s", Type: schema.StringType()}, {ID: 2, Name: "d", Type: schema.DecimalType(32, 4)},
	}
	p, err := predicate.Bind(wide, predicate.Eq("i", row.Value{I64: 1}), predicate.Less("s", row.Value{B: []byte("b")}),
		predicate.Or(predicate.IsNull("d"), predicate.GreaterOrEq("d", row.Value{B: make([]byte, row.FixedWidth(32))})))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, low, high []byte, rows int64, columns uint8) {
		s := predicate.FileStats{Fields: fields, Min: low, Max: high, Rows: rows, Nulls: make([]*int64, columns%8)}
		may, err := p.MayMatchFile(s)
		require.False(t, may && err != nil)
		if err == nil && len(s.Nulls) == 0 && rows != 0 {
			require.True(t, may, "nothing is known")
		}
	})
}
