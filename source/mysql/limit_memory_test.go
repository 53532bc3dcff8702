package mysql_test

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source/mysql"
)

// heap is how many bytes of objects this process has, those included that the collector has not come to yet.
func heap() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// peak runs f and tells by how many bytes the heap grew at most meanwhile.
func peak(t *testing.T, f func()) int64 {
	t.Helper()
	runtime.GC()
	before := heap()
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		highest := before
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				highest = max(highest, heap())
			case <-stop:
				most <- highest
				return
			}
		}
	}()
	f()
	close(stop)
	return <-most - before
}

const mib = 1 << 20

// TestMemory reads what is much larger than the memory that a read may take: many small rows, among them one of 64 MiB,
// which costs its own size a few times, once; and rows of a thousand columns.
func TestMemory(t *testing.T) {
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) {
			s := newShop(t, testenv.Start(t, f, testenv.Setting("max_allowed_packet", "256M")))
			many := s.numbers(t, "many", 2000)
			for range 5 { // 64,000 rows of 1 kB
				s.exec(t, "INSERT INTO many SELECT id + (SELECT m FROM (SELECT MAX(id) m FROM many) x), pad FROM many")
			}
			require.Equal(t, "64000", s.server.QueryValue(t, "SELECT COUNT(*) FROM "+s.database+".many"))
			t.Run("small rows", func(t *testing.T) {
				grown := peak(t, func() {
					stats, err := s.source.Read(t.Context(), readOf(t, many), each(func(*row.Batch) error { return nil }))
					require.NoError(t, err)
					require.EqualValues(t, 64000, stats.Rows)
					require.Greater(t, stats.Bytes, int64(64*1000*1000))
				})
				require.Less(t, grown, int64(32*mib))
			})
			t.Run("a row of 64 MiB", func(t *testing.T) {
				// InnoDB takes rows up to a tenth of its log.
				s.exec(t, "CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB NOT NULL) ENGINE = MyISAM",
					"INSERT INTO big SELECT id, REPEAT('s', 100) FROM many WHERE id <= 20000",
					fmt.Sprintf("UPDATE big SET b = REPEAT('x', %d) WHERE id = 10000", 64*mib))
				r := readOf(t, s.table(t, "big", mysql.Policy{}))
				rows, bytes, longest, settled := 0, 0, 0, int64(0)
				var before int64
				grown := peak(t, func() {
					before = heap()
					_, err := s.source.Read(t.Context(), r, each(func(b *row.Batch) error {
						for i := range b.Rows {
							value := b.Columns[1].Bytes(i)
							longest, bytes = max(longest, len(value)), bytes+len(value)
						}
						if rows += b.Rows; rows == 20000 {
							runtime.GC()
							settled = heap()
						}
						return nil
					}))
					require.NoError(t, err)
				})
				require.Equal(t, 20000, rows)
				require.Equal(t, 64*mib, longest)
				require.Equal(t, 64*mib+19999*100, bytes)
				require.Less(t, grown, int64(5*64*mib))
				require.Less(t, settled-before, int64(16*mib), "the memory of the large row is given back")
			})
			t.Run("1,000 columns", func(t *testing.T) {
				var columns strings.Builder
				for i := 1; i < 1000; i++ {
					fmt.Fprintf(&columns, ", c%d INT NOT NULL DEFAULT %[1]d", i)
				}
				s.exec(t, "CREATE TABLE wide (c0 INT PRIMARY KEY"+columns.String()+")",
					"INSERT INTO wide (c0) SELECT id FROM many WHERE id <= 5000")
				r := readOf(t, s.table(t, "wide", mysql.Policy{}))
				rows := 0
				grown := peak(t, func() {
					_, err := s.source.Read(t.Context(), r, each(func(b *row.Batch) error {
						rows += b.Rows
						if len(b.Columns) != 1000 {
							return fmt.Errorf("%d columns", len(b.Columns))
						}
						for i := 1; i < 1000; i++ {
							for j := range b.Rows {
								if b.Columns[i].I32[j] != int32(i) {
									return fmt.Errorf("column %d: %d", i, b.Columns[i].I32[j])
								}
							}
						}
						return nil
					}))
					require.NoError(t, err)
				})
				require.Equal(t, 5000, rows)
				require.Less(t, grown, int64(32*mib))
			})
		})
	}
}
