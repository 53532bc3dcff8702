package source

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
)

// TestCommonType has the pairs that the rules name, and pairs that have nothing in common. Digits are those of the
// numbers' ranges: a BIGINT has 19 of them.
func TestCommonType(t *testing.T) {
	for _, c := range [][3]string{
		{"TINYINT", "SMALLINT", "SMALLINT"},
		{"INT", "BIGINT", "BIGINT"},
		{"BIGINT", "DECIMAL(20, 0)", "DECIMAL(20, 0)"},
		{"INT", "DECIMAL(10, 2)", "DECIMAL(12, 2)"},
		{"TINYINT", "DECIMAL(5, 0)", "DECIMAL(5, 0)"},
		{"SMALLINT", "DECIMAL(4, 4)", "DECIMAL(9, 4)"},
		{"BIGINT", "DECIMAL(38, 19)", "DECIMAL(38, 19)"},
		{"BIGINT", "DECIMAL(38, 20)", ""},
		{"DECIMAL(10, 2)", "DECIMAL(12, 4)", "DECIMAL(12, 4)"},
		{"DECIMAL(10, 0)", "DECIMAL(10, 10)", "DECIMAL(20, 10)"},
		{"DECIMAL(38, 0)", "DECIMAL(10, 1)", ""},
		{"FLOAT", "DOUBLE", "DOUBLE"},
		{"FLOAT", "INT", ""},
		{"DOUBLE", "DECIMAL(10, 2)", ""},
		{"STRING", "VARCHAR(10)", "STRING"},
		{"CHAR(10)", "VARCHAR(5)", "VARCHAR(10)"},
		{"CHAR(3)", "CHAR(5)", "VARCHAR(5)"},
		{"BYTES", "BINARY(16)", "BYTES"},
		{"BINARY(4)", "VARBINARY(2)", "VARBINARY(4)"},
		{"STRING", "BYTES", ""},
		{"STRING", "INT", ""},
		{"TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(3)"},
		{"TIMESTAMP(6)", "TIMESTAMP(3)", "TIMESTAMP(6)"},
		{"TIMESTAMP_LTZ(0)", "TIMESTAMP_LTZ(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE"},
		{"TIMESTAMP_LTZ(6)", "TIMESTAMP(6)", ""},
		{"DATE", "TIMESTAMP(0)", ""},
		{"TIME(0)", "TIME(3)", "TIME(3)"},
		{"BOOLEAN", "TINYINT", ""},
		{"BOOLEAN", "BOOLEAN", "BOOLEAN"},
		{"INT NOT NULL", "BIGINT", "BIGINT"},
		{"INT NOT NULL", "BIGINT NOT NULL", "BIGINT NOT NULL"},
	} {
		a, err := schema.ParseType(c[0])
		require.NoError(t, err)
		b, err := schema.ParseType(c[1])
		require.NoError(t, err)
		for _, pair := range [][2]schema.Type{{a, b}, {b, a}} {
			got, ok := CommonType(pair[0], pair[1])
			require.Equal(t, c[2] != "", ok, c)
			if ok {
				require.Equal(t, c[2], got.String(), c)
			}
		}
	}
}

// TestMergeWidens has the shards of one table that drifted apart in every way that a merge reconciles.
func TestMergeWidens(t *testing.T) {
	key := []string{"id"}
	tables := []Table{
		shardOf("t0", key, "id int!", "amount decimal(10,2)!", "at datetime", "name varchar(9)!"),
		shardOf("t1", key, "id int!", "amount decimal(10,2)!", "at datetime", "name varchar(9)!"),
		shardOf("t2", key, "At datetime(3)", "ID bigint!", "amount decimal(12,4)!", "name varchar(20)"), // another order, case and precision
		shardOf("t3", key, "id int!", "amount int!", "at datetime(6)", "more int!"),
	}
	m, err := Merge(tables, MergeOptions{})
	require.NoError(t, err)
	var fields []string
	for _, f := range m.Fields() {
		fields = append(fields, f.Name+" "+f.Type.String())
	}
	require.Equal(t, []string{"id BIGINT NOT NULL", "amount DECIMAL(14, 4) NOT NULL", "at TIMESTAMP(6)", "name STRING", "more INT"}, fields)
	require.Equal(t, key, m.PrimaryKey)
	var drifts []string
	for _, d := range m.Drifts {
		drifts = append(drifts, d.String())
	}
	require.Equal(t, []string{
		`column "ID" is bigint in a/shop/t2, but int in a/shop/t0: becomes BIGINT; no value is lost`,
		`column "amount" is decimal(12,4) in a/shop/t2, but decimal(10,2) in a/shop/t0: becomes DECIMAL(14, 4); no value is lost`,
		`column "At" is datetime(3) in a/shop/t2, but datetime in a/shop/t0: becomes TIMESTAMP(6); no value is lost`,
		`column "name" is varchar(20) in a/shop/t2, but varchar(9) in a/shop/t0: may be NULL; no value is lost`,
		`column "amount" is int in a/shop/t3, but decimal(10,2) in a/shop/t0: becomes DECIMAL(14, 4); no value is lost`,
		`column "at" is datetime(6) in a/shop/t3, but datetime in a/shop/t0: becomes TIMESTAMP(6); no value is lost`,
		`a/shop/t3 lacks column "name", which is varchar(9) in a/shop/t0: is NULL in its rows; no default is filled in`,
		`a/shop/t3 has column "more" (int), which a/shop/t0 lacks: is added as INT, NULL in the rows of shards that lack it; no value is lost`,
	}, drifts)
	outputs := m.Outputs(tables[3])
	require.Len(t, outputs, 5)
	require.Empty(t, outputs[3].Column.Name, "what a shard lacks is not read")
	require.Equal(t, "STRING", outputs[3].Type.String())
	require.Equal(t, "more", outputs[4].Column.Name)
	require.Empty(t, m.Outputs(tables[0])[4].Column.Name)
}

// TestMergeSelectsWhatSomeLack reads a column that the first shards do not have.
func TestMergeSelectsWhatSomeLack(t *testing.T) {
	tables := []Table{
		shardOf("t0", nil, "id int!", "b int"), shardOf("t1", nil, "id int!", "b int"),
		shardOf("t2", nil, "id int!", "late bigint!"), shardOf("t3", nil, "id int!", "LATE int!"),
	}
	m, err := Merge(tables, MergeOptions{Columns: []Select{{Name: "Late", As: "l"}, {Name: "id"}, {Name: "late", As: "again"}}})
	require.NoError(t, err)
	require.Equal(t, "l", m.Columns[0].Name)
	require.Equal(t, "late", m.Columns[0].Source)
	require.Equal(t, "BIGINT", m.Columns[0].Type.String())
	require.Equal(t, "BIGINT", m.Columns[2].Type.String())
	require.Contains(t, m.Drifts[0].String(), `a/shop/t0 lacks column "Late", which is bigint in a/shop/t2: is NULL`)
	_, err = Merge(tables, MergeOptions{Columns: []Select{{Name: "late"}}})
	require.ErrorContains(t, err, "a/shop/t0 (and one more shard) has none of the columns that are read")
	_, err = Merge(tables, MergeOptions{Columns: []Select{{Name: "late"}, {Name: "id"}}, Drift: DriftStrict})
	require.ErrorContains(t, err, `a/shop/t0 (and one more shard) lacks column "late", which is bigint in a/shop/t2`)
}

// TestMergeRefusesDrift has what no policy but quarantine reconciles.
func TestMergeRefusesDrift(t *testing.T) {
	for _, c := range []struct{ a, b, says string }{
		{"v int", "v varchar(9)", `column "v" is varchar(9) in a/shop/odd, but int in a/shop/t0`},
		{"v bit(8)", "v geometry", "geometry in a/shop/odd"},
		{"v datetime", "v decimal(10,2)", "decimal(10,2) in a/shop/odd"},
	} {
		tables := []Table{
			shardOf("odd", []string{"id"}, "id int!", c.b, "other int"), shardOf("t0", []string{"id"}, "id int!", c.a), shardOf("t1", []string{"id"}, "id int!", c.a),
			shardOf("key", []string{"v"}, "id int!", c.a),
		}
		for _, drift := range []DriftPolicy{DriftWiden, ""} {
			_, err := Merge(tables, MergeOptions{Drift: drift})
			require.ErrorIs(t, err, ErrRefused)
			require.ErrorContains(t, err, "differ in 2 places")
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "a/shop/key has primary key (v), but a/shop/t0 has primary key (id)")
		}
		tables = append(tables, shardOf("t2", []string{"id"}, "id bigint!", c.a))
		m, err := Merge(tables, MergeOptions{Drift: DriftQuarantine})
		require.NoError(t, err)
		require.Len(t, m.LeftOut, 2)
		require.Equal(t, "odd", m.LeftOut[0].Shard.Table)
		require.Contains(t, m.LeftOut[0].String(), c.says)
		require.False(t, m.Keeps(tables[0].Shard))
		require.True(t, m.Keeps(tables[1].Shard))
		require.Len(t, m.Columns, 2, "what only a shard has that is left out is not there")
		require.Equal(t, "BIGINT NOT NULL", m.Columns[0].Type.String(), "the others are merged")
	}
}

// TestQuarantineNeedsAMajority: of two shards nobody knows which is the odd one.
func TestQuarantineNeedsAMajority(t *testing.T) {
	a, b := shardOf("t0", nil, "v int"), shardOf("t1", nil, "v varchar(9)")
	_, err := Merge([]Table{a, b}, MergeOptions{Drift: DriftQuarantine})
	var drift *DriftError
	require.ErrorAs(t, err, &drift)
	require.Len(t, drift.Drifts, 1)
	_, err = Merge([]Table{a, b, shardOf("t2", nil, "w int", "v int")}, MergeOptions{Drift: DriftQuarantine, Columns: []Select{{Name: "v"}}})
	require.NoError(t, err)
	odd := shardOf("t3", []string{"v"}, "v int", "rare int")
	_, err = Merge([]Table{a, a, odd}, MergeOptions{Drift: DriftQuarantine, Columns: []Select{{Name: "v"}, {Name: "rare"}}})
	require.ErrorContains(t, err, "only shards that are left out have them")
	// A column that the types' policy refuses is no drift: nothing is left out for it.
	odd.PrimaryKey = nil
	odd.Losses = []Loss{{Column: "v", What: "cannot be", Refused: true}}
	_, err = Merge([]Table{a, a, odd}, MergeOptions{Drift: DriftQuarantine})
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
}

// TestLeftOutText: a shard with nothing in common has a bounded text.
func TestLeftOutText(t *testing.T) {
	var a, b []string
	for i := range 100 {
		a, b = append(a, fmt.Sprintf("c%d int", i)), append(b, fmt.Sprintf("c%d varchar(9)", i))
	}
	m, err := Merge([]Table{shardOf("t0", nil, a...), shardOf("t1", nil, b...), shardOf("t2", nil, a...)}, MergeOptions{Drift: DriftQuarantine})
	require.NoError(t, err)
	require.Len(t, m.LeftOut[0].Drifts, 100)
	require.Contains(t, m.LeftOut[0].String(), "and 95 more differences")
	require.Less(t, len(m.LeftOut[0].String()), 1000)
}

// TestDecimalText: numbers beside text of numbers become such text, other text does not.
func TestDecimalText(t *testing.T) {
	long := Table{Shard: Shard{Table: "long"}, Columns: []Column{{Name: "d", Type: schema.StringType(), Form: FormDecimal}}}
	short := Table{Shard: Shard{Table: "short"}, Columns: []Column{{Name: "d", Type: schema.DecimalType(10, 2)}}}
	text := Table{Shard: Shard{Table: "text"}, Columns: []Column{{Name: "d", Type: schema.StringType()}}}
	for _, tables := range [][]Table{{long, short}, {short, long}} {
		m, err := Merge(tables, MergeOptions{})
		require.NoError(t, err)
		require.Equal(t, "STRING", m.Columns[0].Type.String())
	}
	_, err := Merge([]Table{long, text}, MergeOptions{})
	require.ErrorIs(t, err, ErrRefused)
}

// TestGroupDrifts: a thousand shards that drifted alike are one line.
func TestGroupDrifts(t *testing.T) {
	tables := []Table{shardOf("t", nil, "id int", "v int"), shardOf("t", nil, "id int", "v int")}
	for i := range 1000 {
		tables = append(tables, shardOf(fmt.Sprintf("t%d", i), nil, "id int", "v varchar(9)"))
	}
	_, err := Merge(tables, MergeOptions{})
	require.ErrorContains(t, err, "differ in 2 places")
	tables[0].Columns[1].Type = bigType
	tables[1].Columns[1].Type = bigType
	for i := range tables[2:] {
		tables[i+2].Columns[1].Type = intType
	}
	m, err := Merge(tables, MergeOptions{})
	require.NoError(t, err)
	groups := GroupDrifts(m.Drifts)
	require.Len(t, groups, 1)
	require.Equal(t, 1, groups[0].More)
	require.Contains(t, groups[0].String(), "a/shop/t (and one more shard), but varchar(9) in a/shop/t0: becomes BIGINT")
}

// TestStrictTakesNoOtherDefinition: what the merge would make nothing of, as both are STRING, is a difference under strict; what
// the source calls alike is none.
func TestStrictTakesNoOtherDefinition(t *testing.T) {
	for _, c := range [][2]string{{"v varchar(20)", "v varchar(30)"}, {"v int", "v bigint"}, {"v datetime", "v datetime(3)"}} {
		tables := []Table{shardOf("t0", nil, "id int!", c[0]), shardOf("t1", nil, "id int!", c[0]), shardOf("t2", nil, c[1], "id int!")}
		_, err := Merge(tables, MergeOptions{Drift: DriftStrict})
		require.ErrorIs(t, err, ErrRefused, c)
		require.ErrorContains(t, err, "the shards differ in one place")
		require.ErrorContains(t, err, `in a/shop/t2, but`)
		require.ErrorContains(t, err, "drift: quarantine")
		_, err = Merge(tables, MergeOptions{Drift: DriftStrict, Alike: func(string, string) bool { return true }})
		require.NoError(t, err)
		_, err = Merge(tables, MergeOptions{})
		require.NoError(t, err)
	}
}
