package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// nasty is a table whose key is hard to cut: its columns and the values of row n, an expression of n; every row has n in a column of
// that name, by which it is known.
type nasty struct {
	columns, values string
	// into lists the columns that values are of, where they are not all.
	into string
	only testenv.Flavor
}

func nastyTables() map[string]nasty {
	return map[string]nasty{
		"sjis":      {columns: "k VARCHAR(20) CHARACTER SET sjis PRIMARY KEY", values: `CONCAT(ELT(n % 3 + 1, '表', 'ソ\'', '\\"'), n)`}, // whose second byte is a backslash
		"gbk":       {columns: "k VARCHAR(20) CHARACTER SET gbk PRIMARY KEY", values: `CONCAT(ELT(n % 3 + 1, '縗', '\'縗', '誠'), n)`},
		"utf16":     {columns: "k VARCHAR(20) CHARACTER SET utf16 PRIMARY KEY", values: `CONCAT(ELT(n % 3 + 1, '😀', 'ß', ''), n)`},
		"times":     {columns: "y YEAR, t TIME(3), b BIT(64), PRIMARY KEY (y, t, b)", values: `1901 + n % 7, SEC_TO_TIME(n % 11 * 300000.25 - 1600000), 18446744073709551615 - n`},
		"double":    {columns: "k DOUBLE PRIMARY KEY", values: `(n - 300) * 1e-310`},
		"float":     {columns: "k FLOAT, m INT, PRIMARY KEY (k, m)", values: `n % 9 / 3, n`},
		"zeros":     {columns: "d DATE, m INT, PRIMARY KEY (d, m)", values: `ELT(n % 4 + 1, '0000-00-00', '2024-00-10', '2024-02-31', '9999-12-31'), n`},
		"enum":      {columns: "e ENUM('z','b','a,''x','') CHARACTER SET latin1, m INT, PRIMARY KEY (e, m)", values: `n % 5, n`},
		"set":       {columns: "e SET('z','b','a'), m INT, PRIMARY KEY (e, m)", values: `n % 8, n`},
		"generated": {columns: "m INT, g INT AS (500 - m) STORED NOT NULL, UNIQUE KEY (g)", values: `n`, into: "(m, n)", only: testenv.FlavorMySQL80},
		"parts":     {columns: "m INT PRIMARY KEY) PARTITION BY HASH (m) PARTITIONS (7", values: `n * 1000003 % 700001`},
		"prefix":    {columns: "v VARCHAR(50) NOT NULL, UNIQUE KEY (v(20))", values: `CONCAT(LPAD(n, 20, '-'), '''')`},
		"names":     {columns: "`select` INT, `a``b'c\"d.e\\\\%s?` INT, `日 -- x` INT, PRIMARY KEY (`a``b'c\"d.e\\\\%s?`, `日 -- x`)", values: `n, n % 5, n`},
		"down":      {columns: "a INT, b VARCHAR(9), PRIMARY KEY (a DESC, b)", values: `n % 6, CONCAT(n, ' ')`, only: testenv.FlavorMySQL80},
		"nopad":     {columns: "k VARCHAR(700) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY", values: `CONCAT('a', REPEAT(' ', n))`, only: testenv.FlavorMySQL80},
		"nopads":    {columns: "k VARCHAR(700) COLLATE utf8mb4_nopad_bin PRIMARY KEY", values: `CONCAT('a', REPEAT(' ', n))`, only: testenv.FlavorMariaDB},
		"uuid":      {columns: "k UUID PRIMARY KEY", values: `UUID()`, only: testenv.FlavorMariaDB},
		"inet":      {columns: "k INET6 PRIMARY KEY", values: `CONCAT('2001:db8::', HEX(n))`, only: testenv.FlavorMariaDB},
	}
}

// TestNastyTables loads tables with keys that are hard to cut, on servers whose own settings change how literals are written:
// planned and read through the commands, every row is there once.
func TestNastyTables(t *testing.T) {
	t.Parallel()
	const rows = 600
	for _, flavor := range testenv.Flavors() {
		t.Run(string(flavor), func(t *testing.T) {
			s := theStack(t)
			m := testenv.Start(t, flavor)
			database := "shop_数`'\"-%s"
			quoted := "`shop_数``'\"-%s`"
			m.Exec(t, "SET sql_mode = ''", "CREATE DATABASE "+quoted, "USE "+quoted, "CREATE TABLE d (d INT)", "INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
			var names []string
			for name, n := range nastyTables() {
				if n.only != "" && n.only != flavor {
					continue
				}
				names = append(names, name)
				columns := n.columns
				if head, rest, ok := strings.Cut(columns, ") PARTITION BY HASH (m) PARTITIONS (7"); ok {
					columns = head + ", n INT) PARTITION BY HASH (m) PARTITIONS 7" + rest
				} else {
					columns += ", n INT)"
				}
				m.Exec(t, "USE "+quoted, "SET NAMES utf8mb4", "SET sql_mode = ''", fmt.Sprintf("CREATE TABLE `orders_%s` (%s", name, columns),
					fmt.Sprintf("INSERT INTO `orders_%s` %s SELECT %s, n FROM (SELECT a.d + 10 * b.d + 100 * c.d AS n FROM d a, d b, d c) AS x WHERE n < %d", name, n.into, n.values, rows))
			}
			slices.Sort(names)
			m.Exec(t, "SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,STRICT_ALL_TABLES'")
			warehouse, q := t.TempDir(), queue(t)
			s.startWorker(t, q)
			file := jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
				job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = []any{database}
				var tables []any
				for _, name := range names {
					tables = append(tables, map[string]any{
						"name": name, "match": "orders_" + name, "split": map[string]any{"rows": 50}, "types": map[string]any{"zero_date": "null"},
						"target": map[string]any{"database": "ods", "table": name},
					})
				}
				job["tables"] = tables
			})
			r := s.run(t, "plan", "-f", file)
			require.Zero(t, r.code, r.stdout+r.stderr)
			r = s.run(t, "run", "-f", file, "--wait", "--json")
			require.Zero(t, r.code, r.stdout+r.stderr)
			splits := 0
			for _, table := range summaryOf(t, r).Tables {
				require.EqualValues(t, rows, table.Written, table.Table)
				splits += table.Splits // keys of floating point are not cut, nor is a prefix
			}
			require.Greater(t, splits, 5*len(names))
			for _, name := range names {
				seen := map[string]int{}
				for _, line := range testenv.Referee(t).Read(t, warehouse, "ods."+name, 0) {
					var row map[string]any
					require.NoError(t, json.Unmarshal([]byte(line), &row))
					seen[fmt.Sprint(row["n"])]++
				}
				require.Len(t, seen, rows, name)
			}
		})
	}
}
