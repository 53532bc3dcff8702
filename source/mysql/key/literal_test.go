package key

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
)

// TestLiterals writes values as the manual's "Literal Values" has them, and refuses what a column of that type does not print.
func TestLiterals(t *testing.T) {
	for _, c := range []struct{ kind, collation, printed, want string }{
		{"bigint(20) unsigned", "", "18446744073709551615", "18446744073709551615"},
		{"int(5) unsigned zerofill", "", "00007", "00007"},
		{"decimal(65,30)", "", "-1.000000000000000000000000000001", "-1.000000000000000000000000000001"},
		{"date", "", "0000-00-00", "'0000-00-00'"},
		{"date", "", "2024-00-10", "'2024-00-10'"},
		{"date", "", "2024-02-29", "'2024-02-29'"},
		{"date", "", "2100-02-29", "'2100-03-01'"},
		{"date", "", "2000-02-30", "'2000-03-01'"},
		{"datetime(3)", "", "2023-11-31 10:20:30.123", "'2023-12-01'"},
		{"datetime(3)", "", "9999-12-31 23:59:59.999", "'9999-12-31 23:59:59.999'"},
		{"time(6)", "", "-838:59:59.000000", "'-838:59:59.000000'"},
		{"uuid", "", "123e4567-e89b-12d3-a456-426655440000", "'123e4567-e89b-12d3-a456-426655440000'"},
		{"inet6", "", "::ffff:1.2.3.4", "'::ffff:1.2.3.4'"},
		{"varchar(9)", "latin1_swedish_ci", "E9", "_latin1 X'E9' COLLATE latin1_swedish_ci"},
		{"char(9)", "utf8mb4_0900_ai_ci", "", "_utf8mb4 X'' COLLATE utf8mb4_0900_ai_ci"},
		{"varbinary(9)", "", "00FF", "_binary X'00FF'"},
		{"int(11)", "", "1 OR 1=1", ""},
		{"int(11)", "", "", ""},
		{"date", "", "2024-01-01' OR '1'='1", ""},
		{"varchar(9)", "latin1_swedish_ci", "E", ""},
		{"varchar(9)", "latin1_swedish_ci", "E9' OR X'", ""},
		{"varchar(9)", "x; DROP TABLE t", "E9", ""},
		{"varbinary(9)", "", "0g", ""},
		{"double", "", "1.5", ""},
		{"enum('a')", "", "a", ""},
	} {
		got, err := Column{Name: "k", Kind: definition.Parse(c.kind), Collation: c.collation}.Literal(c.printed)
		require.Equal(t, c.want, got, "%v", c)
		require.Equal(t, c.want == "", err != nil, "%v: %v", c, err)
	}
}

// TestCondition writes bounds as conditions, and lets no plan inject SQL.
func TestCondition(t *testing.T) {
	abc := []string{"a", "b", "c`"}
	for want, k := range map[string]source.KeyRange{
		"`a` IS NULL":     {Columns: abc[:1], Nullable: true, Null: true},
		"`a` IS NOT NULL": {Columns: abc[:1], Nullable: true},
		"`a` > 1":         {Columns: abc[:1], Lower: []string{"1"}},
		"`a` >= 1 AND (`a` > 1 OR (`a` = 1 AND `b` > 2))": {Columns: abc[:2], Lower: []string{"1", "2"}},
		"`a` <= 5":                         {Columns: abc[:1], Upper: []string{"5"}},
		"`a` > 1 AND `a` <= 5":             {Columns: abc[:1], Lower: []string{"1"}, Upper: []string{"5"}},
		"`a` = 1 AND `b` > 2 AND `b` <= 3": {Columns: abc[:2], Lower: []string{"1", "2"}, Upper: []string{"1", "3"}},
		"`a` = 1 AND `b` = 2 AND `c``` > 2 AND `c``` <= 3": {Columns: abc, Lower: []string{"1", "2", "2"}, Upper: []string{"1", "2", "3"}},
		"`a` <= 1 AND (`a` < 1 OR (`a` = 1 AND `b` <= 2))": {Columns: abc[:2], Upper: []string{"1", "2"}},
		"`a` = 1 AND `b` >= 2 AND (`b` > 2 OR (`b` = 2 AND `c``` > 3)) AND `b` <= 4 AND (`b` < 4 OR (`b` = 4 AND `c``` <= 5))": {
			Columns: abc, Lower: []string{"1", "2", "3"}, Upper: []string{"1", "4", "5"},
		},
	} {
		got, err := Condition(k)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range []source.KeyRange{
		{},
		{Columns: abc[:1]},
		{Columns: abc[:2], Upper: []string{"1"}},
		{Columns: abc[:2], Lower: []string{"1"}},
		{Columns: abc[:1], Lower: []string{"SLEEP(5)"}},
		{Columns: abc[:2], Lower: []string{"1"}, Upper: []string{"1", "2"}},
		{Columns: abc[:1], Upper: []string{"1 OR 1=1"}},
		{Columns: abc[:1], Upper: []string{""}},
		{Columns: abc[:1], Upper: []string{"`b`"}},
		{Columns: abc[:1], Upper: []string{"'a' OR 'b'"}},
		{Columns: abc[:1], Upper: []string{"'2024-01-01'\n OR 1"}},
		{Columns: abc[:1], Lower: []string{"SLEEP(5)"}, Upper: []string{"1"}},
		{Columns: abc[:1], Upper: []string{"_latin1 X'E9' COLLATE latin1_swedish_ci OR 1"}},
	} {
		_, err := Condition(bad)
		require.Error(t, err, "%v", bad)
	}
}
