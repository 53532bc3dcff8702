package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	driversql "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// bank has accounts in several shards. Its only writer moves amounts between any two, and counts its transfers in the
// account 0 of the first shard, all in one transaction.
type bank struct {
	*shop
	tables []source.Table
	reads  []source.Read
	// start is the position before the first transfer.
	start source.Position
}

const (
	bankShards   = 3
	bankAccounts = 200
)

func newBank(t *testing.T, s *shop) *bank {
	t.Helper()
	b := &bank{shop: s}
	for i := range bankShards {
		s.exec(t, fmt.Sprintf("CREATE TABLE b%d (id INT PRIMARY KEY, amount BIGINT NOT NULL, transfers BIGINT NOT NULL)", i))
		var rows strings.Builder
		for id := range bankAccounts {
			fmt.Fprintf(&rows, ",(%d,1000,0)", id)
		}
		s.exec(t, fmt.Sprintf("INSERT INTO b%d VALUES %s", i, rows.String()[1:]))
		b.tables = append(b.tables, s.table(t, fmt.Sprintf("b%d", i), mysql.Policy{}))
		splits, err := s.source.Split(t.Context(), b.tables[i], mysql.SplitOptions{Count: 4})
		require.NoError(t, err)
		require.Len(t, splits, 4)
		for _, split := range splits {
			r := readOf(t, b.tables[i])
			r.Split = split
			b.reads = append(b.reads, r)
		}
	}
	b.start = positionOf(t, s.server)
	return b
}

// positionOf is where a server that nobody writes to is, by its own words.
func positionOf(t *testing.T, m *testenv.MySQL) source.Position {
	t.Helper()
	at := m.Query(t, "SHOW MASTER STATUS")[0]
	offset, err := strconv.ParseUint(at[1], 10, 64)
	require.NoError(t, err)
	p := source.Position{File: at[0], Offset: offset}
	if m.Flavor() == testenv.FlavorMariaDB {
		p.GTID = m.QueryValue(t, "SELECT @@global.gtid_binlog_pos")
	} else {
		p.GTID = at[4]
	}
	return p
}

// number is the last transaction of a server that has written all of its set itself: of uuid:1-N and of domain-server-N.
func number(t *testing.T, gtid string) int64 {
	t.Helper()
	require.NotContains(t, gtid, ",")
	n, err := strconv.ParseInt(gtid[strings.LastIndexByte(gtid, '-')+1:], 10, 64)
	require.NoError(t, err, gtid)
	return n
}

// transfer keeps transferring until the function that it returns is called.
func (b *bank) transfer(t *testing.T) (end func()) {
	t.Helper()
	c := b.session(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		for ctx.Err() == nil {
			err := transferOnce(t.Context(), c)
			var server *driversql.MySQLError
			if err != nil && (!errors.As(err, &server) || server.Number != 1213) { // LOCK TABLES may make it a deadlock's victim
				t.Errorf("transfer: %v", err)
				return
			}
			<-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond) // a bank that is never quiet has no quiet moment
		}
	})
	return func() {
		cancel()
		wait.Wait()
	}
}

func transferOnce(ctx context.Context, c *sql.Conn) error {
	amount := rand.IntN(50)
	for _, q := range []string{
		"BEGIN",
		fmt.Sprintf("UPDATE b%d SET amount = amount - %d WHERE id = %d", rand.IntN(bankShards), amount, rand.IntN(bankAccounts)),
		fmt.Sprintf("UPDATE b%d SET amount = amount + %d WHERE id = %d", rand.IntN(bankShards), amount, rand.IntN(bankAccounts)),
		"UPDATE b0 SET transfers = transfers + 1 WHERE id = 0",
		"COMMIT",
	} {
		if _, err := c.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// balance is what a reading of all shards found.
type balance struct {
	rows, amount, transfers int64
}

// read reads all splits by all readers of a moment at the same time.
func (b *bank) read(ctx context.Context, m *mysql.Moment) (balance, error) {
	var all balance
	var mu sync.Mutex
	var next atomic.Int64
	var wait sync.WaitGroup
	var failed error
	for i := range m.Readers() {
		wait.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(b.reads)); n = next.Add(1) - 1 {
				_, err := m.Read(ctx, i, b.reads[n], each(func(batch *row.Batch) error {
					mu.Lock()
					defer mu.Unlock()
					all.rows += int64(batch.Rows)
					for k := range batch.Rows {
						all.amount += batch.Columns[1].I64[k]
						all.transfers += batch.Columns[2].I64[k]
					}
					return nil
				}))
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
			}
		})
	}
	wait.Wait()
	return all, failed
}

// shards are those of all tables.
func (b *bank) shards() []source.Shard {
	var shards []source.Shard
	for _, table := range b.tables {
		shards = append(shards, table.Shard)
	}
	return shards
}

// TestOneMoment reads a bank by four connections while money is moved, by every method. All sums are those of one moment,
// and the position is that after exactly as many transactions as the bank had counted: by the GTID, and by the commits that
// the server finds in its own binary log up to the offset.
func TestOneMoment(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, testenv.Start(t, f)) // its binary log is read
			b := newBank(t, s)
			c := s.account(t, "SELECT, RELOAD, PROCESS, LOCK TABLES, REPLICATION CLIENT")
			b.start = positionOf(t, s.server)
			src := open(t, mysql.Options{BatchRows: 7}, c)
			end := b.transfer(t)
			var opened []source.Moment
			for _, method := range []source.MomentMethod{source.MomentAuto, source.MomentFlush, source.MomentLockTables, source.MomentPosition} {
				for range 5 {
					m, err := src.OpenMoment(t.Context(), source.MomentRequest{Instance: "a", Shards: b.shards(), Readers: 4, Method: method})
					require.NoError(t, err)
					require.Equal(t, 4, m.Readers())
					got, err := b.read(t.Context(), m)
					require.NoError(t, err)
					o := m.Opened()
					require.NoError(t, m.Close())
					want := method
					if method == source.MomentAuto {
						want = source.MomentFlush
					}
					require.Equal(t, want, o.Method)
					require.Equal(t, 4, o.Connections)
					require.Equal(t, want != source.MomentPosition, o.Locked > 0)
					require.Less(t, o.Locked, 5*time.Second)
					require.EqualValues(t, bankShards*bankAccounts, got.rows)
					require.EqualValues(t, bankShards*bankAccounts*1000, got.amount, "%s: no transfer is seen by half", want)
					require.Equal(t, got.transfers, number(t, o.Position.GTID)-number(t, b.start.GTID), "%s: GTID %s", want, o.Position.GTID)
					require.Equal(t, b.start.File, o.Position.File)
					require.Equal(t, got.transfers, b.commits(t, o.Position), "%s: %s", want, o.Position)
					opened = append(opened, o)
				}
			}
			end()
			cuts := source.Cuts(opened)
			require.Len(t, cuts, 1)
			require.Equal(t, opened[0].Position, cuts[0].Position)
			require.Equal(t, opened[len(opened)-1].Position, *cuts[0].Last)
			require.Equal(t, []source.MomentMethod{source.MomentFlush, source.MomentLockTables, source.MomentPosition}, cuts[0].Methods)
		})
	}
}

// commits counts the transactions that the server's binary log has from the bank's start to a position.
func (b *bank) commits(t *testing.T, p source.Position) int64 {
	t.Helper()
	n := int64(0)
	for _, e := range b.server.Query(t, fmt.Sprintf("SHOW BINLOG EVENTS IN '%s' FROM %d", p.File, b.start.Offset)) {
		end, err := strconv.ParseUint(e[4], 10, 64)
		require.NoError(t, err)
		if e[2] == "Xid" && end <= p.Offset {
			n++
		}
	}
	return n
}

// TestMomentRights opens a moment for accounts with different rights. The plan says which way will be taken and what the
// others need; what is asked for and not allowed is refused with the GRANT to type, by which it is then allowed.
func TestMomentRights(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		b := newBank(t, s)
		mariadb := s.server.Flavor() == testenv.FlavorMariaDB
		c := s.account(t, "SELECT")
		account := fmt.Sprintf("'%s'@'%%'", c.User)
		grants := map[source.MomentMethod]string{
			source.MomentFlush:      "GRANT RELOAD, PROCESS ON *.* TO " + account,
			source.MomentLockTables: "GRANT LOCK TABLES ON *.* TO " + account,
		}
		if mariadb {
			grants[source.MomentFlush] = "GRANT RELOAD ON *.* TO " + account
		}
		plan := func(method source.MomentMethod, readers int) (source.MomentPlan, error) {
			src := open(t, mysql.Options{}, c)
			plans, err := src.PlanMoments(t.Context(), b.shards(), method, map[string]int{"a": readers})
			if err != nil {
				require.Empty(t, plans)
				return source.MomentPlan{}, err
			}
			require.Len(t, plans, 1)
			// The run does as the plan says.
			m, err := src.OpenMoment(t.Context(), source.MomentRequest{Instance: "a", Shards: b.shards(), Readers: readers, Method: method})
			require.NoError(t, err)
			require.Equal(t, plans[0].Method, m.Opened().Method)
			require.NotEmpty(t, m.Opened().Position.GTID)
			require.NoError(t, m.Close())
			return plans[0], nil
		}
		auto := func() source.MomentPlan {
			p, err := plan(source.MomentAuto, 3)
			require.NoError(t, err)
			return p
		}
		_, err := plan(source.MomentAuto, 3)
		require.ErrorIs(t, err, source.ErrDenied)
		replication := "GRANT REPLICATION CLIENT ON *.* TO " + account
		for _, grant := range append(slices.Collect(maps.Values(grants)), replication) {
			require.ErrorContains(t, err, grant)
		}
		p, err := plan(source.MomentAuto, 1)
		require.NoError(t, err)
		require.Equal(t, source.MomentPosition, p.Method, "one connection sees one moment whatever the log leaves out")
		s.exec(t, replication)
		require.Equal(t, source.MomentPosition, auto().Method, "the log leaves out nothing")
		for _, method := range []source.MomentMethod{source.MomentLockTables, source.MomentFlush} {
			_, err := plan(method, 3)
			require.ErrorIs(t, err, source.ErrDenied)
			require.ErrorContains(t, err, grants[method])
			require.Contains(t, strings.Join(auto().Notes, "; "), "it needs")
			s.exec(t, grants[method])
			p, err := plan(method, 3)
			require.NoError(t, err)
			require.Equal(t, method, p.Method)
			p = auto()
			require.Equal(t, method, p.Method, "now the better one")
			require.Equal(t, method == source.MomentFlush, len(p.Notes) == 0)
		}
		p, err = plan(source.MomentAuto, 1)
		require.NoError(t, err)
		require.Equal(t, source.MomentPosition, p.Method, "one connection needs no lock")
		if mariadb {
			return
		}
		s.exec(t, "REVOKE PROCESS ON *.* FROM "+account)
		p = auto()
		require.Equal(t, source.MomentLockTables, p.Method, "a flush that cannot see long statements is not preferred")
		require.Contains(t, strings.Join(p.Notes, "; "), "GRANT PROCESS ON *.* TO "+account)
		s.exec(t, "REVOKE LOCK TABLES ON *.* FROM "+account)
		require.Equal(t, source.MomentPosition, auto().Method)
		p, err = plan(source.MomentFlush, 3)
		require.NoError(t, err, "but who demands it gets it")
		require.Contains(t, strings.Join(p.Notes, "; "), "GRANT PROCESS ON *.* TO "+account)
	})
}

// TestMomentRightsOfTables locks tables for accounts that may read these alone, or the databases of a pattern. The GRANT that the
// plan names takes no right to read away, and is enough.
func TestMomentRightsOfTables(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		b := newBank(t, s)
		tables := make([]string, 0, len(b.tables))
		for _, table := range b.tables {
			tables = append(tables, fmt.Sprintf("`%s`.`%s`", table.Shard.Database, table.Shard.Table))
		}
		pattern := "`" + strings.ReplaceAll(s.database[:len(s.database)-1], "_", `\_`) + "_`.*"
		c := s.account(t, "SELECT")
		account := fmt.Sprintf("'%s'@'%%'", c.User)
		for name, readable := range map[string][]string{"some tables": tables, "a pattern": {pattern}} {
			s.exec(t, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM "+account)
			for _, r := range readable {
				s.exec(t, "GRANT SELECT ON "+r+" TO "+account)
			}
			src := open(t, mysql.Options{}, c)
			lock := func() error {
				m, err := src.OpenMoment(t.Context(), source.MomentRequest{Instance: "a", Shards: b.shards(), Readers: 2, Method: source.MomentLockTables})
				if err != nil {
					return err
				}
				got, err := b.read(t.Context(), m)
				require.NoError(t, err, name)
				require.EqualValues(t, bankShards*bankAccounts, got.rows, name)
				return m.Close()
			}
			needed := "GRANT LOCK TABLES ON *.* TO " + account
			err := lock()
			require.ErrorIs(t, err, source.ErrDenied, name)
			require.ErrorContains(t, err, needed, name)
			s.exec(t, needed)
			require.NoError(t, lock(), name)
		}
	})
}

// TestMomentWithoutLog reads a server that has no binary log, and MySQL without GTIDs: what cannot be known is said so.
func TestMomentWithoutLog(t *testing.T) {
	cases := []struct {
		name    string
		flavor  testenv.Flavor
		options []testenv.Option
	}{
		{"no log", testenv.FlavorMariaDB, []testenv.Option{testenv.Setting("skip-log-bin", "")}},
		{"no GTIDs", testenv.FlavorMySQL57, []testenv.Option{testenv.Setting("gtid_mode", "OFF"), testenv.Setting("enforce_gtid_consistency", "OFF")}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, testenv.Start(t, c.flavor, c.options...))
			b := &bank{shop: s, tables: []source.Table{s.numbers(t, "n", 10)}}
			config := s.account(t, "SELECT")
			src := open(t, mysql.Options{}, config)
			ask := func(method source.MomentMethod) (source.Moment, error) {
				_, err := src.PlanMoments(t.Context(), b.shards(), method, map[string]int{"a": 2})
				m, opening := src.OpenMoment(t.Context(), source.MomentRequest{Instance: "a", Shards: b.shards(), Readers: 2, Method: method})
				require.Equal(t, err == nil, opening == nil, "%v, %v", err, opening)
				if err != nil {
					require.ErrorIs(t, opening, source.ErrDenied)
					return source.Moment{}, err
				}
				return m.Opened(), m.Close()
			}
			_, err := ask(source.MomentAuto)
			require.ErrorIs(t, err, source.ErrDenied)
			require.ErrorContains(t, err, "GRANT RELOAD")
			require.ErrorContains(t, err, "GRANT LOCK TABLES ON *.*")
			s.exec(t, fmt.Sprintf("GRANT LOCK TABLES ON *.* TO '%s'@'%%'", config.User))
			m, err := ask(source.MomentAuto)
			require.NoError(t, err)
			require.Equal(t, source.MomentLockTables, m.Method)
			require.Empty(t, m.Position.GTID)
			require.Empty(t, m.Position.File)
			if c.flavor == testenv.FlavorMariaDB {
				require.Equal(t, "the server has no binary log", m.Position.Unknown)
				_, err = ask(source.MomentPosition)
				require.ErrorIs(t, err, source.ErrDenied)
				require.ErrorContains(t, err, "the server has no binary log")
				return
			}
			require.Contains(t, m.Position.Unknown, "GRANT REPLICATION CLIENT ON *.* TO")
			_, err = ask(source.MomentPosition)
			require.ErrorIs(t, err, source.ErrDenied)
			s.exec(t, fmt.Sprintf("GRANT REPLICATION CLIENT ON *.* TO '%s'@'%%'", config.User))
			m, err = ask(source.MomentPosition)
			require.NoError(t, err)
			want := positionOf(t, s.server)
			require.Equal(t, source.Position{File: want.File, Offset: want.Offset}, m.Position)
		})
	}
}

// TestMomentEnds alters a table that a moment has read, which on MySQL nothing holds up: its next split is refused. MariaDB
// keeps what was read from being altered, so there another table is. The connection of a reader that is lost is told as
// such, and shards that no snapshot holds still are refused before.
func TestMomentEnds(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		b := newBank(t, s)
		c := s.account(t, "SELECT, RELOAD, PROCESS")
		src := open(t, mysql.Options{}, c)
		m, err := src.OpenMoment(t.Context(), source.MomentRequest{Instance: "a", Shards: b.shards(), Readers: 2})
		require.NoError(t, err)
		read := func(i int) error {
			_, err := m.Read(t.Context(), 0, b.reads[i], each(func(*row.Batch) error { return nil }))
			return err
		}
		require.NoError(t, read(0))
		altered, next := "b0", 1
		if s.server.Flavor() == testenv.FlavorMariaDB {
			altered, next = "b1", 4
		}
		s.exec(t, "SET lock_wait_timeout = 10", "ALTER TABLE "+altered+" ADD COLUMN more INT, ENGINE = InnoDB, ALGORITHM = COPY")
		require.ErrorIs(t, read(next), source.ErrSchemaChanged)
		require.NoError(t, m.Close())

		m, err = src.OpenMoment(t.Context(), source.MomentRequest{Instance: "a", Shards: b.shards(), Readers: 2})
		require.NoError(t, err)
		require.NoError(t, read(0))
		for _, p := range s.server.Query(t, "SELECT id FROM information_schema.processlist WHERE user = '"+c.User+"'") {
			s.kill(t, p[0])
		}
		require.ErrorIs(t, read(1), source.ErrUnavailable)
		require.NoError(t, m.Close())

		s.exec(t, "ALTER TABLE b1 ENGINE = MyISAM")
		_, err = src.PlanMoments(t.Context(), b.shards(), source.MomentAuto, map[string]int{"a": 2})
		require.ErrorIs(t, err, source.ErrDenied)
		require.ErrorContains(t, err, s.database+".b1 (MyISAM)")
	})
}

// TestMomentSlots opens moments of two sources, which stand for two runs, on four slots that each of them wants: one waits
// for the other as a whole, and both get all. Who wants more than are left goes on with fewer.
func TestMomentSlots(t *testing.T) {
	s := newShop(t, testenv.Start(t, testenv.FlavorMariaDB)) // slots are the server's
	t.Parallel()
	b := newBank(t, s)
	c := s.account(t, "SELECT, RELOAD, PROCESS")
	c.Connections = 4
	one, two := open(t, mysql.Options{}, c), open(t, mysql.Options{}, c)
	ask := func(src *mysql.Source, readers int) *mysql.Moment {
		m, err := src.OpenMoment(t.Context(), source.MomentRequest{Instance: "a", Shards: b.shards(), Readers: readers})
		if err != nil {
			t.Error(err)
		}
		return m
	}
	var wait sync.WaitGroup
	for range 4 {
		for _, src := range []*mysql.Source{one, two} {
			wait.Go(func() {
				m := ask(src, 9)
				if m == nil {
					return
				}
				used := s.server.QueryValue(t, "SELECT (IS_USED_LOCK('tributary:slot:1') IS NOT NULL) + (IS_USED_LOCK('tributary:slot:2') IS NOT NULL)"+
					" + (IS_USED_LOCK('tributary:slot:3') IS NOT NULL) + (IS_USED_LOCK('tributary:slot:4') IS NOT NULL)")
				if m.Readers() != 4 || used != "4" {
					t.Errorf("%d readers of 4, %s slots in use", m.Readers(), used)
				}
				if got, err := b.read(t.Context(), m); err != nil || got.rows != bankShards*bankAccounts {
					t.Errorf("%d rows: %v", got.rows, err)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	held := ask(one, 3)
	fewer := ask(two, 3)
	require.Equal(t, 1, fewer.Readers())
	require.NoError(t, fewer.Close())
	require.NoError(t, held.Close())
}
