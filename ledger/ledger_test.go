package ledger

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/source"
)

func openTest(t *testing.T) (*Ledger, fileio.Store, string) {
	t.Helper()
	root := t.TempDir()
	store, err := fileio.OpenLocal("file://" + root)
	require.NoError(t, err)
	return Open(store, Key{Job: "orders", Run: "orders-1", Table: "orders"}), store, root
}

func TestClaimHasOneWinner(t *testing.T) {
	l, _, _ := openTest(t)
	ctx := context.Background()
	const racers = 16
	won := make([]*Claim, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			a, err := l.Register(ctx, 7)
			if err != nil {
				t.Error(err)
				return
			}
			won[i], err = l.Claim(ctx, Claim{Unit: 7, Attempt: a.ID})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, c := range won {
		require.Equal(t, won[0].Attempt, c.Attempt, "all racers see one winner")
	}
	prefixes, err := l.Prefixes(ctx)
	require.NoError(t, err)
	require.Len(t, prefixes, racers, "every attempt can be found by its prefix")
	claimed, err := l.Claimed(ctx)
	require.NoError(t, err)
	require.Equal(t, map[int]bool{7: true}, claimed)
}

func TestDecisionIsWrittenOnce(t *testing.T) {
	ctx := context.Background()
	for range 20 {
		l, _, _ := openTest(t)
		d, err := l.Decision(ctx, 1)
		require.NoError(t, err)
		require.Empty(t, d)
		verdicts := make([]Verdict, 2)
		var wg sync.WaitGroup
		for i, v := range []Verdict{Commit, Abort} {
			wg.Go(func() {
				var err error
				if verdicts[i], err = l.Decide(ctx, 1, v); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, verdicts[0], verdicts[1], "both obey one verdict")
		again, err := l.Decide(ctx, 1, Commit)
		require.NoError(t, err)
		require.Equal(t, verdicts[0], again)
		other, err := l.Decision(ctx, 2)
		require.NoError(t, err)
		require.Empty(t, other, "another identifier has its own decision")
	}
}

func TestPlanIsKeptInChunks(t *testing.T) {
	l, _, root := openTest(t)
	ctx := context.Background()
	p, err := l.Plan(ctx)
	require.NoError(t, err)
	require.Nil(t, p)
	var units []Unit
	for i := range 250 {
		units = append(units, Unit{ID: i, Splits: []UnitSplit{{Shard: source.Shard{Table: "t"}, Split: source.Split{Rows: int64(i)}}}})
	}
	require.Error(t, l.WritePlan(ctx, Plan{Units: 3}, units), "a plan that contradicts its units is not kept")
	require.NoError(t, l.WritePlan(ctx, Plan{Units: 250, Schema: []byte("{}")}, units))
	require.ErrorIs(t, l.WritePlan(ctx, Plan{Units: 250, Schema: []byte(`{"id":1}`)}, units), ErrPlanned)
	files, err := os.ReadDir(filepath.Join(root, "orders", "orders-1", "orders", "units"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 3)
	p, err = l.Plan(ctx)
	require.NoError(t, err)
	for _, id := range []int{0, 99, 100, 249} {
		u, err := l.Unit(ctx, p, id)
		require.NoError(t, err)
		require.Equal(t, int64(id), u.Splits[0].Split.Rows)
	}
	_, err = l.Unit(ctx, p, 250)
	require.ErrorIs(t, err, ErrCorrupt)
	require.NoError(t, l.Remove(ctx))
	p, err = l.Plan(ctx)
	require.NoError(t, err)
	require.Nil(t, p)
}

func TestMessagesAreCheckedAgainstTheirReference(t *testing.T) {
	l, _, root := openTest(t)
	ctx := context.Background()
	a, err := l.Register(ctx, 0)
	require.NoError(t, err)
	ref, err := l.WriteMessages(ctx, a, []byte("messages"))
	require.NoError(t, err)
	data, err := l.ReadMessages(ctx, ref)
	require.NoError(t, err)
	require.Equal(t, "messages", string(data))
	file := filepath.Join(root, filepath.FromSlash(ref.Path))
	for name, content := range map[string]string{"changed": "messageS", "short": "message", "long": "messages!"} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		_, err = l.ReadMessages(ctx, ref)
		require.ErrorIs(t, err, ErrCorrupt, name)
	}
	require.NoError(t, os.Remove(file))
	_, err = l.ReadMessages(ctx, ref)
	require.ErrorIs(t, err, fileio.ErrNotExist)
}

func TestDamagedFilesAreNamed(t *testing.T) {
	l, _, root := openTest(t)
	ctx := context.Background()
	require.NoError(t, l.WritePlan(ctx, Plan{Schema: []byte("{}")}, nil))
	folder := filepath.Join(root, "orders", "orders-1", "orders")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "plan.json"), []byte("{"), 0o600))
	_, err := l.Plan(ctx)
	require.ErrorIs(t, err, ErrCorrupt)
	require.ErrorContains(t, err, "plan.json")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "decision-1"), []byte("MAYBE"), 0o600))
	_, err = l.Decision(ctx, 1)
	require.ErrorIs(t, err, ErrCorrupt)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "splits"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "splits", "junk"), nil, 0o600))
	_, err = l.Claimed(ctx)
	require.ErrorIs(t, err, ErrCorrupt)
}

func TestResultIsKept(t *testing.T) {
	l, _, _ := openTest(t)
	ctx := context.Background()
	r, err := l.Result(ctx)
	require.NoError(t, err)
	require.Nil(t, r)
	first, err := l.Finish(ctx, Result{Outcome: Committed, Snapshot: 3, Counts: Counts{RowsRead: 7}})
	require.NoError(t, err)
	require.NotZero(t, first.At)
	again, err := l.Finish(ctx, Result{Outcome: Committed, Snapshot: 3})
	require.NoError(t, err, "a retry is no error")
	require.Equal(t, first, again, "and keeps the first record")
	_, err = l.Finish(ctx, Result{Outcome: Aborted})
	require.ErrorIs(t, err, ErrCorrupt, "a contradiction is")
	r, err = l.Result(ctx)
	require.NoError(t, err)
	require.Equal(t, int64(3), r.Snapshot)
}

func TestMarksFindOpenLedgersOfATarget(t *testing.T) {
	_, store, _ := openTest(t)
	ctx := context.Background()
	a, b := Key{"j", "r1", "t"}, Key{"other", "r2", "t"}
	for range 2 { // marking again is no error
		require.NoError(t, Mark(ctx, store, "x", a))
		require.NoError(t, Mark(ctx, store, "x", b))
	}
	require.NoError(t, Mark(ctx, store, "y", Key{"j", "r1", "u"}))
	keys, err := Marked(ctx, store, "x")
	require.NoError(t, err)
	require.ElementsMatch(t, []Key{a, b}, []Key{keys[0].Key, keys[1].Key})
	require.WithinDuration(t, time.Now(), keys[0].Since, time.Minute)
	for key, want := range map[Key]bool{a: true, {"j", "r1", "u"}: false} {
		there, err := IsMarked(ctx, store, "x", key)
		require.NoError(t, err)
		require.Equal(t, want, there)
	}
	keys, err = MarkedOfRun(ctx, store, "j", "r1")
	require.NoError(t, err)
	require.Len(t, keys, 2, "of both targets")
	require.NoError(t, Unmark(ctx, store, "x", a))
	keys, err = Marked(ctx, store, "x")
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.Equal(t, b, keys[0].Key)
}

func TestJobOfARunCannotBeReplaced(t *testing.T) {
	_, store, _ := openTest(t)
	ctx := context.Background()
	require.NoError(t, WriteJob(ctx, store, "j", "r", "me", []byte("1")))
	require.NoError(t, WriteJob(ctx, store, "j", "r", "me", []byte("1")), "a retry")
	require.ErrorIs(t, WriteJob(ctx, store, "j", "r", "me", []byte("2")), ErrRunExists, "another job")
	require.ErrorIs(t, WriteJob(ctx, store, "j", "r", "you", []byte("1")), ErrRunExists, "another execution")
	data, owner, err := ReadJob(ctx, store, "j", "r")
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
	require.Equal(t, "me", owner)
}

func TestCountsAreSummed(t *testing.T) {
	replaced := func(column, policy string, n int64) source.Replaced {
		return source.Replaced{Column: column, Policy: policy, Count: n}
	}
	a := Counts{RowsRead: 1, RowsWritten: 2, Bytes: 3, Files: 4, Replaced: []source.Replaced{replaced("b", "x", 1), replaced("a", "y", 2)}}
	b := Counts{RowsRead: 10, RowsWritten: 20, Bytes: 30, Files: 40, Replaced: []source.Replaced{replaced("b", "x", 5), replaced("a", "x", 7)}}
	require.Equal(t, Counts{
		RowsRead: 11, RowsWritten: 22, Bytes: 33, Files: 44,
		Replaced: []source.Replaced{replaced("a", "x", 7), replaced("a", "y", 2), replaced("b", "x", 6)},
	}, a.Add(b))
	require.Equal(t, int64(1), a.Replaced[0].Count, "operands stay")
	require.Nil(t, Counts{}.Add(Counts{}).Replaced)
}

// deletions notes what is deleted in which order.
type deletions struct {
	fileio.Store
	paths []string
}

func (d *deletions) Delete(ctx context.Context, p string) error {
	d.paths = append(d.paths, filepath.Base(p))
	return d.Store.Delete(ctx, p)
}

// A stalled attempt must not find a plan without the decision that forbids it to write.
func TestRemoveTakesThePlanFirstAndTheDecisionLast(t *testing.T) {
	_, store, _ := openTest(t)
	d := &deletions{Store: store}
	l := Open(d, Key{"j", "r", "t"})
	ctx := context.Background()
	require.NoError(t, l.WritePlan(ctx, Plan{Units: 1, Schema: []byte("{}")}, make([]Unit, 1)))
	_, err := l.Register(ctx, 0)
	require.NoError(t, err)
	_, err = l.Decide(ctx, 1, Abort)
	require.NoError(t, err)
	_, err = l.Finish(ctx, Result{Outcome: Aborted})
	require.NoError(t, err)
	there, err := l.Planned(ctx)
	require.NoError(t, err)
	require.True(t, there)
	require.NoError(t, l.Remove(ctx))
	require.Len(t, d.paths, 5)
	require.Equal(t, "plan.json", d.paths[0])
	require.Equal(t, "decision-1", d.paths[4])
	there, err = l.Planned(ctx)
	require.NoError(t, err)
	require.False(t, there)
}

// Two tries to plan write their units at the same time. What the plan that stands refers to is its own.
func TestPlansDoNotShareChunks(t *testing.T) {
	l, _, _ := openTest(t)
	ctx := context.Background()
	units := func(rows int64) []Unit { return []Unit{{Splits: []UnitSplit{{Split: source.Split{Rows: rows}}}}} }
	require.NoError(t, l.WritePlan(ctx, Plan{Units: 1, Schema: []byte("{}")}, units(1)))
	require.ErrorIs(t, l.WritePlan(ctx, Plan{Units: 1, Schema: []byte("{}")}, units(2)), ErrPlanned)
	p, err := l.Plan(ctx)
	require.NoError(t, err)
	u, err := l.Unit(ctx, p, 0)
	require.NoError(t, err)
	require.Equal(t, int64(1), u.Splits[0].Split.Rows)
}

// Chunks stay small also where units have many splits, and every unit is found.
func TestPlanOfUnitsOfManySplits(t *testing.T) {
	l, _, root := openTest(t)
	ctx := context.Background()
	var units []Unit
	for id := range 40 {
		n := 1 + id*id // up to 1,522
		units = append(units, Unit{ID: id, Splits: make([]UnitSplit, n)})
	}
	require.NoError(t, l.WritePlan(ctx, Plan{Units: len(units), Schema: []byte("{}")}, units))
	p, err := l.Plan(ctx)
	require.NoError(t, err)
	for id := range units {
		u, err := l.Unit(ctx, p, id)
		require.NoError(t, err)
		require.Equal(t, units[id], u)
	}
	for _, id := range []int{-1, 40} {
		_, err := l.Unit(ctx, p, id)
		require.ErrorIs(t, err, ErrCorrupt)
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "*", "units", "*"))
	require.NoError(t, err)
	require.Greater(t, len(files), 20)
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		var held []Unit
		require.NoError(t, json.Unmarshal(data, &held))
		splits := 0
		for _, u := range held {
			splits += len(u.Splits)
		}
		require.True(t, len(held) == 1 || splits <= 1000, "%d splits in %d units", splits, len(held))
	}
}
