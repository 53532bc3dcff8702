package mysql

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/source"
)

// rowsRead runs a query and is how many rows the server read from its tables for it.
func rowsRead(t *testing.T, c *sql.Conn, query string) int {
	t.Helper()
	count := func() int {
		rows, err := c.QueryContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read%'")
		require.NoError(t, err)
		defer rows.Close()
		sum := 0
		for rows.Next() {
			var name string
			var n int
			require.NoError(t, rows.Scan(&name, &n))
			if name != "Handler_read_rnd_next" { // SHOW itself reads the status so
				sum += n
			}
		}
		require.NoError(t, rows.Err())
		return sum
	}
	before := count()
	rows, err := c.QueryContext(t.Context(), query)
	require.NoError(t, err)
	for rows.Next() {
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	return count() - before
}

// TestBoundsUseTheWholeIndex counts what each server reads for the splits of a composite key whose first columns have few
// values, and for finding the next bound: not more than the split, by a range of the index.
func TestBoundsUseTheWholeIndex(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			server := testenv.Shared(t, f)
			database := server.NewDatabase(t)
			src, err := Open(t.Context(), []Config{{Name: "a", Host: server.Host(), Port: server.Port(), User: "reader", Password: "reader"}}, Options{})
			require.NoError(t, err)
			defer src.Close()
			server.Exec(t, "USE "+database, "CREATE TABLE d (d INT)", "INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
				"CREATE TABLE t (a VARCHAR(64) NOT NULL, b VARCHAR(64) CHARACTER SET latin1 NOT NULL, c DATETIME(6) NOT NULL, pad VARCHAR(100) NOT NULL, PRIMARY KEY (a, b, c))",
				"INSERT INTO t SELECT IF(w.d < 5, 'x', 'Y'), CONCAT('k', x.d), '2024-01-01' + INTERVAL v.d * 100 + y.d * 10 + w.d SECOND, REPEAT('p', 100) FROM d v, d w, d x, d y",
				"ANALYZE TABLE t")
			shard := source.Shard{Instance: "a", Database: database, Table: "t"}
			c, err := src.instances[0].conn(t.Context())
			require.NoError(t, err)
			defer c.Close()
			o := SplitOptions{Rows: 300}
			by, note, err := keyOf(t.Context(), c, source.Table{Shard: shard}, "")
			require.NoError(t, err)
			require.Empty(t, note)
			p := &splitter{conn: c, table: source.Table{Shard: shard}, key: *by, options: o}
			splits, err := p.others(t.Context())
			require.NoError(t, err)
			require.Len(t, splits, 34)
			for _, s := range splits {
				query, err := selectSQL(source.Read{Shard: shard, Split: s, Outputs: []source.Output{{Column: source.Column{Name: "pad"}}}})
				require.NoError(t, err)
				explained := fmt.Sprint(server.Query(t, "EXPLAIN "+query))
				require.Contains(t, explained, " range PRIMARY PRIMARY ", query)
				require.LessOrEqual(t, rowsRead(t, c, query), 310, query)
				query = p.seekSQL("", s.Keys.Lower, splits[33].Keys.Upper, "ASC", 299)
				require.NotContains(t, fmt.Sprint(server.Query(t, "EXPLAIN "+query)), "filesort", query)
				require.LessOrEqual(t, rowsRead(t, c, query), 310, query)
			}
			require.LessOrEqual(t, rowsRead(t, c, p.seekSQL("", nil, nil, "DESC", 0)), 3)
		})
	}
}
