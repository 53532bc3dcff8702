package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/source"
)

// history is a MariaDB database whose transactions keep every version of each row that they made, and whose commits are known by
// the numbers that the server gave them. So what was there at a position of the binary log can be told afterwards.
type history struct {
	server   *testenv.MySQL
	database string
	db       *sql.DB
	// committing is held shared from a commit until its number is noted: who holds it alone knows of all that are visible.
	committing sync.RWMutex
	mu         sync.Mutex
	transacted int
	commits    map[string]uint64 // the number in the binary log of each transaction
}

// version is a row of a shard as one transaction left it. Texts are MySQL's, times are UTC.
type version struct {
	table, id, v, gone, w string
}

// line is the row as the referee prints it.
func (r version) line() string {
	if r.w == "" {
		return fmt.Sprintf(`{"id":%q,"v":%q,"_table":%q}`, r.id, r.v, r.table)
	}
	return fmt.Sprintf(`{"id":%q,"v":%q,"gone":%q,"w":%q,"_table":%q}`, r.id, r.v, r.gone, strings.Replace(r.w, " ", "T", 1)+"Z", r.table)
}

const (
	historyShards = 2
	// seeded rows of orders are in each shard from the start. The first is for transactions that stay open.
	seeded = 200
)

// newHistory makes the shards orders_n, whose rows change, and events_n, whose rows are added only.
func newHistory(t *testing.T) *history {
	t.Helper()
	m := testenv.MariaDB(t) // transactions of other tests would hold back the windows of these
	h := &history{server: m, database: m.NewDatabase(t), db: m.Open(t, "tributary", ""), commits: map[string]uint64{}}
	m.Exec(t, "USE "+h.database, "CREATE TABLE versions (n INT AUTO_INCREMENT PRIMARY KEY, tx INT NOT NULL, name VARCHAR(20) NOT NULL, id INT NOT NULL, v INT NOT NULL, gone INT, w TIMESTAMP(6) NULL)")
	for shard := range historyShards {
		m.Exec(t, "USE "+h.database,
			fmt.Sprintf("CREATE TABLE orders_%d (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, gone INT NOT NULL, w TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), KEY (w))", shard),
			fmt.Sprintf("CREATE TABLE events_%d (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL)", shard))
	}
	tx := h.begin(t)
	for shard := range historyShards {
		for range seeded {
			tx.insert(shard, 0)
		}
	}
	require.True(t, tx.commit(), "%v", tx.err)
	return h
}

// transaction is one that notes what it does. After an error it does nothing more.
type transaction struct {
	h    *history
	t    *testing.T
	name string
	conn *sql.Conn
	err  error
}

func (h *history) begin(t *testing.T) *transaction {
	h.mu.Lock()
	h.transacted++
	x := &transaction{h: h, t: t, name: strconv.Itoa(h.transacted)}
	h.mu.Unlock()
	if x.conn, x.err = h.db.Conn(context.Background()); x.err == nil {
		x.do("USE " + h.database)
		x.do("START TRANSACTION")
	}
	return x
}

func (x *transaction) do(statement string, args ...any) {
	if x.err == nil {
		_, x.err = x.conn.ExecContext(context.Background(), statement, args...)
	}
}

// insert adds an order and an event.
func (x *transaction) insert(shard, v int) {
	x.do(fmt.Sprintf("INSERT INTO orders_%d (v, gone) VALUES (?, 0)", shard), v)
	x.note("orders", shard, "gone, w", "LAST_INSERT_ID()")
	x.do(fmt.Sprintf("INSERT INTO events_%d (v) VALUES (?)", shard), v)
	x.note("events", shard, "NULL, NULL", "LAST_INSERT_ID()")
}

// change changes an order, which gone marks as deleted, or takes back into life.
func (x *transaction) change(shard, id int, gone bool) {
	x.do(fmt.Sprintf("UPDATE orders_%d SET v = v + 1, gone = ? WHERE id = ?", shard), gone, id)
	x.note("orders", shard, "gone, w", strconv.Itoa(id))
}

// note keeps the version of a row that the statement before made.
func (x *transaction) note(table string, shard int, rest, id string) {
	name := fmt.Sprintf("%s_%d", table, shard)
	x.do(fmt.Sprintf("INSERT INTO versions (tx, name, id, v, gone, w) SELECT %s, '%s', id, v, %s FROM %[2]s WHERE id = %[4]s", x.name, name, rest, id))
}

// commit tells whether the transaction is there. One that has failed, such as in a deadlock, is rolled back.
func (x *transaction) commit() bool {
	if x.conn == nil {
		return false
	}
	defer x.conn.Close()
	if x.err != nil {
		x.err = nil
		x.do("ROLLBACK")
		return false
	}
	x.h.committing.RLock()
	defer x.h.committing.RUnlock()
	x.do("COMMIT")
	var gtid string
	if x.err == nil {
		x.err = x.conn.QueryRowContext(context.Background(), "SELECT @@last_gtid").Scan(&gtid)
	}
	n, err := transactionNumber(gtid)
	if x.err != nil || err != nil {
		x.t.Errorf("a commit whose outcome is not known: %v, %v", x.err, err)
		return false
	}
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	x.h.commits[x.name] = n
	return true
}

// transactionNumber is the last part of a GTID of MariaDB, such as 0-1-42: the place of a commit among all of the server's.
func transactionNumber(gtid string) (uint64, error) {
	parts := strings.Split(gtid, "-")
	if len(parts) != 3 {
		return 0, fmt.Errorf("%q is not one GTID", gtid)
	}
	return strconv.ParseUint(parts[2], 10, 64)
}

// writeOn has three writers at work, whose transactions stay open for up to two seconds. stop waits for the last of them.
func (h *history) writeOn(t *testing.T) (stop func()) {
	t.Helper()
	end := make(chan struct{})
	var wait sync.WaitGroup
	for n := range 3 {
		wait.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				x := h.begin(t)
				for i := range 5 {
					shard := rand.IntN(historyShards)
					x.insert(shard, i)
					x.change(shard, 2+rand.IntN(seeded-1), i%2 == 1)
					x.do(fmt.Sprintf("DO SLEEP(%f)", rand.Float64()*float64(n+1)*0.13))
				}
				if rand.IntN(10) == 0 {
					x.do("SIGNAL SQLSTATE '45000'") // a change of mind
				}
				x.commit()
			}
		})
	}
	var once sync.Once
	stop = func() { once.Do(func() { close(end); wait.Wait() }) }
	t.Cleanup(stop)
	return stop
}

// hold begins a transaction that has inserted and changed rows and stays open until it is let go.
func (h *history) hold(t *testing.T) (letGo func()) {
	t.Helper()
	x := h.begin(t)
	for shard := range historyShards {
		x.insert(shard, 77)
		x.change(shard, 1, false)
	}
	require.NoError(t, x.err)
	return func() {
		t.Helper()
		require.True(t, x.commit(), "%v", x.err)
	}
}

// at is the row of each table and id that is visible at the position of a cut.
func (h *history) at(t *testing.T, cut []source.Cut) map[[2]string]version {
	t.Helper()
	require.Len(t, cut, 1, "one instance")
	require.Nil(t, cut[0].Last, "one moment")
	last, err := transactionNumber(cut[0].Position.GTID)
	require.NoError(t, err)
	h.committing.Lock()
	defer h.committing.Unlock()
	rows := map[[2]string]version{}
	for _, r := range h.server.Query(t, "SELECT tx, name, id, v, COALESCE(gone, ''), COALESCE(CAST(CONVERT_TZ(w, @@session.time_zone, '+00:00') AS CHAR), '') FROM "+h.database+".versions ORDER BY n") {
		if n, ok := h.commits[r[0]]; ok && n <= last {
			rows[[2]string{r[1], r[2]}] = version{table: r[1], id: r[2], v: r[3], gone: r[4], w: r[5]}
		}
	}
	return rows
}

// uppers are the watermarks of shards that a run left in its snapshot, by table, as MySQL prints them.
func uppers(t *testing.T, warehouse string, r activities.TableResult) map[string]string {
	t.Helper()
	for _, s := range testenv.Referee(t).Describe(t, warehouse, "ods."+r.Table, 0).Snapshots {
		if s.ID != r.Snapshot {
			continue
		}
		var state struct{ Shards map[string]string }
		require.NoError(t, json.Unmarshal([]byte(s.Properties["tributary.watermark"]), &state))
		out := map[string]string{}
		for shard, literal := range state.Shards {
			out[shard[strings.LastIndexByte(shard, '/')+1:]] = strings.Trim(literal, "'")
		}
		require.Len(t, out, historyShards)
		return out
	}
	t.Fatalf("snapshot %d of %s is not there", r.Snapshot, r.Table)
	return nil
}

// ordersAsOf are the rows of the key table after a run: those that MySQL had at the run's cut, as far as the windows go. Of a row
// that was changed since the end of its window the table has what it had before.
func (h *history) ordersAsOf(t *testing.T, cut []source.Cut, upTo map[string]string, before map[[2]string]string) (lines []string) {
	t.Helper()
	for key, r := range h.at(t, cut) {
		old, had := before[key]
		switch {
		case !strings.HasPrefix(r.table, "orders_"):
		case r.w <= upTo[r.table] && r.gone == "0":
			lines = append(lines, r.line())
		case r.w > upTo[r.table] && had:
			lines = append(lines, old)
		}
	}
	return lines
}

// eventsAsOf are the rows of the append table after a run.
func (h *history) eventsAsOf(t *testing.T, cut []source.Cut, upTo map[string]string) (lines []string) {
	t.Helper()
	for _, r := range h.at(t, cut) {
		if !strings.HasPrefix(r.table, "events_") {
			continue
		}
		id, err := strconv.Atoi(r.id)
		require.NoError(t, err)
		upper, err := strconv.Atoi(upTo[r.table])
		require.NoError(t, err)
		if id <= upper {
			lines = append(lines, r.line())
		}
	}
	return lines
}

// byTableAndID are the referee's lines by where their rows come from.
func byTableAndID(t *testing.T, lines []string) map[[2]string]string {
	t.Helper()
	out := map[[2]string]string{}
	for _, line := range lines {
		var row struct {
			Table string `json:"_table"`
			ID    string `json:"id"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		out[[2]string{row.Table, row.ID}] = line
	}
	return out
}
