package mysql_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// follower reads a table as runs one after another do.
type follower struct {
	*shop
	source *mysql.Source
	mark   source.Watermark
	table  string
	after  string
	last   source.Windows
}

// follow goes by a column, with an account that may see transactions.
func (s *shop) follow(t *testing.T, table, column string) *follower {
	t.Helper()
	c := configOf(s.server, "a")
	c.User, c.Password = "tributary", "tributary"
	return &follower{shop: s, source: open(t, mysql.Options{}, c), table: table, mark: source.Watermark{Column: column}}
}

// step reads what is new: the ids, in order.
func (f *follower) step(t *testing.T) []string {
	t.Helper()
	table := f.shop.table(t, f.table, mysql.Policy{})
	var err error
	f.last, err = f.source.Windows(t.Context(), f.mark, []source.Since{{Table: table, After: f.after}})
	require.NoError(t, err)
	w := f.last.List[0]
	if w.Range == nil {
		require.Empty(t, w.UpTo)
		return nil
	}
	require.NotEmpty(t, w.UpTo)
	f.after = w.UpTo
	read := readOf(t, table)
	table.Window = &w
	splits, err := f.source.Split(t.Context(), table, mysql.SplitOptions{Rows: 2, Where: f.mark.Where})
	require.NoError(t, err)
	read.Where = f.mark.Where
	var ids []string
	for _, split := range splits {
		split.Window = w.Range
		read.Split = split
		rows, _, err := collect(t.Context(), f.source, read)
		require.NoError(t, err)
		for _, r := range rows {
			ids = append(ids, r[0])
		}
	}
	slices.Sort(ids)
	return ids
}

func ids(list ...string) []string { return list }

// Rows with the greatest value of a window are in it, all of them, and no row is in two windows: for times with and without fractions,
// in any time zone of the server, days, and integers with and without sign at the ends of their types.
func TestWindowsShareNoRowAndLeaveNoneOut(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		for name, c := range map[string]struct {
			column     string
			steps      [][]string // values of rows that come one after another
			indexed    bool
			notIndexed bool
		}{
			"datetime6": {"w DATETIME(6) NOT NULL", [][]string{{"'2024-05-01 10:00:00.000001'", "'2024-05-01 10:00:00.000001'"}, {"'2024-05-01 10:00:00.000002'"}, {"'2024-05-01 10:00:00.1'", "'2024-05-01 10:00:00.1'"}}, true, false},
			"datetime":  {"w DATETIME NULL", [][]string{{"'1000-01-01'", "'2024-05-01 10:00:00'"}, {"'2024-05-01 10:00:01'"}}, true, false},
			"timestamp": {"w TIMESTAMP(3) NOT NULL DEFAULT '2001-01-01'", [][]string{{"'2024-03-31 01:30:00.999'"}, {"'2024-03-31 02:30:00'", "'2024-03-31 02:30:00'"}, {"'2024-10-27 01:00:00.001'"}}, false, true},
			"date":      {"w DATE NOT NULL", [][]string{{"'2024-01-01'", "'2024-01-01'"}, {"'2024-02-29'"}}, true, false},
			"negative":  {"w INT NOT NULL", [][]string{{"-2147483648", "-7"}, {"-6", "-6"}, {"0"}, {"2147483647"}}, true, false},
			"unsigned":  {"w BIGINT UNSIGNED NOT NULL", [][]string{{"0", "9223372036854775807"}, {"9223372036854775808"}, {"18446744073709551615", "18446744073709551615"}}, false, true},
			"nullable":  {"w BIGINT NULL", [][]string{{"1", "1"}, {"2"}}, true, false},
		} {
			t.Run(name, func(t *testing.T) {
				index := ""
				if c.indexed {
					index = ", KEY (w)"
				}
				s.exec(t, fmt.Sprintf("CREATE TABLE w_%s (id INT PRIMARY KEY, %s%s)", name, c.column, index))
				f := s.follow(t, "w_"+name, "W")
				require.Empty(t, f.step(t), "an empty shard")
				id := 0
				for _, values := range c.steps {
					var want []string
					for _, v := range values {
						id++
						s.exec(t, fmt.Sprintf("INSERT INTO w_%s VALUES (%d, %s)", name, id, v))
						want = append(want, fmt.Sprint(id))
					}
					slices.Sort(want)
					require.Equal(t, want, f.step(t))
					require.Equal(t, c.indexed, f.last.List[0].Indexed)
					require.Equal(t, c.notIndexed, len(f.last.Notes) > 0, f.last.Notes)
					require.Empty(t, f.step(t), "nothing new")
				}
			})
		}
	})
}

// A row of a transaction that is open when the window's end is fixed comes in a later window, although rows with later times and
// greater numbers were there before.
func TestWindowsWaitForOpenTransactions(t *testing.T) {
	onAll(t, windowsWait)
}

// So it is on servers that live in another time zone than UTC, before it or after: the beginnings of transactions are told in the
// time zone of the server's system whatever that of the session is, and windows are in UTC.
func TestWindowsWaitForOpenTransactionsInAnyTimeZone(t *testing.T) {
	for _, flavor := range []testenv.Flavor{testenv.FlavorMariaDB, testenv.FlavorMySQL80} {
		for name, offset := range map[string]string{"EAST": "-5:30", "WEST": "+8"} { // in POSIX' TZ, east of Greenwich is negative
			t.Run(string(flavor)+", "+name, func(t *testing.T) {
				t.Setenv("TZ", name+offset)
				s := newShop(t, testenv.Start(t, flavor, testenv.TimeZone("+01:00")))
				require.Equal(t, []string{name, "+01:00"}, s.server.Query(t, "SELECT @@system_time_zone, @@global.time_zone")[0])
				windowsWait(t, s)
			})
		}
	}
}

func windowsWait(t *testing.T, s *shop) {
	t.Helper()
	s.exec(t, "CREATE TABLE times (id INT PRIMARY KEY, w TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), KEY (w))",
		"CREATE TABLE numbers (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
	times, numbers := s.follow(t, "times", "w"), s.follow(t, "numbers", "id")
	s.exec(t, "INSERT INTO times (id) VALUES (1)", "INSERT INTO numbers (v) VALUES (1)")
	late := s.session(t)
	hold(t, late, "INSERT INTO times (id) VALUES (2)", "INSERT INTO numbers (v) VALUES (2)")
	nextSecond(t, s)
	s.exec(t, "INSERT INTO times (id) VALUES (3)", "INSERT INTO numbers (v) VALUES (3)")
	nextSecond(t, s)
	nextSecond(t, s)

	require.NotContains(t, times.step(t), "3", "it is later than a row that cannot be seen yet")
	require.Contains(t, times.last.Notes[0], "the oldest transaction that may have written began at")
	require.Empty(t, numbers.step(t))
	require.Contains(t, numbers.last.Notes[0], "numbered rows wait for a later run")

	_, err := late.ExecContext(t.Context(), "COMMIT")
	require.NoError(t, err)
	first := []string{}
	if times.after != "" {
		first = ids("1")
	}
	require.Equal(t, ids("1", "2", "3"), append(first, times.step(t)...))
	require.Equal(t, ids("1", "2", "3"), numbers.step(t))
}

// hold begins a transaction and leaves it open.
func hold(t *testing.T, c *sql.Conn, statements ...string) {
	t.Helper()
	for _, q := range append([]string{"START TRANSACTION"}, statements...) {
		_, err := c.ExecContext(t.Context(), q)
		require.NoError(t, err)
	}
}

// nextSecond waits for the server's clock.
func nextSecond(t *testing.T, s *shop) {
	t.Helper()
	second := func() string { return s.server.QueryValue(t, "SELECT UTC_TIMESTAMP()") }
	from := second()
	require.Eventually(t, func() bool { return second() != from }, 10*time.Second, 20*time.Millisecond)
}

// Transactions that only read, or have done nothing yet, hold no window back.
func TestReadersHoldNoWindowBack(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE numbers (id INT AUTO_INCREMENT PRIMARY KEY, v INT)", "INSERT INTO numbers (v) VALUES (1)")
		hold(t, s.session(t), "SELECT * FROM numbers")
		f := s.follow(t, "numbers", "id")
		require.Equal(t, ids("1"), f.step(t))
		require.Empty(t, f.last.Notes)
	})
}

// Rows of the running second, of the time of the overlap and of the future wait.
func TestWindowsEndBeforeTheClock(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE times (id INT PRIMARY KEY, w DATETIME(6) NOT NULL)",
			"INSERT INTO times VALUES (1, UTC_TIMESTAMP(6) - INTERVAL 10 MINUTE), (2, UTC_TIMESTAMP(6) - INTERVAL 5 MINUTE), (3, UTC_TIMESTAMP(6) + INTERVAL 1 HOUR), (4, UTC_TIMESTAMP(6) + INTERVAL 1 SECOND)",
			"CREATE TABLE days (id INT PRIMARY KEY, w DATE NOT NULL)",
			"INSERT INTO days VALUES (1, UTC_DATE() - INTERVAL 1 DAY), (2, UTC_DATE())")
		f := s.follow(t, "times", "w")
		require.Equal(t, ids("1", "2"), f.step(t))
		f = s.follow(t, "times", "w")
		f.mark.Overlap = (7 * time.Minute).Microseconds()
		require.Equal(t, ids("1"), f.step(t))
		f.mark.Again, f.mark.Overlap = true, (4 * time.Minute).Microseconds()
		s.exec(t, "INSERT INTO times VALUES (5, UTC_TIMESTAMP(6) - INTERVAL 12 MINUTE), (6, UTC_TIMESTAMP(6) - INTERVAL 20 MINUTE)")
		require.Equal(t, ids("1", "2", "5"), f.step(t), "the overlap is read again, and what came late within it")
		require.Equal(t, ids("1"), s.follow(t, "days", "w").step(t), "today is not over")
	})
}

// An account without PROCESS is told so, and numbers are held back by the overlap alone.
func TestWindowsWithoutProcess(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE numbers (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, v INT)", "INSERT INTO numbers (v) VALUES (1), (2), (3), (4)")
		f := s.follow(t, "numbers", "id")
		f.source = s.source
		f.mark.Values = 1
		require.Equal(t, ids("1", "2", "3"), f.step(t))
		require.Contains(t, f.last.Notes[0], "open transactions cannot be seen (GRANT PROCESS)")
		f.mark.Values = 100
		f.after = ""
		require.Empty(t, f.step(t), "below what the type can hold")
		f.mark.Again, f.after = true, "3"
		f.mark.Values = 0
		require.Equal(t, ids("4"), f.step(t))
	})
}

// Rows without a value, columns of other types and columns that are not there are refused before anything is read. A condition
// may leave such rows out.
func TestWindowsRefuse(t *testing.T) {
	s := newShop(t, testenv.Shared(t, testenv.FlavorMariaDB))
	s.exec(t, "CREATE TABLE n (id INT PRIMARY KEY, w INT, f DOUBLE, s VARCHAR(9))", "INSERT INTO n VALUES (1, 1, 1, 'a'), (2, NULL, 2, 'b')")
	table := s.table(t, "n", mysql.Policy{})
	for column, want := range map[string]string{
		"w": `1 rows have no value in column "w"`, "f": "that can be a watermark", "s": `column "s" is varchar`, "none": `it has no column "none"`,
	} {
		_, err := s.source.Windows(t.Context(), source.Watermark{Column: column}, []source.Since{{Table: table}})
		require.ErrorIs(t, err, source.ErrRefused)
		require.ErrorContains(t, err, want)
	}
	_, err := s.source.Windows(t.Context(), source.Watermark{Column: "w", Where: "w IS NOT NULL"}, []source.Since{{Table: table, After: "'2024-01-01'"}})
	require.ErrorIs(t, err, source.ErrRefused)
	require.ErrorContains(t, err, "the column's type was changed")
	f := s.follow(t, "n", "w")
	f.mark.Where = "w IS NOT NULL OR id = 7 -- a comment"
	require.Equal(t, ids("1"), f.step(t))
}

// Few new rows among many are read by the watermark's index.
func TestNarrowWindowsAreCutByTheirColumn(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE big (id INT AUTO_INCREMENT PRIMARY KEY, w DATETIME(6) NOT NULL, KEY (w))",
			"INSERT INTO big (w) VALUES ('2024-01-01')")
		for range 12 {
			s.exec(t, "INSERT INTO big (w) SELECT '2024-01-01' FROM big")
		}
		s.exec(t, "ANALYZE TABLE big")
		f := s.follow(t, "big", "w")
		require.Len(t, f.step(t), 4096)
		require.False(t, f.last.List[0].Narrow)
		s.exec(t, "UPDATE big SET w = '2024-01-02' WHERE id IN (1, 2000, 5000)", "INSERT INTO big (id, w) VALUES (100000, '2024-01-03')")
		require.NotEmpty(t, f.step(t))
		require.True(t, f.last.List[0].Narrow)
	})
}
