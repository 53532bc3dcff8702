package mysql_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source/mysql"
	"github.com/tributary-lake/tributary/source/tally"
)

// Numbers with a floating point have one text at the server and here: all magnitudes, and both sides of where an exponent begins.
func TestServersAndTalliesPrintFloatsAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	numbers := []float64{0, 1, 1e14, 1e15, 123456789012345, 1234567890123456, 999999999999999, 1e-14, 1e-15, 1.5e-15, 9.9e-16, 5e-324, math.MaxFloat64, 9007199254740993}
	for range 3000 {
		f := math.Float64frombits(random.Uint64())
		if !math.IsNaN(f) && !math.IsInf(f, 0) {
			numbers = append(numbers, f)
		}
		numbers = append(numbers, (random.Float64()-0.5)*math.Pow(10, float64(random.IntN(40)-20)))
	}
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE f (id INT PRIMARY KEY, d DOUBLE, f FLOAT)")
		var values []string
		for i, f := range numbers {
			narrow := f
			if math.Abs(f) > math.MaxFloat32 {
				narrow = 1 / f
			}
			values = append(values, fmt.Sprintf("(%d, %.17e, %.9e)", i, f, narrow))
		}
		s.exec(t, "INSERT INTO f VALUES "+strings.Join(values, ", "))
		r := readOf(t, s.table(t, "f", mysql.Policy{}))
		require.NoError(t, summed(t.Context(), s.source, r))
	})
}

// The server's sum is of the snapshot that is read, whatever is written meanwhile, also by an isolation level that has none.
func TestTallyIsOfTheSnapshotThatIsRead(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		table := s.numbers(t, "n", 5000)
		r := readOf(t, table)
		r.Tally = true
		own := tally.NewAdder(r.FromSource())
		writer := s.session(t)
		// The first batch comes after the server has summed, while the rest is yet to be read.
		src := open(t, mysql.Options{BatchRows: 10}, configOf(s.server, "a"))
		first := true
		stats, err := src.Read(t.Context(), r, each(func(b *row.Batch) error {
			own.Add(b)
			if !first {
				return nil
			}
			first = false
			return run(t, writer, "UPDATE n SET pad = 'changed' WHERE id > 4000", "DELETE FROM n WHERE id BETWEEN 3000 AND 3100")
		}))
		require.NoError(t, err)
		require.EqualValues(t, 5000, stats.Tally.Rows)
		require.Equal(t, own.Sum, *stats.Tally)
		require.NoError(t, summed(t.Context(), src, r), "the connection has no snapshot any more")
		require.EqualValues(t, s.server.QueryValue(t, "SELECT COUNT(*) FROM "+s.database+".n"), fmt.Sprint(5000-101))
	})
}

func run(t *testing.T, c *sql.Conn, texts ...string) error {
	t.Helper()
	for _, text := range texts {
		if _, err := c.ExecContext(t.Context(), text); err != nil {
			return err
		}
	}
	return nil
}

// A sum tells a changed byte, a lost row, a row that came twice, two values that changed places and a NULL from an empty text.
func TestTallyTellsRowsApart(t *testing.T) {
	onAll(t, func(t *testing.T, s *shop) {
		s.exec(t, "CREATE TABLE v (id INT PRIMARY KEY, a VARCHAR(9), b VARCHAR(9), c BLOB)", "INSERT INTO v VALUES (1, 'x', 'y', x'00'), (2, '', NULL, x'01')")
		r := readOf(t, s.table(t, "v", mysql.Policy{}))
		r.Tally = true
		seen := map[tally.Sum]string{}
		for _, change := range []string{
			"DO 0", "UPDATE v SET a = 'w' WHERE id = 1", "UPDATE v SET a = 'y', b = 'x' WHERE id = 1", "UPDATE v SET a = 'x', b = 'y', c = x'80' WHERE id = 1",
			"UPDATE v SET c = x'00' WHERE id = 1", "UPDATE v SET a = NULL, b = '' WHERE id = 2", "UPDATE v SET c = '' WHERE id = 2", "INSERT INTO v VALUES (3, NULL, NULL, NULL)", "DELETE FROM v WHERE id = 1",
		} {
			s.exec(t, change)
			stats, err := s.source.Read(t.Context(), r, each(func(*row.Batch) error { return nil }))
			require.NoError(t, err)
			if change == "UPDATE v SET c = x'00' WHERE id = 1" {
				require.Equal(t, "DO 0", seen[*stats.Tally])
				continue
			}
			require.Empty(t, seen[*stats.Tally], change)
			seen[*stats.Tally] = change
		}
	})
}
