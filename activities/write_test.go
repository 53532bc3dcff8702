package activities_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

func unitOf(run string, unit int) activities.WriteInput {
	return activities.WriteInput{TableRun: part(run), Unit: unit}
}

func TestWriteClaimsTheUnit(t *testing.T) {
	w := newWorld(t)
	w.source().stats = func(s *source.ReadStats) {
		s.Replaced = []source.Replaced{{Column: "name", Policy: "zero_date: null", Count: s.Rows}}
	}
	w.begin(orders(func(t *testTable) { t.PackRows = 5 }), "r1")
	written := w.writeUnit("r1", 0)
	require.Equal(t, 0, written.Unit)
	require.Equal(t, int64(5), written.Counts.RowsRead)
	require.Equal(t, int64(5), written.Counts.RowsWritten)
	require.Equal(t, int64(1), written.Counts.Files, "a file stays open from one split to the next")
	require.Equal(t, []source.Replaced{{Column: "name", Policy: "zero_date: null", Count: 5}}, written.Counts.Replaced, "over three splits")
	files := w.dataFiles()
	require.Len(t, files, 1)
	info, err := w.warehouse.Stat(t.Context(), files[0])
	require.NoError(t, err)
	require.Equal(t, info.Size, written.Counts.Bytes)
	require.True(t, strings.HasPrefix(written.Message.Path, ledgerFile("r1", "messages")))
	require.True(t, exists(t, w.staging, ledgerFile("r1", "splits", "000000")))
	require.Zero(t, w.latest(), "nothing is visible")

	w.writeUnit("r1", 1)
	require.Equal(t, []source.Replaced{{Column: "name", Policy: "zero_date: null", Count: 10}}, w.commitRun("r1").Replaced)
}

// The version stands behind the magic and two texts with their lengths in front (Java's writeUTF).
func TestMessagesAreInTheVersionAskedFor(t *testing.T) {
	lines := map[int]string{6: "1.0", 7: "1.2", 10: "1.3", 11: "1.4", 12: "2.0"}
	for asked, want := range map[int]int{0: 11, 6: 6, 7: 7, 10: 10, 11: 11, 12: 12} {
		w := newWorld(t)
		w.begin(orders(func(t *testTable) { t.Serializer = asked }), "r1")
		data, err := fileio.ReadFile(t.Context(), w.staging, w.writeUnit("r1", 0).Message.Path, 1<<20)
		require.NoError(t, err)
		text := func(at int) (string, int) {
			end := at + 2 + int(binary.BigEndian.Uint16(data[at:]))
			return string(data[at+2 : end]), end
		}
		_, at := text(len("TRBCMSG1"))
		line, at := text(at)
		require.Equal(t, lines[want], line)
		require.EqualValues(t, want, binary.BigEndian.Uint32(data[at:]))

		w.load(orders(func(t *testTable) { t.Serializer = asked }), "r1")
		w.commitRun("r1")
		require.Len(t, w.rows(), 10, "whatever the version, the messages are committed")
	}
}

func TestWriteAgainGivesTheWinnerAtOnce(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(), "r1")
	first := w.writeUnit("r1", 2)
	reads, files := w.source().reads, w.dataFiles()
	require.Equal(t, first, w.writeUnit("r1", 2))
	require.Equal(t, reads, w.source().reads)
	require.Equal(t, files, w.dataFiles())
}

// Two attempts write one unit at the same time. The one that claims first counts; the other's files go.
func TestWriteThatLosesDropsItsFiles(t *testing.T) {
	for name, at := range map[string]string{"before its messages": "/messages/", "before its claim": "/splits/", "before its file": "/bucket-"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.begin(orders(), "r1")
			var winner *activities.Written
			stalled := w.with(once(func(p string) bool { return strings.Contains(p, at) }, func() { winner = w.writeUnit("r1", 0) }))
			got, err := call(t.Context(), stalled.write, unitOf("r1", 0))
			require.NoError(t, err)
			require.Equal(t, winner, got)
			require.Len(t, w.dataFiles(), 1, "the winner's")
			require.Len(t, list(t, w.staging, "/attempts/"), 2)
		})
	}
}

// An attempt that another has overtaken stops at its next file and leaves its unread rows where they are.
func TestWriteStopsWhenTheUnitIsWon(t *testing.T) {
	w := newWorld(t)
	w.source().shards = []memoryShard{shard("a", 0, 40)}
	w.source().perSplit = 40
	w.begin(orders(func(t *testTable) { t.Partition = []string{"id"} }), "r1") // a file for each row
	batches := 0
	w.source().during = func(context.Context, source.Read) error {
		if batches++; batches == 5 {
			w.source().during = nil
			w.writeUnit("r1", 0)
			w.source().during = func(context.Context, source.Read) error { batches++; return nil }
		}
		return nil
	}
	_, err := call(t.Context(), w.write, unitOf("r1", 0))
	require.NoError(t, err)
	require.Less(t, batches, 15)
	w.source().during = nil
	require.Len(t, w.dataFiles(), 40)
	w.commitRun("r1")
	require.ElementsMatch(t, w.source().lines(), w.rows())
	w.tidy()
}

func TestWriteMakesNothingUnderADecision(t *testing.T) {
	for _, verdict := range []ledger.Verdict{ledger.Commit, ledger.Abort} {
		w := newWorld(t)
		w.begin(orders(), "r1")
		_, err := w.ledger("r1").Decide(t.Context(), 1, verdict)
		require.NoError(t, err)
		_, err = call(t.Context(), w.write, unitOf("r1", 0))
		refused(t, err, activities.TypeAborted, string(verdict)+" stands")
		require.Empty(t, w.dataFiles())
		require.Empty(t, list(t, w.staging, "/attempts/"))
		require.Zero(t, w.source().reads)
	}
}

// The decision comes while the attempt reads: it must not claim.
func TestWriteIsOvertakenByTheDecision(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(), "r1")
	w.source().during = func(context.Context, source.Read) error {
		w.source().during = nil
		require.Equal(t, activities.StateAborted, w.abortRun("r1", false).State)
		return nil
	}
	_, err := call(t.Context(), w.write, unitOf("r1", 0))
	refused(t, err, activities.TypeAborted, "ABORT stands")
	require.Empty(t, w.dataFiles())
	require.Empty(t, list(t, w.staging, "/splits/"))
}

func TestWriteThatIsCancelledLeavesNoFile(t *testing.T) {
	w := newWorld(t)
	warehouse, err := fileio.NewLocal(t.TempDir())
	require.NoError(t, err)
	w.warehouse = warehouse
	w.begin(orders(), "r1")
	ctx, cancel := context.WithCancel(t.Context())
	batches := 0
	w.source().during = func(ctx context.Context, _ source.Read) error {
		if batches++; batches == 2 {
			require.Eventually(t, func() bool { return len(w.dataFiles()) == 1 }, 10*time.Second, time.Millisecond, "a temporary file is being written")
			cancel()
			<-ctx.Done()
		}
		return nil
	}
	_, err = call(ctx, w.write, unitOf("r1", 0))
	require.True(t, temporal.IsCanceledError(err), err)
	require.Empty(t, w.dataFiles())
	require.Empty(t, list(t, w.staging, "/splits/"))
	require.Len(t, list(t, w.staging, "/attempts/"), 1, "the prefix stays known")
}

// A worker dies and leaves a temporary file; the local store's names for such files are found by the attempt's prefix.
func TestTemporaryFilesOfDeadAttemptsAreRemoved(t *testing.T) {
	w := newWorld(t)
	warehouse, err := fileio.NewLocal(t.TempDir())
	require.NoError(t, err)
	w.warehouse = warehouse
	w.load(orders(), "r1")
	a, err := w.ledger("r1").Register(t.Context(), 0)
	require.NoError(t, err)
	for _, folder := range []string{"bucket-0", "p=1/bucket-0"} {
		out, err := w.warehouse.Create(t.Context(), path.Join("ods.db/orders", folder, a.Prefix+"0.parquet"))
		require.NoError(t, err)
		_, err = out.Write([]byte("half"))
		require.NoError(t, err)
	}
	require.Len(t, list(t, w.warehouse, ".tmp"), 2)
	w.commitRun("r1")
	require.Equal(t, 2, w.cleanRun("r1"))
	require.Empty(t, list(t, w.warehouse, ".tmp"))
	w.tidy()
}

func TestWriteFailures(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(), "r1")
	for name, c := range map[string]struct {
		err   error
		kind  string
		again bool
	}{
		"schema":      {source.ErrSchemaChanged, activities.TypeSchemaChanged, false},
		"value":       {source.ErrRefused, activities.TypeValue, false},
		"account":     {source.ErrDenied, activities.TypeAccess, false},
		"unavailable": {source.ErrUnavailable, activities.TypeSource, true},
		"other":       {errors.New("strange"), activities.TypeInternal, true},
	} {
		t.Run(name, func(t *testing.T) {
			w.source().during = func(context.Context, source.Read) error { return c.err }
			_, err := call(t.Context(), w.write, unitOf("r1", 0))
			if c.again {
				retried(t, err, c.kind)
			} else {
				refused(t, err, c.kind)
			}
			require.Empty(t, w.dataFiles())
		})
	}
	w.source().during = nil
	_, err := call(t.Context(), w.write, unitOf("r1", 99))
	refused(t, err, activities.TypeCorrupt, "no unit 99")
	_, err = call(t.Context(), w.write, unitOf("unknown", 0))
	refused(t, err, activities.TypeAborted, "no plan at memory://store/shop/unknown/orders")
}

// A source that says another number than it handed on must not pass.
func TestWriteComparesCounts(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(), "r1")
	w.source().stats = func(s *source.ReadStats) { s.Rows++ }
	_, err := call(t.Context(), w.write, unitOf("r1", 0))
	refused(t, err, activities.TypeMismatch, "one/shop/a, split 0: 3 rows read and 2 handed to the writer")
	require.Empty(t, w.dataFiles())
}

func TestStorageFailuresSayWhereAndWhatToDo(t *testing.T) {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EACCES, syscall.EROFS, syscall.EIO} {
		w := newWorld(t)
		w.begin(orders(), "r1")
		full := func(s fileio.Store) fileio.Store { return failing{s, errno} }
		p := &process{staging: w.staging, warehouse: full(w.warehouse), sources: w.sources}
		_, err := call(t.Context(), p.write, unitOf("r1", 0))
		retried(t, err, activities.TypeStorage)
		p = &process{staging: full(w.staging), warehouse: w.warehouse, sources: w.sources}
		_, err = call(t.Context(), p.write, unitOf("r1", 0))
		retried(t, err, activities.TypeStorage)
		require.Empty(t, w.dataFiles())
	}
}

// The same with the real store: a file stands where the warehouse, or the staging root, should be.
func TestUnwritableStoresAreRefusedAtPlanTime(t *testing.T) {
	w := newWorld(t)
	parent := t.TempDir()
	good, err := fileio.NewLocal(parent)
	require.NoError(t, err)
	require.NoError(t, fileio.WriteFile(t.Context(), good, "file", []byte("x")))
	bad, err := fileio.NewLocal(path.Join(parent, "file"))
	require.NoError(t, err)
	p := &process{staging: bad, warehouse: w.warehouse, sources: w.sources}
	_, err = call(t.Context(), p.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r1"})
	refused(t, err, activities.TypePlanRefused, "staging root memory://staging cannot be written", parent, "a file stands where a folder must be made")

	_, err = call(t.Context(), w.prepare, activities.PrepareInput{Job: orders().json(t), Run: "r1"})
	require.NoError(t, err)
	for errno, kind := range map[syscall.Errno]string{syscall.EROFS: activities.TypePlanRefused, syscall.EACCES: activities.TypePlanRefused} {
		p = &process{staging: w.staging, warehouse: failing{w.warehouse, errno}, sources: w.sources}
		_, err = call(t.Context(), p.plan, activities.PlanInput{TableRun: part("r1")})
		refused(t, err, kind, "create ods.orders")
	}
	p = &process{staging: w.staging, warehouse: failing{w.warehouse, syscall.ENOSPC}, sources: w.sources}
	_, err = call(t.Context(), p.plan, activities.PlanInput{TableRun: part("r1")})
	retried(t, err, activities.TypeStorage, "create ods.orders")
}

func TestConcurrentAttemptsHaveOneWinner(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(), "r1")
	got := make([]*activities.Written, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = w.write(t.Context(), unitOf("r1", 0)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, g := range got {
		require.Equal(t, got[0], g)
	}
	require.Len(t, w.dataFiles(), 1)
}

// A unit that had to be read again is told with the result, of key tables too, whose merges are attempts of their own.
func TestLostAttemptsAreTold(t *testing.T) {
	w := newWorld(t)
	w.load(orders(), "r1")
	require.NotContains(t, fmt.Sprint(w.commitRun("r1").Notes), "attempt")
	w.load(orders(), "r2")
	for _, want := range []string{"one attempt failed, or was lost", "2 attempts failed, or were lost"} {
		_, err := w.ledger("r2").Register(t.Context(), 0)
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(w.commitRun("r2").Notes), want)
	}
	w = newWorld(t)
	w.load(orders(keyed("id")), "r1")
	require.NotContains(t, fmt.Sprint(w.commitRun("r1").Notes), "attempt")
}
