package mysql_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// repeat runs a statement again and again on a session of its own, after others, until the function that it returns is called.
func (b *bank) repeat(t *testing.T, query string, before ...string) (end func()) {
	t.Helper()
	c := b.session(t)
	for _, q := range before {
		_, err := c.ExecContext(t.Context(), q)
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		for ctx.Err() == nil {
			if _, err := c.ExecContext(t.Context(), query); err != nil {
				t.Errorf("%s: %v", query, err)
				return
			}
		}
	})
	return func() {
		cancel()
		wait.Wait()
	}
}

// TestQuietMomentBesideStatus opens quiet moments of a bank while others ask MariaDB for the places of their own, older snapshots:
// what it is about to tell of them stands in variables that all share.
func TestQuietMomentBesideStatus(t *testing.T) {
	s := newShop(t, testenv.Start(t, testenv.FlavorMariaDB)) // its transactions are counted
	t.Parallel()
	b := newBank(t, s)
	c := s.account(t, "SELECT, REPLICATION CLIENT")
	start := number(t, positionOf(t, s.server).GTID)
	end := b.transfer(t)
	for range 2 {
		defer b.repeat(t, "SHOW STATUS LIKE 'Binlog%'", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT")()
	}
	defer b.repeat(t, "SHOW STATUS LIKE 'Binlog%'")()
	src := open(t, mysql.Options{BatchRows: 7}, c)
	for range 10 {
		m, err := src.OpenMoment(t.Context(), source.MomentRequest{Instance: "a", Shards: b.shards(), Readers: 4, Method: source.MomentPosition})
		require.NoError(t, err)
		got, err := b.read(t.Context(), m)
		require.NoError(t, err)
		require.NoError(t, m.Close())
		require.EqualValues(t, bankShards*bankAccounts*1000, got.amount, "no transfer is seen by half")
		require.Equal(t, got.transfers, number(t, m.Opened().Position.GTID)-start)
	}
	end()
}

// TestQuietMomentOfFilteredLog: what the binary log leaves out would come between unseen, so a quiet moment cannot be proved.
func TestQuietMomentOfFilteredLog(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newShop(t, testenv.Start(t, f, testenv.Setting("binlog-ignore-db", "scratch")))
			b := &bank{shop: s, tables: []source.Table{s.numbers(t, "n", 10)}}
			src := open(t, mysql.Options{}, s.account(t, "SELECT, REPLICATION CLIENT"))
			_, err := src.PlanMoments(t.Context(), b.shards(), source.MomentPosition, map[string]int{"a": 2})
			require.ErrorIs(t, err, source.ErrDenied)
			require.ErrorContains(t, err, "the binary log leaves out databases (binlog_do_db or binlog_ignore_db)")
		})
	}
}
