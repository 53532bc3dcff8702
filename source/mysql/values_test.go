package mysql_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// typed is a column of the table that holds every type: its definition, the type that it becomes, an expression by
// which the server itself says what the value is, and values with the extremes. %s stands for the column.
type typed struct {
	definition string
	becomes    string
	truth      string
	values     []string
}

// The server's own words for a value. Numbers with a fraction are compared as 64-bit floats.
const (
	asChar   = "CAST(%s AS CHAR)"
	asHex    = "HEX(%s)"
	asText   = "HEX(CONVERT(%s USING utf8mb4))"
	asNumber = "%s + 0"
	asDouble = "%s + 0e0"
	asWKB    = "HEX(ST_AsBinary(%s))"
)

// columns are the types that all three servers have.
func columns() []typed {
	return []typed{
		{"tinyint", "TINYINT", asChar, []string{"-128", "127", "0", "-1"}},
		{"tinyint(1)", "TINYINT", asChar, []string{"-128", "127", "0", "1"}},
		{"tinyint unsigned", "SMALLINT", asChar, []string{"255", "0", "128"}},
		{"smallint", "SMALLINT", asChar, []string{"-32768", "32767"}},
		{"smallint unsigned", "INT", asChar, []string{"65535", "0", "32768"}},
		{"mediumint", "INT", asChar, []string{"-8388608", "8388607", "-1"}},
		{"mediumint unsigned", "INT", asChar, []string{"16777215", "8388608"}},
		{"int", "INT", asChar, []string{"-2147483648", "2147483647"}},
		{"int unsigned", "BIGINT", asChar, []string{"4294967295", "2147483648"}},
		{"int zerofill", "BIGINT", asNumber, []string{"4294967295", "7"}},
		{"bigint", "BIGINT", asChar, []string{"-9223372036854775808", "9223372036854775807"}},
		{"bigint unsigned", "DECIMAL(20, 0)", asChar, []string{"18446744073709551615", "9223372036854775808", "0"}},
		{"decimal(5,0)", "DECIMAL(5, 0)", asChar, []string{"-99999", "99999", "0"}},
		{"decimal(9,9)", "DECIMAL(9, 9)", asChar, []string{"-0.999999999", "0.000000001"}},
		{"decimal(18,6)", "DECIMAL(18, 6)", asChar, []string{"-999999999999.999999", "999999999999.999999", "0.000001"}},
		{"decimal(19,2)", "DECIMAL(19, 2)", asChar, []string{"-12345678901234567.89", "99999999999999999.99"}},
		{"decimal(20,6) unsigned", "DECIMAL(20, 6)", asChar, []string{"99999999999999.999999", "0"}},
		{"decimal(38,0)", "DECIMAL(38, 0)", asChar, []string{strings.Repeat("9", 38), "-" + strings.Repeat("9", 38), "1"}},
		{"decimal(38,30)", "DECIMAL(38, 30)", asChar, []string{"-99999999." + strings.Repeat("9", 30), "0." + strings.Repeat("0", 29) + "1"}},
		{"float", "FLOAT", asDouble, []string{"16777217", "0.1", "-3.402823e38", "1.17549e-38", "-1.5", "123456.789"}},
		{"float(7,3)", "FLOAT", asDouble, []string{"1234.567", "-9999.999"}},
		{"double", "DOUBLE", asDouble, []string{"1.7976931348623157e308", "-2.2250738585072014e-308", "0.1", "-0.0"}},
		{"double(10,2)", "DOUBLE", asDouble, []string{"12345678.91", "-0.01"}},
		{"bit(1)", "BOOLEAN", asNumber, []string{"b'0'", "b'1'"}},
		{"bit(8)", "BYTES", "LPAD(HEX(%s), 2, '0')", []string{"b'0'", "b'11111111'", "b'1010'"}},
		{"bit(12)", "BYTES", "LPAD(HEX(%s), 4, '0')", []string{"b'111111111111'", "b'1'"}},
		{"bit(64)", "BYTES", "LPAD(HEX(%s), 16, '0')", []string{"b'1" + strings.Repeat("0", 63) + "'", "18446744073709551615"}},
		{"char(16)", "STRING", asText, []string{"''", "'x '", "'naïve 数据 😀'"}},
		{"varchar(300)", "STRING", asText, []string{"''", "'x '", "'tab\\tnl\\nquote\"\\'\\\\'", "REPEAT('é😀', 150)"}},
		{"char(5) character set latin1", "STRING", asText, []string{"'é'", "CONVERT(_binary 0x80 USING latin1)", "CONVERT(_binary 0x81 USING latin1)"}},
		{"varchar(9) character set gbk", "STRING", asText, []string{"'数据'"}},
		{"varchar(9) character set big5", "STRING", asText, []string{"'數據'"}},
		{"varchar(9) character set sjis", "STRING", asText, []string{"'データ'"}},
		{"varchar(9) character set euckr", "STRING", asText, []string{"'데이터'"}},
		{"varchar(9) character set cp1251", "STRING", asText, []string{"'данные'"}},
		{"varchar(9) character set utf16", "STRING", asText, []string{"'数😀'"}},
		{"varchar(9) character set ucs2", "STRING", asText, []string{"'数据'"}},
		{"varchar(9) character set utf32", "STRING", asText, []string{"'😀'"}},
		{"varchar(9) character set utf8", "STRING", asText, []string{"'数据'"}},
		{"varchar(9) character set ascii", "STRING", asText, []string{"'a'"}},
		{"tinytext", "STRING", asText, []string{"''", "'t'"}},
		{"text", "STRING", asText, []string{"REPEAT('文', 20000)", "'t'"}},
		{"mediumtext", "STRING", asText, []string{"REPEAT('m', 70000)"}},
		{"longtext", "STRING", asText, []string{"REPEAT('l', 251)", "REPEAT('l', 250)"}},
		{"enum('low','mid','a)b,c character set x')", "STRING", asText, []string{"'low'", "'a)b,c character set x'", "'wrong'"}},
		{"set('a','b','c d')", "STRING", asText, []string{"''", "'a,b'"}},
		{"enum('a','b') character set binary", "BYTES", asHex, []string{"'b'"}},
		{"char(3) character set binary", "BYTES", asHex, []string{"x'00ff'"}},
		{"text character set binary", "BYTES", asHex, []string{"x'ff00'"}},
		{"binary(8)", "BYTES", asHex, []string{"x'00ff800000'", "''", "x'0000000000000000'"}},
		{"varbinary(300)", "BYTES", asHex, []string{"x'00ff8000'", "''", "REPEAT(x'00', 255)"}},
		{"tinyblob", "BYTES", asHex, []string{"x'00'", "''"}},
		{"blob", "BYTES", asHex, []string{"REPEAT(x'00ff', 30000)"}},
		{"mediumblob", "BYTES", asHex, []string{"REPEAT(x'80', 66000)"}},
		{"longblob", "BYTES", asHex, []string{"x'deadbeef00'"}},
		{"long varbinary", "BYTES", asHex, []string{"x'00'"}},
		{"date", "DATE", asChar, []string{"'1000-01-01'", "'9999-12-31'", "'1969-12-31'", "'2000-02-29'", "'0001-01-01'", "'1900-02-28'", "'0000-01-01'", "'0000-12-31'"}},
		{"datetime", "TIMESTAMP(0)", asChar, []string{"'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'", "'1969-12-31 23:59:59'", "'0000-01-01 00:00:01'"}},
		{"datetime(3)", "TIMESTAMP(3)", asChar, []string{"'1969-12-31 23:59:59.999'", "'2024-03-10 02:30:00.001'"}},
		{"datetime(6)", "TIMESTAMP(6)", asChar, []string{"'1000-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'", "'1969-12-31 23:59:59.999999'", "'0000-12-31 23:59:59.000001'"}},
		{"timestamp null", "TIMESTAMP(0) WITH LOCAL TIME ZONE", asChar, []string{"'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"}},
		{"timestamp(6) null", "TIMESTAMP(6) WITH LOCAL TIME ZONE", asChar, []string{"'2024-03-10 02:30:00.123456'"}},
		{"time", "STRING", "HEX(CAST(%s AS CHAR))", []string{"'-838:59:59'", "'838:59:59'", "'00:00:00'", "'-00:00:01'", "'25:00:00'"}},
		{"time(3)", "STRING", "HEX(CAST(%s AS CHAR))", []string{"'-00:00:00.001'", "'99:59:59.999'", "'100:00:00'"}},
		{"time(6)", "STRING", "HEX(CAST(%s AS CHAR))", []string{"'-838:59:58.999999'", "'838:59:58.999999'", "'00:00:00.000001'"}},
		{"year", "INT", asNumber, []string{"1901", "2155", "0"}},
		{"json", "STRING", asText, []string{`'{"n": 18446744073709551615, "d": 2.50}'`, "'null'", "'[1]'", `'"数"'`}},
		{"geometry", "BYTES", asWKB, []string{"ST_GeomFromText('POINT(1.5 -2)')", "ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))')"}},
		{"point", "BYTES", asWKB, []string{"ST_GeomFromText('POINT(0 0)')"}},
		{"polygon", "BYTES", asWKB, []string{"ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))')"}},
	}
}

// more are types that only MariaDB has.
func more(f testenv.Flavor) []typed {
	if f != testenv.FlavorMariaDB {
		return nil
	}
	return []typed{
		{"uuid", "STRING", "HEX(CAST(%s AS CHAR))", []string{"'123e4567-e89b-12d3-a456-426655440000'"}},
		{"inet6", "STRING", "HEX(CAST(%s AS CHAR))", []string{"'2001:db8::ff00:42:8329'", "'::'"}},
		{"inet4", "STRING", "HEX(CAST(%s AS CHAR))", []string{"'255.255.255.255'", "'0.0.0.0'"}},
		{"varchar(100) compressed", "STRING", asText, []string{"REPEAT('z', 100)"}},
		{"int invisible", "INT", asChar, []string{"5"}},
	}
}

// TestValues reads every type with its extremes and NULL, and compares with what the server says of its own values.
func TestValues(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		for i, c := range append(columns(), more(s.server.Flavor())...) {
			name := fmt.Sprintf("t%02d", i)
			t.Run(strings.ReplaceAll(c.definition, " ", "_"), func(t *testing.T) {
				s.exec(t, fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, v %s)", name, c.definition))
				for j, v := range append(slices.Clone(c.values), "NULL") {
					s.exec(t, fmt.Sprintf("INSERT INTO %s (id, v) VALUES (%d, %s)", name, j, v))
				}
				table := s.table(t, name, mysql.Policy{})
				require.Equal(t, c.becomes, table.Columns[1].Type.String())
				require.False(t, table.Columns[1].Type.NotNull)
				rows, _, err := collect(t.Context(), s.source, readOf(t, table))
				require.NoError(t, err)
				require.Len(t, rows, len(c.values)+1)
				db := s.session(t)
				for _, got := range rows {
					var want []byte
					truth := fmt.Sprintf("SELECT "+c.truth+" FROM %s WHERE id = %s", "v", name, got[0])
					require.NoError(t, db.QueryRowContext(t.Context(), truth).Scan(&want))
					compare(t, c, want, got[1])
				}
			})
		}
	})
}

// compare checks a value against the server's own word for it, nil for NULL.
func compare(t *testing.T, c typed, want []byte, got string) {
	t.Helper()
	switch {
	case want == nil:
		require.Equal(t, "NULL", got)
	case c.truth == asDouble:
		w, err := strconv.ParseFloat(string(want), 64)
		require.NoError(t, err)
		size := 64
		if c.becomes == "FLOAT" {
			size = 32
		}
		g, err := strconv.ParseFloat(got, size)
		require.NoError(t, err)
		require.Equal(t, w, g) //nolint:testifylint // exactly equal is what is wanted
	case c.becomes == "STRING":
		require.Equal(t, string(want), strings.ToUpper(hex.EncodeToString([]byte(got))))
	default:
		require.Equal(t, string(want), got)
	}
}

// TestNotNullAndGenerated checks nullability, generated columns, comments and definitions.
func TestNotNullAndGenerated(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, `CREATE TABLE t (
			id INT UNSIGNED NOT NULL PRIMARY KEY COMMENT 'the key''s',
			v INT AS (id + 1) VIRTUAL, st BIGINT AS (id * 2) STORED, name VARCHAR(5) CHARACTER SET latin1 NOT NULL)`,
			"INSERT INTO t (id, name) VALUES (1, 'ä')")
		table := s.table(t, "t", mysql.Policy{})
		require.Equal(t, []string{"id"}, table.PrimaryKey)
		require.Equal(t, "the key's", table.Columns[0].Comment)
		require.Equal(t, "BIGINT NOT NULL", table.Columns[0].Type.String())
		require.Equal(t, "int(11) virtual", table.Columns[1].Definition)
		require.Equal(t, "bigint(20) stored", table.Columns[2].Definition)
		require.Equal(t, "varchar(5) character set latin1 not null", table.Columns[3].Definition)
		rows, _, err := collect(t.Context(), s.source, readOf(t, table))
		require.NoError(t, err)
		require.Equal(t, [][]string{{"1", "2", "2", "ä"}}, rows)
	})
}

// TestZeroDates applies each policy to dates that do not exist, in all three types that have them.
func TestZeroDates(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE z (id INT PRIMARY KEY, d DATE NOT NULL, dt DATETIME(6) NOT NULL, ts TIMESTAMP NOT NULL)",
			"SET sql_mode='ALLOW_INVALID_DATES'",
			`INSERT INTO z VALUES (1, '0000-00-00', '0000-00-00', '0000-00-00 00:00:00'),
			(2, '2024-00-10', '2024-05-00 10:00:00.123456', '2024-05-06 07:08:09'),
			(3, '2023-02-31', '2023-02-30', '2024-05-06 07:08:09'), (4, '2024-02-29', '2024-02-29', '2024-05-06 07:08:09')`)
		for _, c := range []struct{ policy, zero string }{{"null", "NULL"}, {"epoch", "1970-01-01"}} {
			table := s.table(t, "z", mysql.Policy{ZeroDate: source.ZeroDate(c.policy)})
			require.Len(t, table.Losses, 3)
			require.Equal(t, "zero_date: "+c.policy, table.Losses[0].Policy)
			for _, column := range table.Columns[1:] {
				require.Equal(t, c.policy != "null", column.Type.NotNull)
			}
			rows, stats, err := collect(t.Context(), s.source, readOf(t, table))
			require.NoError(t, err)
			at, micro := c.zero, c.zero
			if c.policy == "epoch" {
				at, micro = c.zero+" 00:00:00", c.zero+" 00:00:00.000000"
			}
			require.Equal(t, [][]string{
				{"1", c.zero, micro, at},
				{"2", c.zero, micro, "2024-05-06 07:08:09"},
				{"3", c.zero, micro, "2024-05-06 07:08:09"},
				{"4", "2024-02-29", "2024-02-29 00:00:00.000000", "2024-05-06 07:08:09"},
			}, rows)
			require.Equal(t, []source.Replaced{
				{Column: "d", Policy: "zero_date: " + c.policy, Count: 3},
				{Column: "dt", Policy: "zero_date: " + c.policy, Count: 3},
				{Column: "ts", Policy: "zero_date: " + c.policy, Count: 1},
			}, stats.Replaced)
		}
		table := s.table(t, "z", mysql.Policy{ZeroDateColumns: map[string]source.ZeroDate{"d": source.ZeroDateNull, "ts": source.ZeroDateNull}})
		_, _, err := collect(t.Context(), s.source, readOf(t, table))
		require.ErrorIs(t, err, source.ErrRefused)
		for _, part := range []string{table.Shard.String(), `"dt"`, "0000-00-00", "types.zero_date", "null"} {
			require.ErrorContains(t, err, part)
		}
	})
}

// TestPolicies covers the other choices: TINYINT(1) as BOOLEAN, DECIMAL of too many digits, SRID, unknown types.
func TestPolicies(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE p (id INT PRIMARY KEY, b TINYINT(1), b4 TINYINT(4), d DECIMAL(65,30))",
			"INSERT INTO p VALUES (1, 1, 2, 0.5), (2, 0, 2, -12345678901234567890123456789012345.000000000000000000000000000001), (3, NULL, NULL, NULL)")
		table := s.table(t, "p", mysql.Policy{})
		require.Len(t, table.Losses, 1)
		require.True(t, table.Losses[0].Refused)
		_, err := source.Merge([]source.Table{table}, source.MergeOptions{})
		require.ErrorIs(t, err, source.ErrRefused)
		require.ErrorContains(t, err, "types.decimal_overflow to string")
		_, err = source.Merge([]source.Table{table}, source.MergeOptions{Columns: []source.Select{{Name: "b"}}})
		require.NoError(t, err, "a refused column that is not read does no harm")

		table = s.table(t, "p", mysql.Policy{TinyInt1: mysql.TinyInt1Boolean, DecimalOverflow: mysql.DecimalString})
		require.Empty(t, table.Losses)
		require.Equal(t, schema.Boolean, table.Columns[1].Type.Kind)
		require.Equal(t, schema.TinyInt, table.Columns[2].Type.Kind)
		rows, _, err := collect(t.Context(), s.source, readOf(t, table))
		require.NoError(t, err)
		require.Equal(t, [][]string{
			{"1", "1", "2", "0.500000000000000000000000000000"},
			{"2", "0", "2", "-12345678901234567890123456789012345.000000000000000000000000000001"},
			{"3", "NULL", "NULL", "NULL"},
		}, rows)
		s.exec(t, "INSERT INTO p VALUES (4, 2, 2, 0)")
		_, _, err = collect(t.Context(), s.source, readOf(t, table))
		require.ErrorIs(t, err, source.ErrRefused)
		require.ErrorContains(t, err, "neither 0 nor 1")

		s.exec(t, "CREATE TABLE g (id INT PRIMARY KEY, g GEOMETRY)",
			"INSERT INTO g VALUES (1, ST_GeomFromText('POINT(1 2)', 0)), (2, ST_GeomFromText('POINT(1 2)', 4326))")
		table = s.table(t, "g", mysql.Policy{})
		require.Contains(t, table.Losses[0].What, "SRID")
		_, stats, err := collect(t.Context(), s.source, readOf(t, table))
		require.NoError(t, err)
		require.Equal(t, []source.Replaced{{Column: "g", Policy: "geometry: wkb", Count: 1}}, stats.Replaced)
	})
	_, err := open(t, mysql.Options{}).Discover(t.Context(), mysql.Selection{Policy: mysql.Policy{ZeroDate: "never"}})
	require.ErrorContains(t, err, `types.zero_date: "never" is not one of`)
}

// TestWiderOutput decodes into types that are wider than the shard's own, and fills columns that it lacks.
func TestWiderOutput(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE w (t TINYINT, u SMALLINT UNSIGNED, y YEAR, i INT, b BIGINT, un BIGINT UNSIGNED, d DECIMAL(5,2), f FLOAT, dt DATETIME, dn DATETIME(6))",
			"INSERT INTO w VALUES (-128, 65535, 2155, -5, -7, 18446744073709551615, -123.45, 1.5, '2020-01-02 03:04:05', '1969-12-31 23:59:59.999999')")
		table := s.table(t, "w", mysql.Policy{})
		constant := "here"
		becomes := []schema.Type{
			schema.Of(schema.BigInt), schema.Of(schema.BigInt), schema.Of(schema.BigInt), schema.DecimalType(12, 2), schema.DecimalType(38, 10),
			schema.DecimalType(22, 2), schema.DecimalType(30, 4), schema.Of(schema.Double),
			{Kind: schema.Timestamp, Precision: 6},
			{Kind: schema.Timestamp, Precision: 9},
		}
		r := source.Read{Shard: table.Shard}
		for i, c := range table.Columns {
			r.Outputs = append(r.Outputs, source.Output{Column: c, Type: becomes[i]})
		}
		r.Outputs = append(r.Outputs, source.Output{Type: schema.Of(schema.Int)}, source.Output{Type: schema.StringType(), Constant: &constant, Provenance: source.FromDatabase},
			source.Output{Type: schema.StringType().WithNotNull(true), Provenance: source.FromTable})
		rows, _, err := collect(t.Context(), s.source, r)
		require.NoError(t, err)
		require.Equal(t, [][]string{{
			"-128", "65535", "2155", "-5.00", "-7.0000000000", "18446744073709551615.00", "-123.4500", "1.5",
			"2020-01-02 03:04:05.000000", "1969-12-31 23:59:59.999999000", "NULL", "here", "w",
		}}, rows)
		r.Outputs[4].Type = schema.Of(schema.Int)
		_, _, err = collect(t.Context(), s.source, r)
		require.ErrorIs(t, err, source.ErrRefused, "a narrower output is never read into")
	})
}

// TestBatches checks that batches keep to their bounds and that Read hands them over.
func TestBatches(t *testing.T) {
	s := newShop(t, testenv.Shared(t, testenv.FlavorMariaDB))
	s.source = open(t, mysql.Options{BatchRows: 10, BatchBytes: 1000}, configOf(s.server, "a"))
	s.exec(t, "CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(5000))",
		"INSERT INTO b SELECT seq, REPEAT('x', IF(seq < 50, 1, IF(seq = 60, 5000, 300))) FROM seq_1_to_70")
	r := readOf(t, s.table(t, "b", mysql.Policy{}))
	var batches []*row.Batch
	types := []schema.Type{r.Outputs[0].Type, r.Outputs[1].Type}
	stats, err := s.source.Read(t.Context(), r, func(full *row.Batch) (*row.Batch, error) {
		batches = append(batches, full)
		return row.NewBatch(types), nil
	})
	require.NoError(t, err)
	require.EqualValues(t, 70, stats.Rows)
	id := int32(0)
	for _, b := range batches {
		require.LessOrEqual(t, b.Rows, 10)
		size := len(b.Columns[1].Data)
		require.True(t, size <= 1000 || b.Rows == 1, "%d rows of %d bytes", b.Rows, size)
		for i := range b.Rows {
			id++
			require.Equal(t, id, b.Columns[0].I32[i])
		}
	}
}
