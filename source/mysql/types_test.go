package mysql_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// TestEveryCharset reads text in every character set that the server has: each single byte, and words of many scripts. The
// server's own conversion to UTF-8 is the truth.
func TestEveryCharset(t *testing.T) {
	words := []string{"aé", "naïve ÀÿŒ€", "数据", "數據", "データ", "ｱ", "데이터", "данные", "ελληνικά", "עברית", "ไทย", "ışğ", "😀", "\\\\ ~", ""}
	onAll(t, func(t *testing.T, s *shop) {
		db := s.session(t)
		var charsets []string
		rows, err := db.QueryContext(t.Context(), "SELECT character_set_name FROM information_schema.character_sets WHERE character_set_name <> 'binary'")
		require.NoError(t, err)
		for rows.Next() {
			var name string
			require.NoError(t, rows.Scan(&name))
			charsets = append(charsets, name)
		}
		require.NoError(t, rows.Err())
		require.Greater(t, len(charsets), 35)
		for _, name := range charsets {
			var values []string
			for b := range 256 {
				values = append(values, fmt.Sprintf("(%d, CHAR(%d USING %s))", b, b, name))
			}
			for i, w := range words {
				values = append(values, fmt.Sprintf("(%d, CONVERT('%s' USING %s))", 1000+i, w, name))
			}
			table := "c_" + name
			s.exec(t, fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, v VARCHAR(40) CHARACTER SET %s)", table, name),
				"INSERT IGNORE INTO "+table+" VALUES "+strings.Join(values, ", "))
		}
		tables := s.tables(t, mysql.Policy{})
		require.Len(t, tables, len(charsets))
		for _, table := range tables {
			got, _, err := collect(t.Context(), s.source, readOf(t, table))
			require.NoError(t, err, table.Shard.Table)
			require.Len(t, got, 256+len(words))
			truth := map[string]*string{}
			rows, err := db.QueryContext(t.Context(), "SELECT id, HEX(CONVERT(v USING utf8mb4)) FROM "+table.Shard.Table)
			require.NoError(t, err)
			for rows.Next() {
				var id string
				var v *string
				require.NoError(t, rows.Scan(&id, &v))
				truth[id] = v
			}
			require.NoError(t, rows.Err())
			for _, r := range got {
				want := "NULL"
				if v := truth[r[0]]; v != nil {
					text, err := hex.DecodeString(*v)
					require.NoError(t, err)
					want = string(text)
				}
				require.Equal(t, want, r[1], "%s row %s", table.Shard.Table, r[0])
			}
		}
	})
}

// TestEveryBit reads BIT of all 64 widths.
func TestEveryBit(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		var columns, ones, patterns, truths []string
		for n := 1; n <= 64; n++ {
			columns = append(columns, fmt.Sprintf("b%d BIT(%d)", n, n))
			ones = append(ones, "b'"+strings.Repeat("1", n)+"'")
			patterns = append(patterns, "b'"+("1" + strings.Repeat("001", 21))[:n]+"'")
			truth := fmt.Sprintf("LPAD(HEX(b%d), %d, '0')", n, (n+7)/8*2)
			if n == 1 {
				truth = "b1 + 0"
			}
			truths = append(truths, truth)
		}
		s.exec(t, "CREATE TABLE b ("+strings.Join(columns, ", ")+", id INT PRIMARY KEY)",
			"INSERT INTO b VALUES ("+strings.Join(ones, ", ")+", 1), ("+strings.Join(patterns, ", ")+", 2), ("+strings.Repeat("0, ", 64)+"3)")
		rows, _, err := collect(t.Context(), s.source, readOf(t, s.table(t, "b", mysql.Policy{})))
		require.NoError(t, err)
		require.Len(t, rows, 3)
		for _, r := range rows {
			var want string
			query := "SELECT CONCAT_WS(' ', " + strings.Join(truths, ", ") + ") FROM b WHERE id = " + r[64]
			require.NoError(t, s.session(t).QueryRowContext(t.Context(), query).Scan(&want))
			require.Equal(t, want, strings.Join(r[:64], " "))
		}
	})
}

// TestDigitsStay has the numbers that go through a float, a signed integer or a string in other tools, and two more each.
func TestDigitsStay(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE n (id INT PRIMARY KEY, d DECIMAL(19,2), u BIGINT UNSIGNED, b BINARY(3), l DECIMAL(65,30), j JSON)",
			`INSERT INTO n VALUES (1, 12345678901234567.89, 18446744073709551615, x'00FF80', 12345678901234567890123456789012345.123456789012345678901234567890, '{"n": 18446744073709551615}'),
			(2, -99999999999999999.99, 9223372036854775808, x'808080', -0.000000000000000000000000000001, '[9223372036854775808, -9223372036854775808]'),
			(3, 0.01, 9007199254740993, x'000000', 99999999999999999999999999999999999.999999999999999999999999999999, '9007199254740993')`)
		table := s.table(t, "n", mysql.Policy{DecimalOverflow: mysql.DecimalString})
		rows, _, err := collect(t.Context(), s.source, readOf(t, table))
		require.NoError(t, err)
		for _, r := range rows {
			var want string
			query := "SELECT CONCAT_WS('|', d, u, HEX(b), l, CAST(j AS CHAR)) FROM n WHERE id = " + r[0]
			require.NoError(t, s.session(t).QueryRowContext(t.Context(), query).Scan(&want))
			require.Equal(t, want, strings.Join(r[1:], "|"))
		}
		require.Equal(t, "12345678901234567.89", rows[0][1])
		require.Equal(t, "18446744073709551615", rows[0][2])
		require.Equal(t, "00FF80", rows[0][3])
	})
}

// TestTimeOfDay reads TIME as a time of day where all values are one, and refuses the first that is none.
func TestTimeOfDay(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE c (id INT PRIMARY KEY, t0 TIME, t3 TIME(3), t6 TIME(6))",
			"INSERT INTO c VALUES (1, '00:00:00', '00:00:00', '00:00:00'), (2, '23:59:59', '23:59:59.999', '23:59:59.999000'), (3, '12:34:56', '00:00:00.001', '01:02:03.400'), (4, NULL, NULL, NULL)")
		policy := mysql.Policy{Time: mysql.TimeOfDay}
		table := s.table(t, "c", policy)
		require.Equal(t, "TIME(0)", table.Columns[1].Type.String())
		require.Equal(t, "TIME(6)", table.Columns[3].Type.String())
		rows, _, err := collect(t.Context(), s.source, readOf(t, table))
		require.NoError(t, err)
		for _, r := range rows {
			var want string
			query := "SELECT CONCAT_WS('|', COALESCE(t0, 'NULL'), COALESCE(t3, 'NULL'), COALESCE(LEFT(t6, 12), 'NULL')) FROM c WHERE id = " + r[0]
			require.NoError(t, s.session(t).QueryRowContext(t.Context(), query).Scan(&want))
			require.Equal(t, want, strings.Join(r[1:], "|"))
		}
		for _, bad := range []struct{ column, value, said string }{
			{"t0", "'24:00:00'", "24:00:00.000000"},
			{"t0", "'-00:00:01'", "-00:00:01"},
			{"t0", "'838:59:59'", "838:59:59"},
			{"t3", "'-00:00:00.001'", "-00:00:00.001"},
			{"t6", "'00:00:00.000001'", "00:00:00.000001"},
			{"t6", "'23:59:59.9999'", "23:59:59.999900"},
		} {
			s.exec(t, "REPLACE INTO c (id, "+bad.column+") VALUES (5, "+bad.value+")")
			_, _, err := collect(t.Context(), s.source, readOf(t, table))
			require.ErrorIs(t, err, source.ErrRefused)
			for _, part := range []string{table.Shard.String(), `"` + bad.column + `"`, bad.said, "set types.time to string"} {
				require.ErrorContains(t, err, part)
			}
		}
	})
}

// TestAskedTypes reads columns as types that the job asks for, and refuses the first value that would change.
func TestAskedTypes(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		for i, c := range []struct{ definition, asked, good, truth, bad string }{
			{"BIGINT UNSIGNED", "BIGINT", "9223372036854775807", asNumber, "9223372036854775808"},
			{"BIGINT UNSIGNED", "SMALLINT", "32767", asNumber, "32768"},
			{"BIGINT", "INT", "-2147483648", asNumber, "-2147483649"},
			{"INT UNSIGNED", "INT", "2147483647", asNumber, "2147483648"},
			{"SMALLINT", "TINYINT", "-128", asNumber, "128"},
			{"YEAR", "SMALLINT", "2155", asNumber, ""},
			{"TINYINT", "BOOLEAN", "1", asNumber, "2"},
			{"INT ZEROFILL", "STRING", "4294967295", "HEX(CAST(%s + 0 AS CHAR))", ""},
			{"BIGINT UNSIGNED", "STRING", "18446744073709551615", "HEX(CAST(%s + 0 AS CHAR))", ""},
			{"BIGINT", "STRING", "-9223372036854775808", "HEX(CAST(%s + 0 AS CHAR))", ""},
			{"DECIMAL(65,30)", "STRING", "-0.5", "HEX(CAST(%s AS CHAR))", ""},
			{"DECIMAL(65,30)", "DECIMAL(38,18)", "-12345678901234567890.123456789012345678", "CAST(CAST(%s AS DECIMAL(38,18)) AS CHAR)", "0.0000000000000000001"},
			{"DECIMAL(65,30)", "DECIMAL(20,0)", "99999999999999999999", "CAST(CAST(%s AS DECIMAL(20,0)) AS CHAR)", "100000000000000000000"},
			{"DECIMAL(10,2)", "DECIMAL(8,2)", "999999.99", asChar, "1000000"},
			{"DECIMAL(10,2)", "DECIMAL(20,4)", "-99999999.99", "CAST(CAST(%s AS DECIMAL(20,4)) AS CHAR)", ""},
			{"FLOAT", "DOUBLE", "0.1", asDouble, ""},
			{"VARCHAR(5)", "VARCHAR(9)", "'数据'", asText, ""},
			{"BINARY(4)", "BINARY(4)", "x'00FF8000'", asHex, ""},
			{"BIT(9)", "BINARY(2)", "b'100000001'", "LPAD(HEX(%s), 4, '0')", ""},
			{"DATETIME(3)", "TIMESTAMP(6)", "'2024-03-10 02:30:00.001'", "CAST(CAST(%s AS DATETIME(6)) AS CHAR)", ""},
			{"TIME(6)", "TIME(3)", "'23:59:59.999'", "LEFT(%s, 12)", "'23:59:59.9991'"},
			{"TIME(3)", "TIME(0)", "'23:59:59'", "LEFT(%s, 8)", "'23:59:59.1'"},
		} {
			name := fmt.Sprintf("a%02d", i)
			s.exec(t, fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, V %s)", name, c.definition),
				fmt.Sprintf("INSERT INTO %s VALUES (1, %s), (2, NULL)", name, c.good))
			asked, err := schema.ParseType(c.asked)
			require.NoError(t, err)
			policy := mysql.Policy{Types: map[string]schema.Type{"v": asked}}
			r := readOf(t, s.table(t, name, policy))
			require.Equal(t, c.asked, strings.ReplaceAll(r.Outputs[1].Type.String(), ", ", ","), c.definition)
			rows, _, err := collect(t.Context(), s.source, r)
			require.NoError(t, err, c)
			var want []byte
			require.NoError(t, s.session(t).QueryRowContext(t.Context(), fmt.Sprintf("SELECT "+c.truth+" FROM %s WHERE id = 1", "v", name)).Scan(&want))
			becomes := c.asked
			if strings.HasPrefix(becomes, "VARCHAR") {
				becomes = "STRING"
			}
			got := rows[0][1]
			if asked.Kind == schema.Binary {
				got = strings.ToUpper(hex.EncodeToString([]byte(got)))
			}
			compare(t, typed{becomes: becomes, truth: c.truth}, want, got)
			require.Equal(t, "NULL", rows[1][1])
			if c.bad == "" {
				continue
			}
			s.exec(t, fmt.Sprintf("INSERT INTO %s VALUES (3, %s)", name, c.bad))
			_, _, err = collect(t.Context(), s.source, r)
			require.ErrorIs(t, err, source.ErrRefused, c)
			require.ErrorContains(t, err, r.Shard.String())
			require.ErrorContains(t, err, strings.Trim(c.bad, "'"))
		}
	})
}

// TestRefusedTypes: what would change values is refused when the plan is made, with the column and the type.
func TestRefusedTypes(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE r (id INT PRIMARY KEY, v VARCHAR(10), d DATETIME(6))")
		policy := mysql.Policy{Types: map[string]schema.Type{"v": {Kind: schema.VarChar, Length: 9}, "d": {Kind: schema.Timestamp, Precision: 3}}}
		_, err := source.Merge([]source.Table{s.table(t, "r", policy)}, source.MergeOptions{})
		var refused *source.RefusedError
		require.ErrorAs(t, err, &refused)
		require.Len(t, refused.Losses, 2)
		require.ErrorContains(t, err, `column "v": varchar(10)`)
		require.ErrorContains(t, err, "cannot become VARCHAR(9)")
		require.ErrorContains(t, err, "columns: {type: TIMESTAMP(3)}")
	})
}
