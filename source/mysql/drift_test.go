package mysql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// drifted is a column in the shards of one table, one definition for each, with a value that needs all of it.
type drifted struct {
	name    string
	shards  []string
	values  []string
	becomes string
	// truth is how the server says what a value is in the common type.
	truth string
}

const (
	asMicros   = "CAST(CAST(%s AS DATETIME(6)) AS CHAR)"
	asFraction = "CAST(CAST(%%s AS DECIMAL(65,%d)) AS CHAR)"
)

func driftedColumns() []drifted {
	return []drifted{
		{"datetimes", []string{"DATETIME", "DATETIME(3)", "DATETIME(6)"}, []string{"'2024-03-10 02:30:00'", "'1969-12-31 23:59:59.999'", "'9999-12-31 23:59:59.999999'"}, "TIMESTAMP(6)", asMicros},
		{"timestamps", []string{"TIMESTAMP NULL", "TIMESTAMP(6) NULL", "TIMESTAMP(1) NULL"}, []string{"'1970-01-01 00:00:01'", "'2038-01-19 03:14:07.999999'", "'2024-03-10 02:30:00.5'"}, "TIMESTAMP(6) WITH LOCAL TIME ZONE", asMicros},
		{"ints", []string{"INT", "BIGINT", "INT UNSIGNED"}, []string{"-2147483648", "-9223372036854775808", "4294967295"}, "BIGINT", asNumber},
		{"small", []string{"TINYINT", "TINYINT UNSIGNED", "SMALLINT"}, []string{"-128", "255", "-32768"}, "SMALLINT", asNumber},
		{"medium", []string{"MEDIUMINT UNSIGNED", "SMALLINT UNSIGNED", "INT"}, []string{"16777215", "65535", "-1"}, "INT", asNumber},
		{"signs", []string{"BIGINT", "BIGINT UNSIGNED", "INT"}, []string{"-9223372036854775808", "18446744073709551615", "-5"}, "DECIMAL(20, 0)", fmt.Sprintf(asFraction, 0)},
		{"decimals", []string{"DECIMAL(10,2)", "DECIMAL(12,4)", "DECIMAL(9,0)"}, []string{"-99999999.99", "99999999.9999", "999999999"}, "DECIMAL(13, 4)", fmt.Sprintf(asFraction, 4)},
		{"numbers", []string{"INT", "DECIMAL(5,2)", "TINYINT UNSIGNED"}, []string{"-2147483648", "999.99", "255"}, "DECIMAL(12, 2)", fmt.Sprintf(asFraction, 2)},
		{"floats", []string{"FLOAT", "DOUBLE", "FLOAT"}, []string{"0.5", "0.1", "16777217"}, "DOUBLE", asDouble},
		{"texts", []string{"VARCHAR(10)", "TEXT", "CHAR(4) CHARACTER SET latin1"}, []string{"'数据'", "REPEAT('x', 5000)", "'é'"}, "STRING", asText},
		{"words", []string{"ENUM('a','b')", "VARCHAR(3)", "SET('x','y')"}, []string{"'b'", "'c'", "'x,y'"}, "STRING", asText},
		{"bytes", []string{"BINARY(3)", "BLOB", "VARBINARY(9)"}, []string{"x'00FF80'", "x'00'", "x'FF0000'"}, "BYTES", asHex},
		{"years", []string{"YEAR", "SMALLINT", "INT"}, []string{"2155", "-32768", "2147483647"}, "INT", asNumber},
	}
}

// TestDriftedShards reads shards that differ in every column into the one type that all have in common, and compares with
// what the server says of each shard's own values. (Its UNION is no truth: beside columns of the other sign MySQL 5.7 turns
// -1 into 0, and MySQL 8.0 turns 2^64-1 into -1.)
func TestDriftedShards(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		columns := driftedColumns()
		var names []string
		for _, c := range columns {
			names = append(names, c.name)
		}
		for shard := range 3 {
			definitions, values := []string{"id INT PRIMARY KEY"}, []string{fmt.Sprint(shard)}
			listed := slices.Clone(names)
			order := slices.Clone(columns)
			if shard == 1 { // another order of columns
				slices.Reverse(order)
				slices.Reverse(listed)
			}
			for _, c := range order {
				definitions = append(definitions, c.name+" "+c.shards[shard])
				values = append(values, c.values[shard])
			}
			null := strings.Repeat(", NULL", len(columns))
			s.exec(t, fmt.Sprintf("CREATE TABLE d%d (%s)", shard, strings.Join(definitions, ", ")),
				fmt.Sprintf("INSERT INTO d%d (id, %s) VALUES (%s), (%d%s)", shard, strings.Join(listed, ", "), strings.Join(values, ", "), 10+shard, null))
		}
		tables := s.tables(t, mysql.Policy{})
		m, err := source.Merge(tables, source.MergeOptions{})
		require.NoError(t, err)
		for i, c := range columns {
			require.Equal(t, c.name, m.Columns[i+1].Name)
			require.Equal(t, c.becomes, m.Columns[i+1].Type.String(), c.name)
		}
		got := map[string][]string{}
		for _, table := range tables {
			rows, _, err := collect(t.Context(), s.source, source.Read{Shard: table.Shard, Outputs: m.Outputs(table)})
			require.NoError(t, err)
			for _, r := range rows {
				got[r[0]] = r[1:]
			}
		}
		require.Len(t, got, 6)
		db := s.session(t)
		for i, c := range columns {
			for id, values := range got {
				var want []byte
				query := fmt.Sprintf("SELECT "+c.truth+" FROM d%c WHERE id = %s", c.name, id[len(id)-1], id)
				require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&want), c.name)
				compare(t, typed{becomes: c.becomes, truth: c.truth}, want, values[i])
			}
		}
		require.Len(t, m.Drifts, 16, "MEDIUMINT and SMALLINT UNSIGNED are INT, and all texts are STRING: their definitions differ, their types do not")
	})
}

// TestShardsWithOtherColumns: columns that some shards lack, have NOT NULL, call in other case, and keys that differ.
func TestShardsWithOtherColumns(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE o0 (id INT PRIMARY KEY, a INT NOT NULL, `数` VARCHAR(5))", "INSERT INTO o0 VALUES (0, 1, 'x')",
			"CREATE TABLE o1 (A INT, ID INT PRIMARY KEY)", "INSERT INTO o1 VALUES (NULL, 1)",
			"CREATE TABLE o2 (id INT PRIMARY KEY, late BIGINT UNSIGNED NOT NULL, a INT NOT NULL, `数` TEXT)", "INSERT INTO o2 VALUES (2, 18446744073709551615, 3, 'y')",
			"CREATE TABLE o3 (id INT PRIMARY KEY, a INT NOT NULL, `数` VARCHAR(5))", "INSERT INTO o3 VALUES (3, 4, NULL)")
		tables := s.tables(t, mysql.Policy{})
		m, err := source.Merge(tables, source.MergeOptions{})
		require.NoError(t, err)
		var rows [][]string
		for _, table := range tables {
			got, _, err := collect(t.Context(), s.source, source.Read{Shard: table.Shard, Outputs: m.Outputs(table)})
			require.NoError(t, err)
			rows = append(rows, got...)
		}
		require.Equal(t, [][]string{
			{"0", "1", "x", "NULL"}, {"1", "NULL", "NULL", "NULL"}, {"2", "3", "y", "18446744073709551615"}, {"3", "4", "NULL", "NULL"},
		}, rows)
		require.Equal(t, []string{"id"}, m.PrimaryKey)

		_, err = source.Merge(tables, source.MergeOptions{Drift: source.DriftStrict})
		require.ErrorIs(t, err, source.ErrRefused)
		require.ErrorContains(t, err, "o1 lacks column \"数\"")
		require.ErrorContains(t, err, "o2 has column \"late\" (bigint(20) unsigned not null)")

		for name, alter := range map[string]string{
			"other key": "ALTER TABLE o1 DROP PRIMARY KEY, ADD PRIMARY KEY (id, a)", "no key": "ALTER TABLE o1 DROP PRIMARY KEY",
			"no common type": "ALTER TABLE o1 MODIFY a DATETIME",
		} {
			s.exec(t, "DELETE FROM o1", alter)
			tables = s.tables(t, mysql.Policy{})
			_, err = source.Merge(tables, source.MergeOptions{})
			require.ErrorIs(t, err, source.ErrRefused, name)
			require.ErrorContains(t, err, "/o1", name)
			m, err = source.Merge(tables, source.MergeOptions{Drift: source.DriftQuarantine})
			require.NoError(t, err, name)
			require.Len(t, m.LeftOut, 1, name)
			require.Equal(t, "o1", m.LeftOut[0].Shard.Table)
			s.exec(t, "DROP TABLE o1", "CREATE TABLE o1 (A INT, ID INT PRIMARY KEY)")
		}
	})
}

// TestShardsThatBecomeEmpty has shards that are all empty, and one that is emptied, or filled, after it was planned.
func TestShardsThatBecomeEmpty(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		for i := range 3 {
			s.exec(t, fmt.Sprintf("CREATE TABLE e%d (id INT PRIMARY KEY, v INT)", i))
		}
		tables := s.tables(t, mysql.Policy{})
		for _, table := range tables {
			splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 10})
			require.NoError(t, err)
			require.Empty(t, splits, "an empty shard is no fault and no work")
		}
		s.exec(t, "INSERT INTO e0 VALUES (1, 1), (2, 2)", "INSERT INTO e1 VALUES (1, 1), (2, 2)")
		var plan []source.Split
		for i, table := range tables[:2] {
			splits, err := s.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 10})
			require.NoError(t, err)
			require.NotEmpty(t, splits)
			for j := range splits {
				splits[j].Shard = i
			}
			plan = append(plan, splits...)
		}
		require.NoError(t, source.CheckPlan(plan))
		s.exec(t, "TRUNCATE TABLE e0", "INSERT INTO e1 VALUES (100, 100)")
		require.Empty(t, readSplits(t, s.source, readOf(t, tables[0]), plan[:1]))
		require.Len(t, readSplits(t, s.source, readOf(t, tables[1]), plan[1:]), 2, "what came after the plan is beyond its bounds")
	})
}

// TestStrictDefinitions: under drift: strict shards have the same definitions of columns, as far as these decide what is stored.
func TestStrictDefinitions(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		for definition, alike := range map[string]bool{
			"v VARCHAR(20) CHARACTER SET utf8, n INT":                                                 true,
			"n INT(5), v VARCHAR(20) CHARACTER SET utf8 COLLATE utf8_bin DEFAULT 'x' COMMENT 'other'": true,
			"v VARCHAR(30) CHARACTER SET utf8, n INT":                                                 false,
			"v VARCHAR(20) CHARACTER SET utf8 NOT NULL, n INT":                                        false,
			"v VARCHAR(20) CHARACTER SET utf8mb4, n INT":                                              false,
			"v VARCHAR(20) CHARACTER SET latin1, n INT":                                               false,
			"v VARCHAR(20) CHARACTER SET utf8, n INT UNSIGNED":                                        false,
			"v VARCHAR(20) CHARACTER SET utf8, n INT AS (1 + 1) VIRTUAL":                              false,
			"v VARCHAR(20) CHARACTER SET utf8, n INT, more INT":                                       false,
		} {
			s.exec(t, "DROP TABLE IF EXISTS c0, c1", "CREATE TABLE c0 (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8, n INT)", "CREATE TABLE c1 (id INT PRIMARY KEY, "+definition+")")
			_, err := source.Merge(s.tables(t, mysql.Policy{}), source.MergeOptions{Drift: source.DriftStrict, Alike: mysql.SameDefinition})
			if alike {
				require.NoError(t, err, definition)
				continue
			}
			require.ErrorIs(t, err, source.ErrRefused, definition)
			require.ErrorContains(t, err, "the shards differ in one place")
		}
	})
}
