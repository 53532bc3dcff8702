package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// column is a column of the table that the main job syncs: the thirty of the articles, and those that they leave out.
type column struct {
	name, definition string
	// text turns the column into the canonical text by MySQL's own means; %s is the quoted name.
	text string
	// fix finishes what MySQL cannot print: floats, whose text form has lost digits.
	fix func(string) string
	// value makes an SQL literal; extremes come first.
	extremes []string
	random   func(*rand.Rand) string
}

const (
	asText  = "CAST(%s AS CHAR)"
	asHex   = "LOWER(HEX(%s))"
	asTime  = "REPLACE(CAST(%s AS CHAR), ' ', 'T')"
	asZoned = "CONCAT(REPLACE(CAST(%s AS CHAR), ' ', 'T'), 'Z')"
	// A FLOAT's own text has six digits; as a DOUBLE it has all.
	asDouble = "CAST(%s + 0e0 AS CHAR)"
)

func bytesOf(most int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return fmt.Sprintf("x'%x'", b)
	}
}

func textOf(most int) func(*rand.Rand) string {
	alphabet := []rune("abcXYZ 0189_-,;'\"\\/%äß中文日本😀\t\n")
	return func(r *rand.Rand) string {
		s := make([]rune, r.IntN(most+1))
		for i := range s {
			s[i] = alphabet[r.IntN(len(alphabet))]
		}
		return quoteText(string(s))
	}
}

// quoteText writes a literal that every sql_mode reads alike.
func quoteText(s string) string { return fmt.Sprintf("_utf8mb4 x'%x'", s) }

func intsOf(low, high int64) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return strconv.FormatInt(low+r.Int64N(high-low+1), 10) }
}

func unsignedOf(bits int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return strconv.FormatUint(r.Uint64()>>(64-bits), 10) }
}

func decimalsOf(whole, scale int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		digits := make([]byte, whole+scale)
		for i := range digits {
			digits[i] = byte('0' + r.IntN(10))
		}
		sign := ""
		if r.IntN(2) == 0 {
			sign = "-"
		}
		return sign + string(digits[:whole]) + "." + string(digits[whole:])
	}
}

func floats(bits int) func(string) string {
	return func(s string) string {
		// Two shortest texts of one FLOAT may be equally near, so the number decides, not the text.
		v, err := strconv.ParseFloat(s, bits)
		if err != nil {
			return "unparsable " + s
		}
		return strconv.FormatFloat(v, 'g', -1, bits)
	}
}

func pick(values ...string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return values[r.IntN(len(values))] }
}

func date(r *rand.Rand) string {
	return fmt.Sprintf("%04d-%02d-%02d", 1000+r.IntN(9000), 1+r.IntN(12), 1+r.IntN(28))
}

func clock(r *rand.Rand) string {
	return fmt.Sprintf("%02d:%02d:%02d", r.IntN(24), r.IntN(60), r.IntN(60))
}

func quoted(f func(*rand.Rand) string) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return "'" + f(r) + "'" }
}

// columns are the columns beside id.
func columns() []column {
	double := []string{"0", "-0.1", "1.7976931348623157e308", "-2.2250738585072014e-308", "0.1", "1e-300", "123456789.123456789"}
	return []column{
		{name: "f_binary", definition: "BINARY(8)", text: asHex, extremes: []string{"x'0000000000000000'", "x'00FF80'", "'a'"}, random: bytesOf(8)},
		{name: "f_blob", definition: "BLOB", text: asHex, extremes: []string{"''", "x'00'"}, random: bytesOf(40)},
		{name: "f_long_varbinary", definition: "LONG VARBINARY", text: asHex, extremes: []string{"x'deadbeef00'"}, random: bytesOf(30)},
		{name: "f_longblob", definition: "LONGBLOB", text: asHex, extremes: []string{"REPEAT(x'00ff', 40000)"}, random: bytesOf(60)},
		{name: "f_tinyblob", definition: "TINYBLOB", text: asHex, extremes: []string{"REPEAT(x'ab', 255)"}, random: bytesOf(20)},
		{name: "f_varbinary", definition: "VARBINARY(40)", text: asHex, extremes: []string{"x'000000'", "x'20'"}, random: bytesOf(40)},
		{name: "f_smallint", definition: "SMALLINT", text: asText, extremes: []string{"-32768", "32767"}, random: intsOf(-32768, 32767)},
		{name: "f_smallint_unsigned", definition: "SMALLINT UNSIGNED", text: asText, extremes: []string{"0", "65535"}, random: unsignedOf(16)},
		{name: "f_mediumint", definition: "MEDIUMINT", text: asText, extremes: []string{"-8388608", "8388607"}, random: intsOf(-8388608, 8388607)},
		{name: "f_mediumint_unsigned", definition: "MEDIUMINT UNSIGNED", text: asText, extremes: []string{"0", "16777215"}, random: unsignedOf(24)},
		{name: "f_int", definition: "INT", text: asText, extremes: []string{"-2147483648", "2147483647"}, random: intsOf(-2147483648, 2147483647)},
		{name: "f_int_unsigned", definition: "INT UNSIGNED", text: asText, extremes: []string{"0", "4294967295"}, random: unsignedOf(32)},
		{name: "f_integer", definition: "INTEGER", text: asText, extremes: []string{"-1", "1"}, random: intsOf(-2147483648, 2147483647)},
		{name: "f_integer_unsigned", definition: "INTEGER UNSIGNED", text: asText, extremes: []string{"4294967295"}, random: unsignedOf(32)},
		{name: "f_bigint", definition: "BIGINT", text: asText, extremes: []string{"-9223372036854775808", "9223372036854775807"}, random: intsOf(-1<<62, 1<<62-2)},
		{name: "f_bigint_unsigned", definition: "BIGINT UNSIGNED", text: asText, extremes: []string{"0", "18446744073709551615", "9223372036854775808"}, random: unsignedOf(64)},
		{name: "f_numeric", definition: "NUMERIC(10,0)", text: asText, extremes: []string{"-9999999999", "9999999999"}, random: intsOf(-9999999999, 9999999999)},
		{name: "f_decimal", definition: "DECIMAL(38,10)", text: asText, extremes: []string{"-9999999999999999999999999999.9999999999", "0.0000000001", "12345678901234567.89"}, random: decimalsOf(20, 10)},
		{name: "f_float", definition: "FLOAT", text: asDouble, fix: floats(32), extremes: []string{"0", "16777216", "3.4028234e38", "-1.17549435e-38", "0.1"}, random: decimalsOf(6, 6)},
		{name: "f_double", definition: "DOUBLE", text: asDouble, fix: floats(64), extremes: double, random: decimalsOf(8, 9)},
		{name: "f_double_precision", definition: "DOUBLE PRECISION", text: asDouble, fix: floats(64), extremes: double, random: decimalsOf(3, 12)},
		{name: "f_longtext", definition: "LONGTEXT", text: asText, extremes: []string{"''", "REPEAT('中', 30000)"}, random: textOf(60)},
		{name: "f_mediumtext", definition: "MEDIUMTEXT", text: asText, extremes: []string{quoteText("😀 tail  ")}, random: textOf(40)},
		{name: "f_text", definition: "TEXT", text: asText, extremes: []string{quoteText(`back\slash "quote"`)}, random: textOf(40)},
		{name: "f_tinytext", definition: "TINYTEXT", text: asText, extremes: []string{"'x'"}, random: textOf(20)},
		{name: "f_varchar", definition: "VARCHAR(100)", text: asText, extremes: []string{"'trailing  '", "''"}, random: textOf(50)},
		{name: "f_date", definition: "DATE", text: asText, extremes: []string{"'1000-01-01'", "'9999-12-31'", "'1969-12-31'", "'2024-02-29'"}, random: quoted(date)},
		{name: "f_datetime", definition: "DATETIME", text: asTime, extremes: []string{"'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'", "'2024-03-10 02:30:00'"}, random: quoted(func(r *rand.Rand) string { return date(r) + " " + clock(r) })},
		{name: "f_timestamp", definition: "TIMESTAMP NULL", text: asZoned, extremes: []string{"'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"}, random: quoted(func(r *rand.Rand) string {
			return fmt.Sprintf("%04d-%02d-%02d %s", 1971+r.IntN(66), 1+r.IntN(12), 1+r.IntN(28), clock(r))
		})},
		{name: "f_json", definition: "JSON", text: asText, extremes: []string{`'{"a": 18446744073709551615}'`, "'null'", "'[]'"}, random: pick(`'{"k": "v", "n": [1, 2.5, null]}'`, `'"text"'`, `'12'`)},
		{name: "f_enum", definition: "ENUM('low','mid, \"high\"','höch')", text: asText, extremes: []string{"1", "2"}, random: pick("1", "2", "3")},
		{name: "f_set", definition: "SET('a','b','c','d')", text: asText, extremes: []string{"''", "'a,b,c,d'"}, random: pick("'a'", "'b,d'", "''")},
		{name: "f_bit", definition: "BIT(64)", text: "LOWER(LPAD(HEX(%s), 16, '0'))", extremes: []string{"b'0'", "0xFFFFFFFFFFFFFFFF", "b'1'"}, random: func(r *rand.Rand) string { return fmt.Sprintf("0x%016x", r.Uint64()) }},
		{name: "f_year", definition: "YEAR", text: "CAST(%s + 0 AS CHAR)", extremes: []string{"1901", "2155", "0"}, random: intsOf(1901, 2155)},
		{name: "f_time", definition: "TIME(6)", text: asText, extremes: []string{"'-838:59:59'", "'838:59:59'", "'-00:00:00.000001'", "'00:00:00'"}, random: quoted(func(r *rand.Rand) string { return clock(r) + fmt.Sprintf(".%06d", r.IntN(1e6)) })},
		{name: "f_datetime6", definition: "DATETIME(6)", text: asTime, extremes: []string{"'1000-01-01 00:00:00.000001'", "'9999-12-31 23:59:59.999999'"}, random: quoted(func(r *rand.Rand) string { return date(r) + " " + clock(r) + fmt.Sprintf(".%06d", r.IntN(1e6)) })},
	}
}

// makeTable creates a shard and fills it with rows whose ids begin at first.
func makeTable(t *testing.T, m *testenv.MySQL, database, table string, first, rows int, seed uint64) {
	t.Helper()
	cols := columns()
	var ddl strings.Builder
	fmt.Fprintf(&ddl, "CREATE TABLE %s.%s (id BIGINT NOT NULL PRIMARY KEY", database, table)
	for _, c := range cols {
		fmt.Fprintf(&ddl, ", %s %s", c.name, c.definition)
	}
	ddl.WriteString(") ENGINE=InnoDB CHARACTER SET utf8mb4 STATS_SAMPLE_PAGES=2000")
	m.Exec(t, "CREATE DATABASE IF NOT EXISTS "+database, ddl.String())
	db := m.Open(t, "tributary", database)
	random := rand.New(rand.NewPCG(seed, 1))
	const perInsert = 250
	for done := 0; done < rows; {
		var b strings.Builder
		fmt.Fprintf(&b, "INSERT INTO %s VALUES ", table)
		n := min(perInsert, rows-done)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			writeRow(&b, random, cols, first+done+i, done+i)
		}
		_, err := db.Exec(b.String())
		require.NoError(t, err)
		done += n
	}
	m.Exec(t, fmt.Sprintf("ANALYZE TABLE %s.%s", database, table))
}

func writeRow(b *strings.Builder, random *rand.Rand, cols []column, id, n int) {
	fmt.Fprintf(b, "(%d", id)
	for k, c := range cols {
		b.WriteByte(',')
		switch {
		case n < len(c.extremes):
			b.WriteString(c.extremes[n])
		case (n+k)%17 == 0 || n == 20: // row 20 is all NULL
			b.WriteString("NULL")
		default:
			b.WriteString(c.random(random))
		}
	}
	b.WriteByte(')')
}

// origin is what the provenance columns hold, by name and in order.
type origin [][2]string

// mysqlRows reads a shard as MySQL itself prints it, as the referee's lines.
func mysqlRows(t *testing.T, m *testenv.MySQL, database, table string, provenance origin) []string {
	t.Helper()
	cols := append([]column{{name: "id", text: asText}}, columns()...)
	exprs := make([]string, len(cols))
	for i, c := range cols {
		exprs[i] = fmt.Sprintf(c.text, "`"+c.name+"`")
	}
	db := m.Open(t, "tributary", database)
	db.SetMaxOpenConns(1)
	_, err := db.Exec("SET time_zone = '+00:00'")
	require.NoError(t, err)
	rows, err := db.Query(fmt.Sprintf("SELECT %s FROM `%s`", strings.Join(exprs, ", "), table))
	require.NoError(t, err)
	defer rows.Close()
	values := make([]sql.RawBytes, len(cols))
	into := make([]any, len(cols))
	for i := range values {
		into[i] = &values[i]
	}
	var lines []string
	var line []byte
	for rows.Next() {
		require.NoError(t, rows.Scan(into...))
		line = append(line[:0], '{')
		for i, c := range cols {
			text := string(values[i])
			if values[i] != nil && c.fix != nil {
				text = c.fix(text)
			}
			line = appendMember(line, c.name, text, values[i] == nil)
		}
		for _, p := range provenance {
			line = appendMember(line, p[0], p[1], false)
		}
		line[len(line)-1] = '}'
		lines = append(lines, string(line))
	}
	require.NoError(t, rows.Err())
	return lines
}

// appendMember writes a member of a JSON object and a comma.
func appendMember(to []byte, name, text string, null bool) []byte {
	to = append(append(append(to, '"'), name...), `":`...)
	if null {
		return append(to, "null,"...)
	}
	to = append(to, '"')
	for i := range len(text) {
		switch c := text[i]; c {
		case '"', '\\':
			to = append(to, '\\', c)
		case '\n':
			to = append(to, `\n`...)
		case '\t':
			to = append(to, `\t`...)
		default:
			to = append(to, c)
		}
	}
	return append(to, `",`...)
}

// refereeRows reads a table with Paimon's own library.
func refereeRows(t *testing.T, warehouse, table string) []string {
	t.Helper()
	return testenv.Referee(t).Read(t, warehouse, table, 0)
}

// requireSameRows compares two multisets of lines. Lines that differ are compared once more by their values: there is more
// than one way to print a FLOAT.
func requireSameRows(t *testing.T, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		count := map[string]int{}
		for _, line := range want {
			count[line]++
		}
		for _, line := range got {
			count[line]--
		}
		maps.DeleteFunc(count, func(_ string, n int) bool { return n == 0 })
		require.LessOrEqual(t, len(count), 50, "rows differ")
		require.Empty(t, count, "rows that are missing, or too many if negative")
	}
	missing := map[string]int{}
	for _, line := range want {
		missing[line]++
	}
	var odd []string
	for _, line := range got {
		if n := missing[line]; n > 1 {
			missing[line]--
		} else if n == 1 {
			delete(missing, line)
		} else {
			odd = append(odd, line)
		}
	}
	var left []string
	for line, n := range missing {
		for range n {
			left = append(left, line)
		}
	}
	left, odd = canonical(t, left), canonical(t, odd)
	for i := range left {
		if left[i] != odd[i] {
			t.Fatalf("%d of %d rows differ, such as\nMySQL: %.3000s\nlake:  %.3000s", len(left), len(want), left[i], odd[i])
		}
	}
}

// canonical sorts lines after making their keys' order and their numbers' texts comparable.
func canonical(t *testing.T, lines []string) []string {
	t.Helper()
	out := make([]string, len(lines))
	for i, line := range lines {
		var row map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &row), line)
		for _, c := range columns() {
			if text, ok := row[c.name].(string); ok && c.fix != nil {
				row[c.name] = c.fix(text)
			}
		}
		data, err := json.Marshal(row)
		require.NoError(t, err)
		out[i] = string(data)
	}
	sort.Strings(out)
	return out
}
