package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// Amounts move between two shards that are read at one moment, and the worker is killed with kill -9 while it reads: another
// worker reads all of it again, at a new moment, and claims it once. So nothing has been moved by half.
func TestWorkerKilledInAMoment(t *testing.T) {
	const accounts, parts = 10_000, 4
	m := testenv.MariaDB(t) // transactions of other tests would be taken for the run's
	database := m.NewDatabase(t)
	for shard := range 2 {
		m.Exec(t, fmt.Sprintf("CREATE TABLE %s.orders_%d (id INT PRIMARY KEY, amount BIGINT NOT NULL)", database, shard),
			fmt.Sprintf("INSERT INTO %s.orders_%d SELECT seq, 100 FROM %[1]s.seq_1_to_%[3]d", database, shard, accounts))
	}
	f := &manySplits{stack: theStack(t), warehouse: t.TempDir(), queue: queue(t)}
	f.job = jobFile(t, f.warehouse, f.queue, []server{{"a", m}}, func(job, table map[string]any) {
		source := job["source"].(map[string]any)
		source["instances"].([]any)[0].(map[string]any)["databases"] = database
		source["limits"] = map[string]any{"rows_per_second": accounts / 2} // four seconds to strike in
		job["run"] = map[string]any{"parallelism": 3, "consistency": "instance"}
		table["split"] = map[string]any{"count": parts}
	})
	moved := moveAmounts(t, m, database, accounts)
	w := f.stack.startWorker(t, f.queue)
	run := f.start(t)
	eventually(t, patience, "three transactions beside the one that moves amounts", func() bool {
		n, err := strconv.Atoi(m.QueryValue(t, "SELECT COUNT(*) FROM information_schema.innodb_trx"))
		return err == nil && n > 2
	})
	w.kill()
	require.Empty(t, f.ledgerFiles(run, "splits"), "it was the middle")
	first := moved()
	f.stack.startWorker(t, f.queue)
	s := f.finish(t, run)
	require.Greater(t, moved(), first, "amounts moved on")

	require.Len(t, s.Tables[0].Cut, 1)
	require.Equal(t, 1, s.Tables[0].Cut[0].Moments)
	require.Greater(t, len(f.ledgerFiles(run, "attempts")), 1, "the unit was tried again")
	var sum int64
	var rows int
	for _, line := range testenv.Referee(t).Read(t, f.warehouse, "ods.orders", 0) {
		var account struct{ Amount string }
		require.NoError(t, json.Unmarshal([]byte(line), &account))
		amount, err := strconv.ParseInt(account.Amount, 10, 64)
		require.NoError(t, err)
		sum += amount
		rows++
	}
	require.Equal(t, 2*accounts, rows)
	require.Equal(t, int64(2*accounts*100), sum)
}

// moveAmounts moves amounts between any two accounts of both shards until the test ends. It returns how many were moved so far.
func moveAmounts(t *testing.T, m *testenv.MySQL, database string, accounts int) (moved func() int) {
	t.Helper()
	db := m.Open(t, "tributary", "")
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	var n int
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 1; ctx.Err() == nil; i++ {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				continue // the end of the test, or the next try
			}
			for shard, sign := range []string{"-", "+"} {
				_, err = tx.ExecContext(ctx, fmt.Sprintf("UPDATE %s.orders_%d SET amount = amount %s %d WHERE id = %d", database, shard, sign, i, 1+i*7919%accounts))
				if err != nil {
					break
				}
			}
			if err == nil {
				err = tx.Commit()
			} else {
				_ = tx.Rollback()
			}
			if err == nil {
				mu.Lock()
				n++
				mu.Unlock()
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		wait.Wait()
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}
