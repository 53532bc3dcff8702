package predicate_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/predicate"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

func parsed(t testing.TB, typ, text string) row.Value {
	t.Helper()
	if text == "NULL" {
		return row.NullValue()
	}
	v, err := row.ParseText(typeOf(t, typ), text)
	require.NoError(t, err)
	return v
}

func typeOf(t testing.TB, text string) schema.Type {
	t.Helper()
	typ, err := schema.ParseType(text)
	require.NoError(t, err)
	return typ
}

func column(t testing.TB, typ string) []schema.Field {
	return []schema.Field{{ID: 7, Name: "c", Type: typeOf(t, typ)}}
}

// condition makes a condition on column c from an operator and texts of values.
func condition(t testing.TB, typ, operator string, texts ...string) predicate.Condition {
	t.Helper()
	var values []row.Value
	for _, text := range texts {
		values = append(values, parsed(t, typ, text))
	}
	switch operator {
	case "IN":
		return predicate.In("c", values...)
	case "IS NULL":
		return predicate.IsNull("c")
	case "IS NOT NULL":
		return predicate.IsNotNull("c")
	}
	comparisons := map[string]func(string, row.Value) predicate.Condition{
		"=": predicate.Eq, "<>": predicate.NotEq, "<": predicate.Less, "<=": predicate.LessOrEq,
		">": predicate.Greater, ">=": predicate.GreaterOrEq,
	}
	require.Contains(t, comparisons, operator)
	return comparisons[operator]("c", values[0])
}

// What SQL and, for floats, Java's Double.compareTo say of values.
func TestSelect(t *testing.T) {
	ints := []string{"-3", "NULL", "5", "7", "5"}
	floats := []string{"NaN", "-0", "0", "NULL", "-Inf", "+Inf"}
	for _, c := range []struct {
		typ, operator string
		literals      []string
		values        []string
		want          []int32
	}{
		{"INT", "=", []string{"5"}, ints, []int32{2, 4}},
		{"INT", "<>", []string{"5"}, ints, []int32{0, 3}},
		{"INT", "<", []string{"5"}, ints, []int32{0}},
		{"INT", "<=", []string{"5"}, ints, []int32{0, 2, 4}},
		{"INT", ">", []string{"5"}, ints, []int32{3}},
		{"INT", ">=", []string{"0"}, ints, []int32{2, 3, 4}},
		{"INT", "=", []string{"0"}, ints, []int32{}},
		{"INT", "IN", []string{"7", "-3", "8", "7"}, ints, []int32{0, 3}},
		{"INT", "IN", nil, ints, []int32{}},
		{"INT", "IS NULL", nil, ints, []int32{1}},
		{"INT", "IS NOT NULL", nil, ints, []int32{0, 2, 3, 4}},
		{"BIGINT", "<", []string{"0"}, []string{"-9223372036854775808", "NULL", "9223372036854775807"}, []int32{0}},
		{"BOOLEAN", "=", []string{"false"}, []string{"false", "true", "NULL"}, []int32{0}},
		{"DECIMAL(9, 2)", ">", []string{"-1.10"}, []string{"-1.11", "-1.10", "-1.09", "0.00"}, []int32{2, 3}},
		{"DECIMAL(30, 2)", "<", []string{"0.00"}, []string{"-1.11", "1.00", "NULL", "-9999999999999999999999999999.99"}, []int32{0, 3}},
		{"DATE", ">=", []string{"1970-01-01"}, []string{"1969-12-31", "1970-01-01", "2024-02-29"}, []int32{1, 2}},
		{"TIMESTAMP(9)", ">", []string{"2024-01-01T00:00:00.000000001"}, []string{"2024-01-01T00:00:00.000000001", "2024-01-01T00:00:00.000000002"}, []int32{1}},
		{"STRING", "<", []string{"b"}, []string{"a", "B", "", "b", "é", "NULL"}, []int32{0, 1, 2}},
		{"BYTES", ">", []string{"7f"}, []string{"80", "7f", "7f00", ""}, []int32{0, 2}},
		{"DOUBLE", "=", []string{"0"}, floats, []int32{2}},
		{"DOUBLE", "=", []string{"NaN"}, floats, []int32{0}},
		{"DOUBLE", ">", []string{"0"}, floats, []int32{0, 5}},
		{"FLOAT", "<", []string{"0"}, floats, []int32{1, 4}},
		{"FLOAT", "<>", []string{"1"}, floats, []int32{0, 1, 2, 4, 5}},
	} {
		fields := column(t, c.typ)
		p, err := predicate.Bind(fields, condition(t, c.typ, c.operator, c.literals...))
		require.NoError(t, err)
		b := row.NewBatch(row.Types(fields))
		for _, text := range c.values {
			b.Columns[0].Append(parsed(t, c.typ, text))
			b.Rows++
		}
		require.Equal(t, append([]int32{99}, c.want...), p.Select(b, []int32{99}), "%s of %s %q", p, c.typ, c.values)
	}
}

func TestAndOr(t *testing.T) {
	fields := []schema.Field{{Name: "a", Type: schema.Of(schema.Int)}, {Name: "b", Type: schema.StringType()}}
	b := row.NewBatch(row.Types(fields))
	for i, s := range []string{"x", "y", "x", "z"} {
		b.Columns[0].Append(row.Value{I64: int64(i)})
		b.Columns[1].AppendBytes([]byte(s))
		b.Rows++
	}
	x, y := row.Value{B: []byte("x")}, row.Value{B: []byte("y")}
	one, two := row.Value{I64: 1}, row.Value{I64: 2}
	for _, c := range []struct {
		conditions []predicate.Condition
		want       []int32
		text       string
		columns    []int
	}{
		{nil, []int32{0, 1, 2, 3}, "TRUE", nil},
		{[]predicate.Condition{predicate.Or()}, []int32{}, "FALSE", nil},
		{[]predicate.Condition{predicate.Eq("b", x), predicate.Greater("a", one)}, []int32{2}, "(b = 'x' AND a > 1)", []int{0, 1}},
		{[]predicate.Condition{predicate.Or(predicate.Eq("b", y), predicate.GreaterOrEq("a", two))}, []int32{1, 2, 3}, "(b = 'y' OR a >= 2)", []int{0, 1}},
		{
			[]predicate.Condition{predicate.Or(predicate.And(predicate.Eq("b", x), predicate.Less("a", one)), predicate.In("b", y, x)), predicate.NotEq("a", two)},
			[]int32{0, 1},
			"(((b = 'x' AND a < 1) OR b IN ('x', 'y')) AND a <> 2)",
			[]int{0, 1},
		},
		{[]predicate.Condition{predicate.IsNull("b")}, []int32{}, "b IS NULL", []int{1}},
	} {
		p, err := predicate.Bind(fields, c.conditions...)
		require.NoError(t, err)
		require.Equal(t, c.want, p.Select(b, []int32{}), c.text)
		require.Equal(t, c.text, p.String())
		require.Equal(t, c.columns, p.Columns())
		for i := range b.Rows {
			wanted := false
			for _, w := range c.want {
				wanted = wanted || int(w) == i
			}
			require.Equal(t, wanted, p.Matches([]row.Value{b.Columns[0].Value(i), b.Columns[1].Value(i)}))
		}
	}
}

func TestBindRefuses(t *testing.T) {
	element := schema.Of(schema.Int)
	fields := []schema.Field{
		{Name: "n", Type: schema.Of(schema.TinyInt)},
		{Name: "d", Type: schema.DecimalType(20, 0)},
		{Name: "tags", Type: schema.Type{Kind: schema.Array, Element: &element}},
	}
	for _, c := range []struct {
		condition predicate.Condition
		want      string
	}{
		{predicate.Eq("x", row.Value{}), `no column "x"`},
		{predicate.Eq("n", row.NullValue()), "NULL equals nothing"},
		{predicate.In("n", row.Value{}, row.NullValue()), "NULL equals nothing"},
		{predicate.Less("n", row.Value{I64: 128}), "128 is no TINYINT"},
		{predicate.Eq("d", row.Value{B: []byte{1}}), "has 9 bytes, not 1"},
		{predicate.Eq("tags", row.Value{}), "no order"},
		{predicate.Or(predicate.And(predicate.IsNull("x"))), `no column "x"`},
	} {
		_, err := predicate.Bind(fields, c.condition)
		require.ErrorIs(t, err, predicate.ErrCondition)
		require.ErrorContains(t, err, c.want)
	}
	p, err := predicate.Bind(fields, predicate.IsNotNull("tags"))
	require.NoError(t, err)
	require.False(t, p.Matches([]row.Value{{}, {}, row.NullValue()}))
}

// The cases of Paimon's LeafPredicate, and those in which this errs on the safe side.
func TestMayMatch(t *testing.T) {
	for _, c := range []struct {
		typ, operator string
		literals      []string
		low, high     string
		nulls         int64 // of 10 rows; -1 for unknown
		want          bool
	}{
		{"INT", "=", []string{"4"}, "5", "7", 0, false},
		{"INT", "=", []string{"5"}, "5", "7", 0, true},
		{"INT", "=", []string{"7"}, "5", "7", 0, true},
		{"INT", "=", []string{"8"}, "5", "7", -1, false},
		{"INT", "=", []string{"8"}, "5", "NULL", 0, true},
		{"INT", "=", []string{"8"}, "NULL", "NULL", 10, false},
		{"INT", "=", []string{"8"}, "NULL", "NULL", 9, true},
		{"INT", "=", []string{"8"}, "NULL", "NULL", -1, true},
		{"INT", "<>", []string{"5"}, "5", "5", 0, false},
		{"INT", "<>", []string{"5"}, "5", "6", 0, true},
		{"INT", "<>", []string{"5"}, "5", "NULL", 0, true},
		{"INT", "<>", []string{"5"}, "NULL", "NULL", 10, false},
		{"INT", "<", []string{"5"}, "5", "7", 0, false},
		{"INT", "<", []string{"6"}, "5", "7", 0, true},
		{"INT", "<", []string{"6"}, "NULL", "7", 0, true},
		{"INT", "<=", []string{"4"}, "5", "7", 0, false},
		{"INT", "<=", []string{"5"}, "5", "7", 0, true},
		{"INT", ">", []string{"7"}, "5", "7", 0, false},
		{"INT", ">", []string{"6"}, "5", "7", 0, true},
		{"INT", ">=", []string{"8"}, "5", "7", 0, false},
		{"INT", ">=", []string{"7"}, "5", "7", 0, true},
		{"INT", "IN", []string{"4", "8"}, "5", "7", 0, false},
		{"INT", "IN", []string{"8", "6", "4"}, "5", "7", 0, true},
		{"INT", "IN", []string{"8"}, "5", "NULL", 0, true},
		{"INT", "IN", nil, "5", "7", 0, false},
		{"INT", "IS NULL", nil, "5", "7", 0, false},
		{"INT", "IS NULL", nil, "5", "7", 1, true},
		{"INT", "IS NULL", nil, "5", "7", -1, true},
		{"INT", "IS NOT NULL", nil, "NULL", "NULL", 10, false},
		{"INT", "IS NOT NULL", nil, "NULL", "NULL", 9, true},
		{"INT", "IS NOT NULL", nil, "NULL", "NULL", -1, true},
		// Bounds of "xxxxx" cut to three characters, as Paimon cuts them.
		{"STRING", "=", []string{"xxxxx"}, "xxx", "xxy", 0, true},
		{"STRING", "=", []string{"xxz"}, "xxx", "xxy", 0, false},
		{"STRING", ">", []string{"xxxxx"}, "xxx", "xxy", 0, true},
		// NaN is greater than all and may be among the values whatever the bounds say; a zero may be either.
		{"DOUBLE", "=", []string{"5"}, "1", "NaN", 0, true},
		{"DOUBLE", "=", []string{"0.5"}, "1", "NaN", 0, false},
		{"DOUBLE", "=", []string{"NaN"}, "1", "2", 0, true},
		{"DOUBLE", "=", []string{"1"}, "NaN", "NaN", 0, true},
		{"DOUBLE", ">", []string{"5"}, "1", "2", 0, true},
		{"DOUBLE", "<>", []string{"5"}, "5", "5", 0, true},
		{"DOUBLE", "<", []string{"0"}, "1", "2", 0, false},
		{"FLOAT", "=", []string{"-0"}, "0", "2", 0, true},
		{"FLOAT", "<", []string{"0"}, "0", "2", 0, true},
		{"FLOAT", "=", []string{"-1"}, "-0", "2", 0, false},
	} {
		p, err := predicate.Bind(column(t, c.typ), condition(t, c.typ, c.operator, c.literals...))
		require.NoError(t, err)
		nulls := []*int64{&c.nulls}
		if c.nulls < 0 {
			nulls[0] = nil
		}
		low, high := []row.Value{parsed(t, c.typ, c.low)}, []row.Value{parsed(t, c.typ, c.high)}
		require.Equal(t, c.want, p.MayMatch(low, high, nulls, 10), "%s within %s and %s, %d nulls", p, c.low, c.high, c.nulls)
		require.False(t, p.MayMatch(low, high, nulls, 0), "no rows")
		if c.nulls < 0 && len(c.literals) > 0 && c.operator != "IN" {
			require.True(t, p.MayMatch(nil, nil, nil, 10), "nothing known")
		}
	}
}

// A partition's values decide exactly, with floats as with others.
func TestProject(t *testing.T) {
	fields := []schema.Field{
		{Name: "a", Type: schema.Of(schema.Int)}, {Name: "p", Type: schema.Of(schema.Double)}, {Name: "q", Type: schema.StringType().WithNotNull(true)},
	}
	keys := []schema.Field{{Name: "q", Type: schema.StringType()}, {Name: "p", Type: schema.Of(schema.Double)}}
	one, x := row.Value{I64: 1}, row.Value{B: []byte("x")}
	p, err := predicate.Bind(fields,
		predicate.Eq("a", one), predicate.Greater("p", row.Value{F64: 5}), predicate.In("q", x),
		predicate.Or(predicate.Eq("a", one), predicate.Eq("q", x)),
		predicate.Or(predicate.And(predicate.Eq("a", one), predicate.Eq("q", x)), predicate.IsNull("p")))
	require.NoError(t, err)
	keyed := p.Project(keys)
	require.Equal(t, "(p > 5 AND q IN ('x') AND (q = 'x' OR p IS NULL))", keyed.String())
	require.Equal(t, []int{0, 1}, keyed.Columns())
	require.False(t, keyed.Always())
	require.True(t, keyed.Matches([]row.Value{x, {F64: math.NaN()}}))
	require.False(t, keyed.Matches([]row.Value{x, {F64: 5}}))
	require.False(t, keyed.Matches([]row.Value{{B: []byte("y")}, {F64: 6}}))

	require.True(t, p.Project(nil).Always())
	require.True(t, p.Project([]schema.Field{{Name: "a", Type: schema.Of(schema.BigInt)}}).Always(), "another type")
	for name, want := range map[string]*row.Value{"a": &one, "q": &x, "p": nil} {
		v, ok := p.Equal(name)
		require.Equal(t, want != nil, ok)
		if ok {
			require.Equal(t, *want, v)
		}
	}
}
