package e2e

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
)

// The memory of a job and what the program itself may need beside it.
const (
	jobMemory     = 256 << 20
	runtimeMemory = 64 << 20
)

// heavyTable is a table that would take much memory.
type heavyTable struct {
	name, create string
	// rows are statements that fill a shard $T of a database $DB.
	rows   []string
	target map[string]any
	// table are settings of the job's table besides.
	table map[string]any
	// check are columns whose values are compared, and files the most that there may be.
	check []string
	files int
}

// Tables of every shape that takes much memory, each in four splits that one worker reads at the same time: it stays within
// run.memory and what the program itself needs, measured by the kernel, and no row is lost or changed.
func TestMemoryPromise(t *testing.T) {
	t.Parallel()
	s := theStack(t)
	m := testenv.MariaDB(t, testenv.Setting("max_allowed_packet", "80M"), testenv.Setting("group_concat_max_len", "80000000"))
	for _, c := range heavyTables() {
		t.Run(c.name, func(t *testing.T) {
			database := m.NewDatabase(t)
			for shard := range 4 {
				names := strings.NewReplacer("$DB", database, "$T", fmt.Sprintf("%s.orders_%d", database, shard))
				m.Exec(t, names.Replace("CREATE TABLE $T ("+c.create+") ENGINE = MyISAM"))
				for _, statement := range c.rows {
					m.Exec(t, names.Replace(statement))
				}
			}
			warehouse, q, spill := t.TempDir(), queue(t), t.TempDir()
			w := s.startPlainWorker(t, q, "--spill", spill)
			r := s.run(t, "run", "-f", jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
				job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
				job["run"] = map[string]any{"parallelism": 4, "memory": jobMemory}
				table["provenance"] = false
				table["split"] = map[string]any{"count": 1}
				for k, v := range c.target {
					table["target"].(map[string]any)[k] = v
				}
				maps.Copy(table, c.table)
			}), "--wait", "--json")
			require.Zero(t, r.code, r.stderr)
			peak := peakMemory(t, w.cmd.Process.Pid)
			sum := summaryOf(t, r).Tables[0]
			t.Logf("peak of the worker: %d MiB, %d files", peak>>20, sum.Files)
			require.LessOrEqual(t, peak, int64(jobMemory+runtimeMemory))
			require.LessOrEqual(t, int(sum.Files), c.files)
			require.Equal(t, mysqlSums(t, m, database, c.check), lakeSums(t, warehouse, c.check))
			require.Equal(t, sum.Written, testenv.Referee(t).Count(t, warehouse, "ods.orders", 0).Rows)
			left, err := filepath.Glob(filepath.Join(spill, "*", "[0-9]*"))
			require.NoError(t, err)
			require.Empty(t, left, "spilled rows are removed")
		})
	}
}

// A row that the memory cannot hold ends the run with the setting to raise, and nothing is left in the lake.
func TestRowBeyondMemory(t *testing.T) {
	s := theStack(t)
	m := testenv.MariaDB(t, testenv.Setting("max_allowed_packet", "80M"))
	database := m.NewDatabase(t)
	m.Exec(t, "CREATE TABLE "+database+".orders_1 (id INT PRIMARY KEY, b LONGBLOB) ENGINE = MyISAM",
		"INSERT INTO "+database+".orders_1 VALUES (1, 'a'), (2, REPEAT('x', 50000000)), (3, 'c')")
	warehouse, q := t.TempDir(), queue(t)
	s.startWorker(t, q)
	job := func(memory int) string {
		return jobFile(t, warehouse, q, []server{{"a", m}}, func(job, table map[string]any) {
			job["source"].(map[string]any)["instances"].([]any)[0].(map[string]any)["databases"] = database
			job["run"] = map[string]any{"memory": memory}
			table["provenance"] = false
		})
	}
	r := s.run(t, "run", "-f", job(128<<20), "--wait", "--json")
	require.Equal(t, 1, r.code, r.stderr)
	require.Contains(t, r.stdout+r.stderr, "orders_1")
	require.Contains(t, r.stdout+r.stderr, "raise run.memory")
	r = s.run(t, "run", "-f", job(256<<20), "--wait", "--json")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, mysqlSums(t, m, database, []string{"id", "b"}), lakeSums(t, warehouse, []string{"id", "b"}))
}

func heavyTables() []heavyTable {
	each := func(n int, of string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, of, i)
		}
		return b.String()
	}
	const narrow = "id INT PRIMARY KEY, p INT NOT NULL, a VARCHAR(100), b VARCHAR(100), c BIGINT, d DECIMAL(30,5), e DATETIME"
	fill := []string{"INSERT INTO $T SELECT seq, seq * 7919 % 1000, MD5(seq), REPEAT(SHA1(seq), 2), seq * 1234567, seq / 7," +
		" '2024-01-01' + INTERVAL seq SECOND FROM $DB.seq_1_to_150000"}
	byShard := map[string]any{"provenance": map[string]any{"table": "_table"}, "primary_key": []string{"_table", "p", "id"}}
	return []heavyTable{
		{
			name: "a key table of 64 buckets and 20 partitions", create: narrow, rows: append(slices.Clone(fill), "UPDATE $T SET p = p % 20"),
			target: map[string]any{"partition": []string{"p"}, "bucket": 64}, table: byShard, check: []string{"id", "a", "b", "c"}, files: 20 * 64,
		},
		{
			name: "a key table whose one bucket has four fifths of the rows", create: narrow,
			rows:   append(slices.Clone(fill), "UPDATE $T SET p = IF(p % 5, 7, p)"),
			target: map[string]any{"bucket": 16, "options": map[string]any{"bucket-key": "p"}}, table: byShard, check: []string{"id", "a", "b", "c"}, files: 200,
		},
		{name: "1,000 partitions", create: narrow, rows: fill, target: map[string]any{"partition": []string{"p"}}, check: []string{"id", "a", "b", "c"}, files: 4000},
		{
			name: "256 buckets", create: narrow, rows: fill, target: map[string]any{"bucket": 256, "options": map[string]any{"bucket-key": "id"}},
			check: []string{"id", "a", "b", "c"}, files: 1024,
		},
		{
			name:   "rows of 64 MB",
			create: "id INT PRIMARY KEY, a VARCHAR(100), b LONGBLOB",
			rows: []string{
				"INSERT INTO $T SELECT seq, MD5(seq), REPEAT(SHA1(seq), 5) FROM $DB.seq_1_to_20000",
				"UPDATE $T SET b = (SELECT GROUP_CONCAT(RANDOM_BYTES(1024) SEPARATOR '') FROM $DB.seq_1_to_62500) WHERE id IN (5000, 5001, 15000)",
				"UPDATE $T SET b = (SELECT GROUP_CONCAT(RANDOM_BYTES(1024) SEPARATOR '') FROM $DB.seq_1_to_5000) WHERE id BETWEEN 8000 AND 8005",
			},
			check: []string{"id", "a", "b"}, files: 8,
		},
		{
			// Most are NULL, which takes a bit of what the server sends and eight bytes of what is held.
			name:   "1,000 columns",
			create: "id INT PRIMARY KEY" + each(998, ", c%d BIGINT") + ", z VARCHAR(100)",
			rows: []string{
				"INSERT INTO $T (id, z" + each(300, ", c%d") + ") SELECT seq, MD5(seq)" + each(300, ", seq * %d") + " FROM $DB.seq_1_to_10000",
				"INSERT INTO $T (id, z) SELECT seq, MD5(seq) FROM $DB.seq_10001_to_50000",
			},
			check: []string{"id", "c0", "c299", "c997", "z"}, files: 4,
		},
	}
}

// sums are the number of rows and, for each column, the sum of the CRC-32 of its values as text.
type sums struct {
	rows uint64
	crcs []uint64
}

func mysqlSums(t *testing.T, m *testenv.MySQL, database string, columns []string) sums {
	t.Helper()
	out := sums{crcs: make([]uint64, len(columns))}
	number := func(query string) uint64 {
		n, err := strconv.ParseUint(m.QueryValue(t, query), 10, 64)
		require.NoError(t, err)
		return n
	}
	tables := m.Query(t, "SELECT table_name FROM information_schema.tables WHERE table_schema = '"+database+"' AND table_name LIKE 'orders%'")
	require.NotEmpty(t, tables)
	for _, table := range tables {
		from := " FROM " + database + "." + table[0]
		out.rows += number("SELECT COUNT(*)" + from)
		for i, c := range columns {
			out.crcs[i] += number("SELECT COALESCE(SUM(CRC32(" + c + ")), 0)" + from)
		}
	}
	return out
}

func lakeSums(t *testing.T, warehouse string, columns []string) sums {
	t.Helper()
	store, err := fileio.OpenLocal(warehouse)
	require.NoError(t, err)
	c := catalog.NewFilesystem(store)
	id := catalog.Identifier{Database: "ods", Table: "orders"}
	frozen, err := c.LoadTable(t.Context(), id)
	require.NoError(t, err)
	out := sums{crcs: make([]uint64, len(columns))}
	err = lake.NewTable(store, c.Path(id), frozen).Scan(t.Context(), lake.ScanOptions{Columns: columns}, func(b *row.Batch) error {
		out.rows += uint64(b.Rows)
		for i := range b.Columns {
			v := &b.Columns[i]
			for r := range b.Rows {
				switch {
				case v.IsNull(r):
				case v.Layout == row.LayoutInt32:
					out.crcs[i] += uint64(crc32.ChecksumIEEE(strconv.AppendInt(nil, int64(v.I32[r]), 10)))
				case v.Layout == row.LayoutInt64:
					out.crcs[i] += uint64(crc32.ChecksumIEEE(strconv.AppendInt(nil, v.I64[r], 10)))
				default:
					out.crcs[i] += uint64(crc32.ChecksumIEEE(v.Bytes(r)))
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	return out
}

// startPlainWorker starts a worker that was built without the race detector, which needs several times the memory.
func (s *stack) startPlainWorker(t *testing.T, queue string, args ...string) *process {
	t.Helper()
	plain := *s
	var err error
	plain.worker, err = plainWorker()
	require.NoError(t, err)
	return plain.startWorker(t, queue, args...)
}

var plainWorker = sync.OnceValues(func() (string, error) {
	s, err := sharedStack()
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, "plain-worker")
	return path, build(path, "./worker")
})

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peakMemory is the most resident memory that a process has had, as the kernel has it: see proc(5).
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	found := highWater.FindSubmatch(bytes.TrimSpace(status))
	require.NotNil(t, found, "%s", status)
	kb, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	return kb << 10
}
