package activities_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
)

func (w *world) verifyError(run string) error {
	_, err := call(w.t.Context(), w.verify, activities.VerifyInput{TableRun: part(run)})
	return err
}

func (w *world) commitError(run string) error {
	_, err := call(w.t.Context(), w.commit, activities.CommitInput{TableRun: part(run)})
	return err
}

func TestVerify(t *testing.T) {
	w := newWorld(t)
	planned := w.begin(orders(), "r1")
	for unit := range planned.Units - 1 {
		w.writeUnit("r1", unit)
	}
	refused(t, w.verifyError("r1"), activities.TypeMismatch, "unit 5 of 6 was never claimed")
	refused(t, w.commitError("r1"), activities.TypeMismatch, "never claimed")
	w.writeUnit("r1", 5)
	counts, err := call(t.Context(), w.verify, activities.VerifyInput{TableRun: part("r1")})
	require.NoError(t, err)
	require.Equal(t, int64(10), counts.RowsRead)
	require.Equal(t, int64(10), counts.RowsWritten)
	require.Equal(t, int64(6), counts.Files)
	require.Zero(t, w.latest())
	refused(t, w.verifyError("unknown"), activities.TypeAborted)
}

// replaceClaim gives a unit another claim, as a fault of the program or a damaged disk would.
func (w *world) replaceClaim(unit int, change func(*ledger.Claim)) {
	w.t.Helper()
	c, err := w.ledger("r1").Winner(w.t.Context(), unit)
	require.NoError(w.t, err)
	change(c)
	p := ledgerFile("r1", "splits", "00000"+string(rune('0'+unit)))
	require.NoError(w.t, w.staging.Delete(w.t.Context(), p))
	_, err = w.ledger("r1").Claim(w.t.Context(), *c)
	require.NoError(w.t, err)
}

func TestVerifyFindsWhatDoesNotAgree(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(w *world, first, second *ledger.Claim)
		kind   string
		text   string
	}{
		"changed message file": {func(w *world, first, _ *ledger.Claim) {
			data, err := fileio.ReadFile(w.t.Context(), w.staging, first.Message.Path, 1<<20)
			require.NoError(w.t, err)
			data[len(data)/2] ^= 1
			require.NoError(w.t, fileio.WriteFile(w.t.Context(), w.staging, first.Message.Path, data))
		}, activities.TypeCorrupt, "digest"},
		"missing message file": {func(w *world, first, _ *ledger.Claim) {
			require.NoError(w.t, w.staging.Delete(w.t.Context(), first.Message.Path))
		}, activities.TypeCorrupt, "removed by another tool"},
		"rows lost": {func(w *world, first, _ *ledger.Claim) {
			w.replaceClaim(0, func(c *ledger.Claim) { c.Counts.RowsRead++ })
		}, activities.TypeMismatch, "unit 0 read 3 rows and claims 2 written, its messages hold 2"},
		"rows claimed": {func(w *world, first, _ *ledger.Claim) {
			w.replaceClaim(0, func(c *ledger.Claim) { c.Counts.RowsWritten-- })
		}, activities.TypeMismatch, "claims 1 written"},
		"one file twice": {func(w *world, first, _ *ledger.Claim) {
			w.replaceClaim(1, func(c *ledger.Claim) { c.Message = first.Message })
		}, activities.TypeMismatch, "both name the file data-"},
		"another schema": {func(w *world, first, _ *ledger.Claim) {
			data, err := w.ledger("r1").ReadMessages(w.t.Context(), first.Message)
			require.NoError(w.t, err)
			f, err := message.ReadFile("", data, 0)
			require.NoError(w.t, err)
			f.SchemaID = 7
			data, err = message.WriteFile(*f)
			require.NoError(w.t, err)
			ref, err := w.ledger("r1").WriteMessages(w.t.Context(), ledger.Attempt{ID: "x"}, data)
			require.NoError(w.t, err)
			w.replaceClaim(0, func(c *ledger.Claim) { c.Message = ref })
		}, activities.TypeCorrupt, "7"},
		"claim that is no JSON": {func(w *world, _, _ *ledger.Claim) {
			require.NoError(w.t, fileio.WriteFile(w.t.Context(), w.staging, ledgerFile("r1", "splits", "000000"), []byte("{")))
		}, activities.TypeCorrupt, "splits/000000"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.load(orders(), "r1")
			first, err := w.ledger("r1").Winner(t.Context(), 0)
			require.NoError(t, err)
			second, err := w.ledger("r1").Winner(t.Context(), 1)
			require.NoError(t, err)
			c.damage(w, first, second)
			refused(t, w.verifyError("r1"), c.kind, c.text)
			refused(t, w.commitError("r1"), c.kind, c.text)
			require.Zero(t, w.latest())
			require.Equal(t, activities.StateAborted, w.abortRun("r1", false).State)
			require.Empty(t, w.dataFiles())
		})
	}
}

func TestCommitAppends(t *testing.T) {
	w := newWorld(t)
	r := w.run(orders(appending), "r1")
	require.Equal(t, activities.StateCommitted, r.Status)
	require.Equal(t, int64(1), r.Snapshot)
	require.Equal(t, "APPEND", r.Kind)
	require.Equal(t, int64(10), r.Read)
	require.Equal(t, int64(10), r.Written)
	require.Equal(t, int64(6), r.Files)
	require.Equal(t, 6, r.Splits)
	require.Equal(t, "split", r.Consistency)
	require.ElementsMatch(t, w.source().lines(), w.rows())
	w.foreign()
	w.run(orders(appending), "r2")
	want := append(append(w.source().lines(), w.source().lines()...), "foreign/foreign 1 x")
	require.ElementsMatch(t, want, w.rows())
	w.tidy()
	s, err := w.snapshots().Get(t.Context(), 3)
	require.NoError(t, err)
	require.Equal(t, "tributary-shop-r2", s.CommitUser)
	require.Equal(t, "r2", s.Properties["tributary.run"])
}

func TestCommitReplaces(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	old := w.rows()
	w.source().shards = []memoryShard{shard("a", 50, 3)}
	r := w.run(orders(), "r2")
	require.Equal(t, "OVERWRITE", r.Kind)
	require.ElementsMatch(t, w.source().lines(), w.rows())
	require.Equal(t, old, w.rows(1), "the old snapshot stays readable")
	w.tidy()
}

func TestCommitAgain(t *testing.T) {
	w := newWorld(t)
	w.load(orders(appending), "r1")
	first := w.commitRun("r1")
	require.Equal(t, first, w.commitRun("r1"))
	// The result was not recorded: the snapshot is found.
	require.NoError(t, w.staging.Delete(t.Context(), ledgerFile("r1", "result")))
	require.Equal(t, first, w.commitRun("r1"))
	require.Equal(t, snapshot.ID(1), w.latest())
	w.tidy()
}

func TestCommitOfAnEmptySource(t *testing.T) {
	w := newWorld(t)
	full := w.source().shards
	w.source().shards = []memoryShard{shard("a", 0, 0)}
	r := w.run(orders(), "r1")
	require.Equal(t, activities.StateCommitted, r.Status)
	require.Zero(t, r.Read)
	require.Empty(t, w.rows(), "an empty target is replaced by nothing")

	w.source().shards = full
	w.run(orders(), "r2")
	w.source().shards = []memoryShard{shard("a", 0, 0)}
	w.load(orders(), "r3")
	refused(t, w.commitError("r3"), activities.TypePlanRefused, "no rows", "ods.orders has 10", "empty_source: empty")
	require.Len(t, w.rows(), 10)
	w.abortRun("r3", false)
	w.tidy()

	r = w.run(orders(func(t *testTable) { t.EmptyTarget = true }), "r4")
	require.Equal(t, "OVERWRITE", r.Kind)
	require.Empty(t, w.rows())
	w.tidy()
}

func TestCommitOfNothingToAppend(t *testing.T) {
	w := newWorld(t)
	w.source().shards = []memoryShard{shard("a", 0, 0)}
	r := w.run(orders(appending), "r1")
	require.Equal(t, activities.StateUnchanged, r.Status)
	require.Zero(t, r.Snapshot)
	require.Zero(t, w.latest())
	w.tidy()
	a := w.abortRun("r1", true)
	require.Equal(t, activities.StateCommitted, a.State)
	require.Contains(t, a.Message, "nothing to commit")
	require.Zero(t, w.latest())
}

func TestCommitAfterAbort(t *testing.T) {
	w := newWorld(t)
	w.load(orders(), "r1")
	_, err := w.ledger("r1").Decide(t.Context(), 1, ledger.Abort)
	require.NoError(t, err)
	refused(t, w.commitError("r1"), activities.TypeAborted, "given up")
	w.abortRun("r1", false)
	refused(t, w.commitError("r1"), activities.TypeAborted, "given up")
	require.Zero(t, w.latest())
	w.tidy()
}

func TestCommitNoticesAForeignChange(t *testing.T) {
	w := newWorld(t)
	w.run(orders(), "r1")
	w.load(orders(), "r2")
	w.foreign()
	refused(t, w.commitError("r2"), activities.TypeConflict, "2 (APPEND, +1 rows, by foreign)", "on_conflict: replace")
	require.Len(t, w.rows(), 11)
	require.Equal(t, activities.StateAborted, w.abortRun("r2", false).State, "COMMIT was not decided")
	w.tidy()

	w.load(orders(func(t *testTable) { t.ReplaceForeign = true }), "r3")
	w.foreign()
	require.Equal(t, int64(4), w.commitRun("r3").Snapshot)
	require.ElementsMatch(t, w.source().lines(), w.rows())
	w.cleanRun("r3")
	w.tidy()
}

// Snapshots after the base are kept from the plan on until the end is recorded.
func TestSnapshotsArePinnedDuringARun(t *testing.T) {
	w := newWorld(t)
	w.run(orders(appending), "r1")
	w.load(orders(appending), "r2")
	require.Equal(t, snapshot.ID(2), w.pinned("r2"))
	require.NoError(t, w.snapshots().DeleteConsumer(t.Context(), "tributary-r2")) // it expired by its age
	var pinned snapshot.ID
	atDecision := w.with(once(func(p string) bool { return strings.HasSuffix(p, "/decision-1") }, func() { pinned = w.pinned("r2") }))
	_, err := call(t.Context(), atDecision.commit, activities.CommitInput{TableRun: part("r2")})
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(2), pinned)
	require.Zero(t, w.pinned("r2"))
}

func TestCleanRemovesOnlyWhatLost(t *testing.T) {
	w := newWorld(t)
	w.run(orders(appending), "r1")
	w.load(orders(appending), "r2")
	_, err := call(t.Context(), w.clean, activities.CleanInput{TableRun: part("r2")})
	refused(t, err, activities.TypeMismatch, "has not ended")

	// An attempt that dies after its file and before its claim, and whose cleaning fails too.
	require.NoError(t, w.staging.Delete(t.Context(), ledgerFile("r2", "splits", "000003")))
	claiming := false
	dead := w.faulty(func(op faultio.Op) faultio.Fault {
		claiming = claiming || op.Kind == faultio.CreateExclusive && strings.Contains(op.Path, "/splits/")
		if claiming || op.Kind == faultio.Delete {
			return faultio.FailBefore
		}
		return faultio.None
	})
	_, err = call(t.Context(), dead.write, unitOf("r2", 3))
	require.Error(t, err)
	w.writeUnit("r2", 3)
	before := w.dataFiles()
	w.commitRun("r2")
	require.Len(t, before, 14, "six of each run, and two of unit 3 that nobody claimed")
	require.Equal(t, 2, w.cleanRun("r2"))
	require.Zero(t, w.cleanRun("r2"))
	w.tidy()
	require.Len(t, w.rows(), 20)
	require.Zero(t, w.cleanRun("r1"))
	require.Zero(t, w.cleanRun("unknown"))
	w.tidy()
}

// When it cannot be told which files are committed, none is removed.
func TestCleanRemovesNothingInDoubt(t *testing.T) {
	w := newWorld(t)
	w.load(orders(), "r1")
	w.commitRun("r1")
	require.NoError(t, w.staging.Delete(t.Context(), ledgerFile("r1", "splits", "000002")))
	_, err := call(t.Context(), w.clean, activities.CleanInput{TableRun: part("r1")})
	refused(t, err, activities.TypeMismatch)
	require.Len(t, w.rows(), 10)
}

// The process dies right after the snapshot became visible.
func TestCommitWhoseAnswerIsLost(t *testing.T) {
	w := newWorld(t)
	w.load(orders(appending), "r1")
	lost := w.dying(true, creates("/snapshot-1"))
	_, err := call(t.Context(), lost.commit, activities.CommitInput{TableRun: part("r1")})
	retried(t, err, activities.TypeUnknown)
	a := w.abortRun("r1", false)
	require.Equal(t, activities.StateCommitted, a.State)
	require.Equal(t, int64(1), a.Snapshot)
	require.Equal(t, int64(10), w.commitRun("r1").Read, "the counts are known from the claims")
	w.cleanRun("r1")
	w.tidy()
	require.Len(t, w.rows(), 10)
}

func TestErrorsOfCancelledActivitiesAreCancellations(t *testing.T) {
	w := newWorld(t)
	w.load(orders(), "r1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.commit(ctx, activities.CommitInput{TableRun: part("r1")})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, errors.Is(err, activities.ErrAborted))
	require.Len(t, w.dataFiles(), 6)
}
