package lake

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/compact"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// seedVariable names a variable with the first seed of TestRandomTables, roundsVariable one with the number of seeds.
const (
	seedVariable   = "TRIBUTARY_SEED"
	roundsVariable = "TRIBUTARY_ROUNDS"
)

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return n
}

// Random rows of random types go by several commits into two tables of one random schema: into one by this library and into
// the other by Paimon, or here by the one and there by the other in turn. Both read the same rows of both, which without
// keys are those that were made.
func TestRandomTables(t *testing.T) {
	seed := number(t, seedVariable, rand.Uint64N(1<<40))
	rows := 0
	for i := range number(t, roundsVariable, 12) {
		t.Run(fmt.Sprint(seed+i), func(t *testing.T) {
			t.Logf("%s=%d %s=1 repeats this", seedVariable, seed+i, roundsVariable)
			rows += newTwins(t, draw{rand.New(rand.NewPCG(seed+i, 0))}).run()
		})
	}
	t.Logf("%d rows", rows)
}

// twins are two tables of one schema and the rows that both were given.
type twins struct {
	t    *testing.T
	d    draw
	spec schema.Spec
	a, b *made
	rows []testenv.Row
	// swaps tells that the writers take turns.
	swaps bool
}

func newTwins(t *testing.T, d draw) *twins {
	t.Helper()
	w := &twins{t: t, d: d, spec: d.spec(), swaps: d.in(50)}
	t.Logf("%v, partitioned by %q, keys %q, options %v, swaps %v", w.spec.Fields, w.spec.PartitionKeys, w.spec.PrimaryKeys, w.spec.Options, w.swaps)
	in := openWarehouse(t, t.TempDir())
	w.a, w.b = in.create("db.a", w.spec), in.create("db.b", w.spec)
	return w
}

func (w *twins) run() int {
	w.t.Helper()
	if w.spec.Options["merge-engine"] == "first-row" {
		w.load()
	} else {
		for n := range 1 + w.d.IntN(4) {
			w.commit(n)
		}
	}
	w.compare()
	return len(w.rows)
}

// load writes everything at once, the only way to write that shows rows at once.
func (w *twins) load() {
	w.t.Helper()
	w.rows = w.d.rows(w.spec, 1+w.d.IntN(400), nil)
	writer := w.a.newWriter(lake.WriterOptions{Overwrite: true, TopLevel: true, Memory: 1 + w.d.IntN(1<<16), Spill: w.a.in.disk, SpillFolder: "spill"})
	w.a.feed(writer, w.rows, 1+w.d.IntN(100))
	messages, err := writer.Close(w.t.Context())
	require.NoError(w.t, err)
	w.a.publish(snapshot.Overwrite, nil, messages)
	testenv.Referee(w.t).Write(w.t, w.b.in.dir, w.b.id.String(), "java", 1, w.rows...)
	testenv.Referee(w.t).Compact(w.t, w.b.in.dir, w.b.id.String())
}

// commit adds rows to both tables, and sometimes compacts them.
func (w *twins) commit(n int) {
	w.t.Helper()
	rows := w.d.rows(w.spec, 1+w.d.IntN(300), w.rows)
	w.rows = append(w.rows, rows...)
	ours, javas := w.a, w.b
	if w.swaps && w.d.in(50) {
		ours, javas = w.b, w.a
	}
	writers := 1
	if n > 0 && len(w.spec.PrimaryKeys) == 0 {
		writers += w.d.IntN(3)
	}
	w.writeOurs(ours, rows, writers)
	java := testenv.Referee(w.t)
	java.Write(w.t, javas.in.dir, javas.id.String(), "java", int64(n+1), rows...)
	if w.d.in(25) {
		ours.jobs++
		_, err := compact.Run(w.t.Context(), ours.in.disk, ours.path, ours.user, ours.jobs, compact.Options{Full: true})
		require.NoError(w.t, err)
		java.Compact(w.t, javas.in.dir, javas.id.String())
	}
}

// writeOurs writes rows with some writers of this library.
func (w *twins) writeOurs(m *made, rows []testenv.Row, writers int) {
	w.t.Helper()
	shares := make([][]testenv.Row, writers)
	for _, r := range rows {
		i := w.d.IntN(writers)
		shares[i] = append(shares[i], r)
	}
	var all []*message.Commit
	for i, share := range shares {
		o := lake.WriterOptions{Spill: m.in.disk, SpillFolder: fmt.Sprintf("spill-%d", i)}
		if w.d.in(50) {
			o.RowGroupBytes, o.Memory = 1+w.d.IntN(1<<14), 1+w.d.IntN(1<<14)
		}
		writer := m.newWriter(o)
		m.feed(writer, share, 1+w.d.IntN(100))
		messages, err := writer.Close(w.t.Context())
		require.NoError(w.t, err)
		all = append(all, messages...)
	}
	m.publish(snapshot.Append, nil, all)
}

func (w *twins) compare() {
	w.t.Helper()
	java := testenv.Referee(w.t)
	want := w.b.java(java, 0)
	if len(w.spec.PrimaryKeys) == 0 {
		requireSameLines(w.t, linesOf(w.t, w.spec.Fields, w.rows), want, "Paimon of the second table")
	}
	requireSameLines(w.t, want, w.a.java(java, 0), "Paimon of the first table")
	requireSameLines(w.t, want, w.a.rows(0), "this library of the first table")
	requireSameLines(w.t, want, w.b.rows(0), "this library of the second table")
	if len(w.spec.PrimaryKeys) == 0 {
		require.Equal(w.t, perBucket(w.b.describe(0).Files), perBucket(w.a.describe(0).Files))
	}
	if w.spec.Options["merge-engine"] != "first-row" && w.spec.Options["target-file-size"] == "" {
		requireSameLines(w.t, w.first(w.b), w.first(w.a), "files of the first commit")
	}
	if w.rusts() {
		requireSameLines(w.t, want, w.a.rust(0), "paimon-rust")
	}
	w.a.check(0)
}

// rusts tells whether paimon-rust reads such a table: of instants of more than six digits it knows only those of 1677 to 2262,
// and it looks for partitions by TIME in other folders than Paimon.
func (w *twins) rusts() bool {
	return !slices.ContainsFunc(w.spec.Fields, func(f schema.Field) bool {
		return regexp.MustCompile(`TIMESTAMP\([789]\)`).MatchString(f.Type.String()) ||
			f.Type.Kind == schema.Time && slices.Contains(w.spec.PartitionKeys, f.Name)
	})
}

// first are the shapes of the files of the first commit.
func (w *twins) first(m *made) []string {
	w.t.Helper()
	files := m.describe(1).Files
	if len(w.spec.PrimaryKeys) == 0 {
		// The numbers of rows that nobody merges; Paimon begins anew with higher ones when it has many files open.
		for i := range files {
			files[i].MinSequence, files[i].MaxSequence = 0, files[i].MaxSequence-files[i].MinSequence
		}
	}
	for _, f := range files {
		for name, s := range f.Stats {
			f.Stats[name] = testenv.ColumnStats{Min: unsigned(s.Min), Max: unsigned(s.Max), Nulls: s.Nulls}
		}
	}
	return shapes(files)
}

// unsigned is a bound without the sign of a zero: Parquet's Java writer puts the wider one of both there.
func unsigned(bound *string) *string {
	if zero := "0"; bound != nil && *bound == "-0" {
		return &zero
	}
	return bound
}

// perBucket counts the rows of each bucket.
func perBucket(files []testenv.DataFile) []string {
	rows := map[string]int64{}
	for _, f := range files {
		rows[fmt.Sprintf("%sbucket-%d of %d of %s", f.PartitionPath, f.Bucket, f.TotalBuckets, cells(f.Partition))] += f.Rows
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, fmt.Sprint(key, rows[key]))
	}
	return out
}
