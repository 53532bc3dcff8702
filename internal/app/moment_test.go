package app

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	driversql "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/source"
)

// ledgerBank is a bank whose only writer opens, in each transaction, an account in every shard: at the upper end of the keys, or
// at the lower, with what another account there is charged. So at every moment a shard's amounts are 0 in sum, and all have as
// many accounts as there were transactions, those of before included.
type ledgerBank struct {
	server   *testenv.MySQL
	database string
	conn     *sql.Conn
	opened   int
}

const (
	bankShards   = 3
	bankAccounts = 300
)

func newLedgerBank(t *testing.T, m *testenv.MySQL) *ledgerBank {
	t.Helper()
	b := &ledgerBank{server: m, database: m.NewDatabase(t)}
	for i := range bankShards {
		var rows strings.Builder
		for id := range bankAccounts {
			fmt.Fprintf(&rows, ",(%d,0)", id)
		}
		table := fmt.Sprintf("%s.d_%d", b.database, i)
		m.Exec(t, "CREATE TABLE "+table+" (id INT PRIMARY KEY, amount BIGINT NOT NULL)", "INSERT INTO "+table+" VALUES "+rows.String()[1:])
	}
	m.Exec(t, "CREATE TABLE "+b.database+".d_empty (id INT PRIMARY KEY, amount BIGINT NOT NULL)")
	var err error
	b.conn, err = m.Open(t, "tributary", b.database).Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.conn.Close() })
	return b
}

// open makes one transaction.
func (b *ledgerBank) open(ctx context.Context) error {
	b.opened++
	id, amount := bankAccounts+b.opened, rand.IntN(1000)
	if b.opened%2 == 0 {
		id = -b.opened
	}
	statements := []string{"BEGIN"}
	for i := range bankShards {
		statements = append(statements, fmt.Sprintf("INSERT INTO d_%d VALUES (%d, %d)", i, id, amount),
			fmt.Sprintf("UPDATE d_%d SET amount = amount - %d WHERE id = %d", i, amount, rand.IntN(bankAccounts)))
	}
	for _, q := range append(statements, fmt.Sprintf("INSERT INTO d_empty VALUES (%d, 0)", b.opened), "COMMIT") {
		if _, err := b.conn.ExecContext(ctx, q); err != nil {
			var server *driversql.MySQLError
			if errors.As(err, &server) && server.Number == 1213 { // LOCK TABLES may make it a deadlock's victim
				b.opened--
				return nil
			}
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// during writes while f runs.
func (b *ledgerBank) during(t *testing.T, f func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		for ctx.Err() == nil {
			if err := b.open(t.Context()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	f()
	cancel()
	wait.Wait()
}

func (b *ledgerBank) job(warehouse, run, table string) json.RawMessage {
	job := string(driftJob(b.server, b.database, warehouse, table))
	job = strings.Replace(strings.ReplaceAll(job, `"reader"`, `"tributary"`), "READER_PASSWORD", "TRIBUTARY_PASSWORD", 1)
	return json.RawMessage(strings.Replace(job, `"target": {"warehouse"`, `"run": {`+run+`}, "target": {"warehouse"`, 1))
}

// read is what Paimon's own library finds in the newest snapshot: rows and sum by shard.
func (b *ledgerBank) read(t *testing.T, warehouse string) (rows, sum map[string]int) {
	t.Helper()
	rows, sum = map[string]int{}, map[string]int{}
	for _, line := range testenv.Referee(t).Read(t, warehouse, "ods.d", 0) {
		var r struct {
			Table  string `json:"_table"`
			Amount string `json:"amount"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		amount, err := strconv.Atoi(r.Amount)
		require.NoError(t, err)
		rows[r.Table]++
		sum[r.Table] += amount
	}
	return rows, sum
}

// transactions is the number of the last one of a server that has written all of its GTID set itself.
func transactions(t *testing.T, gtid string) int {
	t.Helper()
	n, err := strconv.Atoi(gtid[strings.LastIndexByte(gtid, '-')+1:])
	require.NoError(t, err, gtid)
	return n
}

func (b *ledgerBank) gtid(t *testing.T) string {
	t.Helper()
	if b.server.Flavor() == testenv.FlavorMariaDB {
		return b.server.QueryValue(t, "SELECT @@global.gtid_binlog_pos")
	}
	return b.server.QueryValue(t, "SELECT @@global.gtid_executed")
}

// A bank is synced while accounts are opened, also beyond the keys and in the shard that were there when the run was planned.
// With instance all shards are of one moment, with shard each is; the cut in the result and in the snapshot says which: by the
// server's own numbers of transactions, it has as many accounts as transactions were made up to there.
func TestBankAtOneMoment(t *testing.T) {
	t.Setenv("TRIBUTARY_PASSWORD", "tributary")
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			b := newLedgerBank(t, testenv.Start(t, f)) // its binary log is counted
			start := transactions(t, b.gtid(t))
			for _, c := range []struct{ consistency, method, table string }{
				{"instance", "flush", `"split": {"count": 3}`},
				{"instance", "auto", `"primary_key": ["_table", "id"], "target": {"database": "ods", "bucket": 2}`},
				{"shard", "lock_tables", `"split": {"count": 4}`},
				{"shard", "auto", `"split": {"rows": 1000000}`},
			} {
				warehouse := t.TempDir()
				job := b.job(warehouse, fmt.Sprintf(`"consistency": %q, "moment": %q`, c.consistency, c.method), c.table)
				var result *activities.TableResult
				b.during(t, func() {
					var err error
					result, err = runJob(t, job, "r1")
					require.NoError(t, err)
				})
				require.Equal(t, c.consistency, result.Consistency)
				require.Len(t, result.Cut, 1)
				cut := result.Cut[0]
				require.Equal(t, "a", cut.Instance)
				first, last := cut.Position, cut.Position
				if cut.Last != nil {
					last = *cut.Last
				}
				low, high := transactions(t, first.GTID)-start, transactions(t, last.GTID)-start
				rows, sum := b.read(t, warehouse)
				for i := range bankShards {
					table := fmt.Sprintf("d_%d", i)
					require.Zero(t, sum[table], "%v: %s is of one moment", c, table)
					n := rows[table] - bankAccounts
					require.True(t, low <= n && n <= high, "%v: %s has %d of transactions %d to %d", c, table, n, low, high)
				}
				require.True(t, low <= rows["d_empty"] && rows["d_empty"] <= high)
				if c.consistency == "instance" {
					require.Nil(t, cut.Last)
					require.Equal(t, 1, cut.Moments)
				}
				d := testenv.Referee(t).Describe(t, warehouse, "ods.d", 0)
				properties := d.Snapshots[len(d.Snapshots)-1].Properties
				require.Equal(t, c.consistency, properties["tributary.consistency"])
				var kept source.Cut
				require.NoError(t, json.Unmarshal([]byte(properties["tributary.cut.a"]), &kept))
				kept.Instance = "a"
				require.Equal(t, cut, kept)
				require.Contains(t, strings.Join(result.Notes, "\n"), "consistency "+c.consistency+" on instance a by ")
			}
		})
	}
}

// Who may not open a moment is told so by the plan, with the GRANT.
func TestMomentRefusedByThePlan(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	b := newLedgerBank(t, testenv.Shared(t, testenv.FlavorMariaDB))
	job := strings.Replace(string(driftJob(b.server, b.database, t.TempDir(), "")), `"provenance": {"table": "_table"}, `, `"provenance": {"table": "_table"}`, 1)
	job = strings.Replace(job, `"target": {"warehouse"`, `"run": {"consistency": "instance", "moment": "flush"}, "target": {"warehouse"`, 1)
	_, err := (&activities.Explainer{Env: NewEnv(&config.Masker{})}).Explain(t.Context(), activities.ExplainInput{Job: json.RawMessage(job), Table: "d"})
	require.ErrorIs(t, err, activities.ErrPlanRefused)
	require.ErrorContains(t, err, "GRANT RELOAD ON *.* TO 'reader'@'%'")
}
