package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// A source from which rows vanish, or in which they are marked: after each run the table is what MySQL has, for Paimon and for
// another reader, and a compared refresh writes what differs and no more.
func TestDeletedRowsLeaveTheTable(t *testing.T) {
	t.Parallel()
	s := theStack(t)
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	base := m.NewDatabase(t)
	for n := range 3 {
		m.Exec(t, "USE "+base,
			fmt.Sprintf("CREATE TABLE orders_%d (id BIGINT NOT NULL PRIMARY KEY, v VARCHAR(40), price DECIMAL(12,2), gone TINYINT(1) NOT NULL DEFAULT 0, KEY (v))", n),
			fmt.Sprintf("INSERT INTO orders_%d SELECT seq, IF(seq %% 7 = 0, NULL, MD5(seq)), seq / 3, 0 FROM seq_%d_to_%d", n, n*10000+1, n*10000+3000))
	}
	q := queue(t)
	s.startWorker(t, q)
	warehouse := t.TempDir()
	job := func(change func(table map[string]any)) string {
		return keyJob(t, warehouse, q, base, m, func(table map[string]any) {
			table["primary_key"], table["provenance"] = []string{"id"}, false
			table["split"] = map[string]any{"rows": 700}
			change(table)
		})
	}
	compared := job(func(table map[string]any) { table["detect_deletes"] = "compare_keys" })
	marked := job(func(table map[string]any) {
		table["mode"], table["soft_delete"] = "append", map[string]any{"column": "gone", "value": true}
	})
	run := func(file string, written int, query string) {
		t.Helper()
		r := s.run(t, "run", "-f", file, "--wait", "--json")
		require.Zero(t, r.code, r.stderr)
		require.EqualValues(t, written, summaryOf(t, r).Tables[0].Written)
		var union string
		for n := range 3 {
			if n > 0 {
				union += " UNION ALL "
			}
			union += fmt.Sprintf("SELECT CAST(id AS CHAR) id, v, CAST(price AS CHAR) price, CAST(gone AS CHAR) gone FROM %s.orders_%d %s", base, n, query)
		}
		want := textRows(t, m, union)
		requireSameRows(t, want, refereeRows(t, warehouse, "ods.orders"))
		requireSameRows(t, want, testenv.RustReader(t).Read(t, warehouse, "ods.orders", 0))
	}
	r := s.run(t, "plan", "-f", compared)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "what the source has no more is taken away")
	run(compared, 9000, "")
	run(compared, 0, "")
	m.Exec(t, "USE "+base, "DELETE FROM orders_0 WHERE id % 10 = 3", "UPDATE orders_1 SET price = price + 1 WHERE id <= 10050", "DELETE FROM orders_2 WHERE id > 20010",
		"INSERT INTO orders_2 SELECT seq, 'new', 1, 0 FROM seq_23001_to_23007")
	run(compared, 300+50+2990+7, "")
	m.Exec(t, "USE "+base, "UPDATE orders_0 SET gone = 1 WHERE id < 5", "UPDATE orders_1 SET gone = 1 WHERE id = 10001", "UPDATE orders_2 SET v = 'x'")
	run(marked, 2700+3000+17, "WHERE gone = 0")
	require.Positive(t, testenv.Referee(t).Compact(t, warehouse, "ods.orders"))
	m.Exec(t, "USE "+base, "UPDATE orders_0 SET gone = 0")
	run(compared, 3+1, "") // id 3 had vanished before; the row of orders_1 that is marked comes back
}
