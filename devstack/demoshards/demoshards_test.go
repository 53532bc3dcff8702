package demoshards_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/devstack/demoshards"
)

func start(t *testing.T) *demoshards.Shards {
	t.Helper()
	s, err := demoshards.Start(t.Context(), demoshards.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

func connect(t *testing.T, i demoshards.Instance, user, password string) *sql.DB {
	t.Helper()
	conf := mysql.NewConfig()
	conf.Net, conf.Addr, conf.User, conf.Passwd = "tcp", i.Address(), user, password
	conf.Loc, conf.ParseTime = time.UTC, false
	connector, err := mysql.NewConnector(conf)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestLayout(t *testing.T) {
	s := start(t)
	var shards []string
	for _, i := range s.Instances() {
		for _, table := range i.Tables {
			shards = append(shards, i.Name+"/"+table.Database+"."+table.Name)
			require.LessOrEqual(t, table.Rows, int64(5000))
		}
	}
	require.Equal(t, []string{
		"a/shop_0.orders_0", "a/shop_0.orders_1", "a/shop_1.orders_0", "a/shop_1.orders_1",
		"b/shop_2.orders_0", "b/shop_2.orders_1", "b/shop_3.orders_0", "b/shop_3.orders_1",
	}, shards)
}

// The numbers that a demonstration states must be those that the database itself gives.
func TestExpectedNumbers(t *testing.T) {
	s := start(t)
	for _, i := range s.Instances() {
		db := connect(t, i, demoshards.User, demoshards.Password)
		for _, table := range i.Tables {
			var minID, maxID, rows int64
			var sum string
			q := fmt.Sprintf("SELECT MIN(id), MAX(id), COUNT(*), CAST(SUM(amount) AS DECIMAL(20,2)) FROM `%s`.`%s`", table.Database, table.Name)
			require.NoError(t, db.QueryRowContext(t.Context(), q).Scan(&minID, &maxID, &rows, &sum))
			require.Equal(t, table.MinID, minID)
			require.Equal(t, table.MaxID, maxID)
			require.Equal(t, table.Rows, rows)
			require.Equal(t, fmt.Sprintf("%d.%02d", table.AmountCents/100, table.AmountCents%100), sum)
			require.Greater(t, maxID, rows, "ids must have gaps")
		}
	}
}

// The rows are a promise to those who write down what the demonstration shows.
func TestRowsAreTheSameOnEveryStart(t *testing.T) {
	a, b := start(t), start(t)
	for n, i := range a.Instances() {
		require.Equal(t, i.Tables, b.Instances()[n].Tables)
		require.Equal(t, dump(t, i), dump(t, b.Instances()[n]))
	}
	require.Equal(t, int64(2700), a.Instances()[0].Rows())
	require.Equal(t, int64(3500), a.Instances()[1].Rows())
}

func dump(t *testing.T, i demoshards.Instance) string {
	t.Helper()
	db := connect(t, i, demoshards.User, demoshards.Password)
	var out strings.Builder
	for _, table := range i.Tables {
		rows, err := db.QueryContext(t.Context(), fmt.Sprintf("SELECT * FROM `%s`.`%s` ORDER BY id", table.Database, table.Name))
		require.NoError(t, err)
		columns, err := rows.Columns()
		require.NoError(t, err)
		for rows.Next() {
			cells := make([]sql.NullString, len(columns))
			into := make([]any, len(cells))
			for c := range cells {
				into[c] = &cells[c]
			}
			require.NoError(t, rows.Scan(into...))
			fmt.Fprintln(&out, cells)
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
	}
	return out.String()
}

// A reader of splits: its session settings, a consistent snapshot, a prepared statement with a range, binary rows.
func TestBinaryProtocolOverASplit(t *testing.T) {
	i := start(t).Instances()[0]
	db := connect(t, i, demoshards.User, demoshards.Password)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	for _, statement := range []string{
		"SET NAMES utf8mb4",
		"SET SESSION time_zone='+00:00'",
		"SET SESSION sql_mode=''",
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		"SET SESSION net_write_timeout=3600, net_read_timeout=3600, wait_timeout=28800",
		"START TRANSACTION WITH CONSISTENT SNAPSHOT",
	} {
		_, err := conn.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	stmt, err := conn.PrepareContext(t.Context(), "SELECT * FROM `shop_0`.`orders_0` WHERE `id` >= ? AND `id` <= ? ORDER BY `id`")
	require.NoError(t, err)
	rows, err := stmt.QueryContext(t.Context(), int64(100), int64(300))
	require.NoError(t, err)

	var n, discounts, notes, paid int
	var big uint64
	for rows.Next() {
		var r struct {
			id                                   int64
			orderNo, amount, city, date, created string
			customer                             uint64
			status                               int8
			items                                int32
			discount, note, paidAt               sql.NullString
		}
		require.NoError(t, rows.Scan(&r.id, &r.orderNo, &r.customer, &r.status, &r.items, &r.amount, &r.discount, &r.city,
			&r.note, &r.date, &r.created, &r.paidAt))
		require.Equal(t, fmt.Sprintf("SO-00-%06d", r.id), r.orderNo)
		require.Regexp(t, `^\d+\.\d\d$`, r.amount)
		require.Regexp(t, `^2025-\d\d-\d\d$`, r.date)
		require.Regexp(t, "^"+r.date+` \d\d:\d\d:\d\d$`, r.created)
		require.Equal(t, r.status > 0, r.paidAt.Valid)
		n++
		discounts += count(r.discount.Valid)
		notes += count(r.note.Valid)
		paid += count(r.paidAt.Valid)
		big = max(big, r.customer)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	require.NoError(t, stmt.Close())
	_, err = conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)

	var want int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM shop_0.orders_0 WHERE id BETWEEN 100 AND 300").Scan(&want))
	require.Equal(t, want, n)
	require.Greater(t, n, 100)
	for name, k := range map[string]int{"discount": discounts, "note": notes, "paid_at": paid} {
		require.Positive(t, k, name)
		require.Less(t, k, n, "%s must have NULLs", name)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestUnsignedBeyondTheSignedRange(t *testing.T) {
	i := start(t).Instances()[0]
	db := connect(t, i, demoshards.User, demoshards.Password)
	stmt, err := db.PrepareContext(t.Context(), "SELECT customer_id FROM shop_0.orders_0 WHERE customer_id > ? ORDER BY customer_id DESC")
	require.NoError(t, err)
	t.Cleanup(func() { _ = stmt.Close() })
	var id uint64
	require.NoError(t, stmt.QueryRowContext(t.Context(), uint64(1)<<63).Scan(&id))
	require.Greater(t, id, uint64(1)<<63)
}

func TestTextIsExact(t *testing.T) {
	i := start(t).Instances()[0]
	db := connect(t, i, demoshards.User, demoshards.Password)
	rows, err := db.QueryContext(t.Context(), "SELECT DISTINCT note FROM shop_0.orders_0 WHERE note IS NOT NULL")
	require.NoError(t, err)
	var notes []string
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		notes = append(notes, s)
	}
	require.NoError(t, rows.Err())
	require.ElementsMatch(t, []string{"", "leave at the door", `ring twice; "blue" house`, "back\\slash and\ttab", "生日礼物 🎁"}, notes)
}

func TestInformationSchema(t *testing.T) {
	for _, i := range start(t).Instances() {
		db := connect(t, i, demoshards.User, demoshards.Password)
		var tables int
		require.NoError(t, db.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema LIKE 'shop\\_%' AND table_type='BASE TABLE' AND table_name LIKE 'orders\\_%'").Scan(&tables))
		require.Equal(t, len(i.Tables), tables)
		for _, table := range i.Tables {
			require.Equal(t, []string{
				"id bigint NO PRI", "order_no varchar(32) NO ", "customer_id bigint unsigned NO MUL", "status tinyint NO ",
				"items int NO ", "amount decimal(12,2) NO ", "discount decimal(12,2) YES ", "city varchar(64) NO ",
				"note text YES ", "order_date date NO ", "created_at datetime NO ", "paid_at datetime YES ",
			}, strings4(t, db, "SELECT column_name, column_type, is_nullable, column_key FROM information_schema.columns WHERE table_schema=? AND table_name=? ORDER BY ordinal_position", table))
			require.Equal(t, []string{"PRIMARY id 1 0", "idx_customer customer_id 1 1"},
				strings4(t, db, "SELECT index_name, column_name, seq_in_index, non_unique FROM information_schema.statistics WHERE table_schema=? AND table_name=? ORDER BY non_unique", table))
		}
	}
}

// strings4 runs a query of four columns for a table, as a prepared statement, and joins each row with spaces.
func strings4(t *testing.T, db *sql.DB, query string, table demoshards.Table) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, table.Database, table.Name)
	require.NoError(t, err)
	var out []string
	for rows.Next() {
		var a, b, c, d string
		require.NoError(t, rows.Scan(&a, &b, &c, &d))
		out = append(out, strings.Join([]string{a, b, c, d}, " "))
	}
	require.NoError(t, rows.Err())
	return out
}

func TestAccountMayOnlyRead(t *testing.T) {
	i := start(t).Instances()[0]
	db := connect(t, i, demoshards.User, demoshards.Password)
	for _, statement := range []string{
		"DELETE FROM shop_0.orders_0", "UPDATE shop_0.orders_0 SET items=0", "DROP TABLE shop_0.orders_0",
		"CREATE USER x IDENTIFIED BY 'x'", "CREATE DATABASE y",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.Error(t, err, statement)
	}
	require.Error(t, connect(t, i, demoshards.User, "wrong").PingContext(t.Context()))
	require.Error(t, connect(t, i, "root", "").PingContext(t.Context()))
	require.Error(t, connect(t, i, "setup", "").PingContext(t.Context()))
}

func TestPorts(t *testing.T) {
	first := start(t).Instances()[0]
	_, err := demoshards.Start(t.Context(), demoshards.Options{BasePort: first.Port})
	var inUse *demoshards.PortInUseError
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, first.Port, inUse.Port)
	require.Equal(t, "127.0.0.1", first.Host)
}

func TestStopFreesThePorts(t *testing.T) {
	s, err := demoshards.Start(t.Context(), demoshards.Options{})
	require.NoError(t, err)
	i := s.Instances()[0]
	require.NoError(t, s.Stop())
	require.NoError(t, s.Stop())
	var d net.Dialer
	_, err = d.DialContext(t.Context(), "tcp", i.Address())
	require.Error(t, err)
}

func TestCancelledStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := demoshards.Start(ctx, demoshards.Options{})
	require.ErrorIs(t, err, context.Canceled)
}
