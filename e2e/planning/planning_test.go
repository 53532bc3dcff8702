package planning

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/app"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/source/mysql"
)

// connections is the limit of each instance in these tests.
const connections = 6

// job is one over both servers' databases shop_*, whose password is that of testenv's reader.
func job(t *testing.T, servers []*testenv.MySQL) json.RawMessage {
	t.Helper()
	t.Setenv("READER_PASSWORD", "reader")
	var instances []any
	for i, s := range servers {
		instances = append(instances, map[string]any{
			"name": fmt.Sprintf("i%d", i), "host": s.Host(), "port": s.Port(), "user": "reader", "password": "${env:READER_PASSWORD}", "databases": "shop_*",
		})
	}
	data, err := json.Marshal(map[string]any{
		"job": "plan", "source": map[string]any{"instances": instances, "limits": map[string]any{"connections": connections}},
		"tables": []any{map[string]any{"name": "orders", "match": "orders_*", "target": map[string]any{"database": "ods"}}},
		"target": map[string]any{"warehouse": t.TempDir()},
	})
	require.NoError(t, err)
	return data
}

// explain plans a job as a worker does for `starter plan`, and tells how long it took.
func explain(t *testing.T, job json.RawMessage) (*activities.Explanation, time.Duration) {
	t.Helper()
	began := time.Now()
	x, err := (&activities.Explainer{Env: app.NewEnv(&config.Masker{})}).Explain(t.Context(), activities.ExplainInput{Job: job, Table: "orders"})
	took := time.Since(began)
	require.NoError(t, err)
	t.Logf("%d shards in %d splits were planned in %s", x.ShardCount, x.Splits, took.Round(time.Millisecond))
	return x, took
}

// digits are the tables that rows are made of.
func digits(t *testing.T, s *testenv.MySQL, database string) {
	t.Helper()
	s.Exec(t, "CREATE DATABASE "+database, "CREATE TABLE "+database+".d (d INT)", "INSERT INTO "+database+".d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
}

// watch samples a server's process list until its end is called, which gives the most connections of the reader that were
// there at once.
func watch(t *testing.T, s *testenv.MySQL) (end func() int) {
	t.Helper()
	db := s.Open(t, "tributary", "")
	ctx, cancel := context.WithCancel(t.Context())
	most, samples := 0, 0
	var failed error
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil && failed == nil {
			var n int
			err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'reader'").Scan(&n)
			if err != nil && ctx.Err() == nil {
				failed = err
			}
			most = max(most, n)
			samples++
		}
	})
	return func() int {
		cancel()
		done.Wait()
		require.NoError(t, failed)
		require.Greater(t, samples, 10)
		return most
	}
}

// heap samples the heap until its end is called, which gives the most bytes in use above those of the beginning.
func heap() (end func() int64) {
	inUse := func() int64 {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	runtime.GC()
	before, most := inUse(), int64(0)
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				most = max(most, inUse())
			}
		}
	})
	return func() int64 {
		close(stop)
		done.Wait()
		return max(most, inUse()) - before
	}
}

// Two hundred shards on two instances, one of which has ten million rows: planned in less than ten seconds, in splits that
// MySQL itself counts as even, over no more connections than the limit allows.
func TestTwoHundredShards(t *testing.T) {
	var servers []*testenv.MySQL
	for range 2 {
		s := testenv.MariaDB(t, testenv.BufferPool("512M"), testenv.Setting("innodb_flush_log_at_trx_commit", "0"))
		servers = append(servers, s)
		digits(t, s, "shop_0")
		for i := range 100 {
			name := fmt.Sprintf("shop_0.orders_%03d", i)
			rows := "SELECT a.d + 10 * b.d + 100 * c.d, CONCAT('k', a.d, b.d, c.d), 1 FROM shop_0.d a, shop_0.d b, shop_0.d c"
			s.Exec(t, "CREATE TABLE "+name+" (id BIGINT NOT NULL, k VARCHAR(20) NOT NULL, v INT, PRIMARY KEY (id))", "INSERT INTO "+name+" "+rows)
		}
	}
	big := servers[0]
	big.Exec(t, "CREATE TABLE shop_0.orders_big (id BIGINT NOT NULL PRIMARY KEY, k VARCHAR(20) NOT NULL, v INT)")
	for million := range 10 {
		big.Exec(t, fmt.Sprintf(`INSERT INTO shop_0.orders_big SELECT %d000000 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d, 'k', 1
			FROM shop_0.d a, shop_0.d b, shop_0.d c, shop_0.d e, shop_0.d f, shop_0.d g`, million))
	}
	require.Equal(t, "10000000", big.QueryValue(t, "SELECT COUNT(*) FROM shop_0.orders_big"))
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			big.Exec(t, "ANALYZE TABLE shop_0.orders_big")
		}
		ends := []func() int{watch(t, servers[0]), watch(t, servers[1])}
		x, took := explain(t, job(t, servers))
		for _, end := range ends {
			require.LessOrEqual(t, end(), connections+1, "and one that waits in line")
		}
		require.Equal(t, 201, x.ShardCount)
		require.Less(t, took, 10*time.Second)
	}
	src, err := mysql.Open(t.Context(), []mysql.Config{{Name: "i0", Host: big.Host(), Port: big.Port(), User: "reader", Password: "reader"}}, mysql.Options{})
	require.NoError(t, err)
	defer src.Close()
	found, err := src.Discover(t.Context(), mysql.Selection{Tables: func(name string) bool { return name == "orders_big" }})
	require.NoError(t, err)
	began := time.Now()
	splits, err := src.Split(t.Context(), found.Tables[0], mysql.SplitOptions{})
	require.NoError(t, err)
	t.Logf("the shard of ten million rows was cut into %d splits in %s", len(splits), time.Since(began).Round(time.Millisecond))
	least, most, sum := int64(1)<<62, int64(0), int64(0)
	for _, s := range splits {
		n, err := strconv.ParseInt(big.QueryValue(t, fmt.Sprintf("SELECT COUNT(*) FROM shop_0.orders_big WHERE id BETWEEN %s AND %s", s.Range.Lower, s.Range.Upper)), 10, 64)
		require.NoError(t, err)
		least, most, sum = min(least, n), max(most, n), sum+n
	}
	require.EqualValues(t, 10_000_000, sum)
	require.LessOrEqual(t, most, 4*least, "%d splits", len(splits))
	require.LessOrEqual(t, most, int64(4*250_000))
}

// A thousand shards on two instances: what a plan holds in memory is bounded, and its connections are.
func TestThousandShards(t *testing.T) {
	var servers []*testenv.MySQL
	for range 2 {
		s := testenv.MariaDB(t, testenv.Setting("innodb_flush_log_at_trx_commit", "0"))
		servers = append(servers, s)
		digits(t, s, "shop_0")
		for i := range 500 {
			name := fmt.Sprintf("shop_0.orders_%03d", i)
			s.Exec(t, "CREATE TABLE "+name+" (id BIGINT NOT NULL, k VARCHAR(20) NOT NULL, v INT, w DECIMAL(10,2), PRIMARY KEY (k, id))",
				"INSERT INTO "+name+" SELECT d, d, d, d FROM shop_0.d")
		}
	}
	ends := []func() int{watch(t, servers[0]), watch(t, servers[1])}
	end := heap()
	x, _ := explain(t, job(t, servers))
	held := end()
	for _, end := range ends {
		require.LessOrEqual(t, end(), connections+1)
	}
	require.Equal(t, 1000, x.ShardCount)
	require.EqualValues(t, 10_000, x.Rows)
	t.Logf("the plan held %d KiB", held>>10)
	require.Less(t, held, int64(128<<20))
}
