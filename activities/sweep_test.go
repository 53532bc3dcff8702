package activities_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// sweep is one run of a table of three units on a table of one snapshot, of which one operation on the stores goes wrong.
type sweep struct {
	*world
	job testJob
	// later is the process that ends the run after the fault.
	later *process
	// old and fresh are the table's rows without and with the run, loaded what was written.
	old, fresh []string
}

// newBase is a table that one run has loaded.
func newBase(t testing.TB, change ...func(*testTable)) *world {
	t.Helper()
	base := newWorld(t)
	base.source().shards = []memoryShard{shard("a", 0, 4), shard("b", 100, 2)}
	base.run(orders(change...), "r0")
	base.rows() // decoders that all tests share are not to be made in a bubble
	return base
}

// keyedMerges is the number of merges of the run into a key table.
const keyedMerges = 5

// TestFaultSweepOfKeyTable does with a run into a key table what TestFaultSweep does with others.
func TestFaultSweepOfKeyTable(t *testing.T) {
	base := newBase(t, keyed("id"))
	for fault, choose := range faults() {
		for ending, end := range endings() {
			t.Run(fault+", "+ending, func(t *testing.T) {
				t.Parallel()
				points := 0
				for broke := true; broke; points += stride() {
					synctest.Test(t, func(t *testing.T) {
						s := newSweep(t, base, true)
						keyed("id")(&s.job.Tables[0])
						broke = s.once(func(n int) faultio.Fault { return choose(points, n) }, end)
						require.Empty(t, list(t, s.staging, "/orders/runs/"), "no sorted row is left")
					})
					if t.Failed() {
						t.Fatalf("operation %d", points)
					}
				}
				require.Greater(t, points, 150)
				t.Logf("%d operations", points)
			})
		}
	}
}

// newSweep is on a copy of a table that base has loaded.
func newSweep(t testing.TB, base *world, overwrite bool) *sweep {
	t.Helper()
	w := newWorld(t)
	copyFiles(t, w.staging, base.staging)
	copyFiles(t, w.warehouse, base.warehouse)
	w.source().shards = []memoryShard{shard("a", 10, 4), shard("b", 110, 2)}
	s := &sweep{
		world: w, later: w.process, job: orders(func(t *testTable) { t.Append = !overwrite }),
		old: base.source().lines(), fresh: w.source().lines(),
	}
	if !overwrite {
		s.fresh = append(s.fresh, s.old...)
	}
	slices.Sort(s.old)
	slices.Sort(s.fresh)
	return s
}

func copyFiles(t testing.TB, to, from fileio.Store) {
	t.Helper()
	for _, p := range list(t, from, "") {
		data, err := fileio.ReadFile(t.Context(), from, p, 1<<20)
		require.NoError(t, err)
		require.NoError(t, fileio.WriteFile(t.Context(), to, p, data))
	}
}

// step is one activity of the run.
type step struct {
	name string
	do   func(ctx context.Context, p *process) error
}

// steps are the activities in order, as the workflow calls them.
func (s *sweep) steps(id string) []step {
	run := part(id)
	steps := []step{
		{"prepare", func(ctx context.Context, p *process) error {
			_, err := p.prepare(ctx, activities.PrepareInput{Job: s.job.json(s.t), Run: id})
			return err
		}},
		{"plan", func(ctx context.Context, p *process) error {
			planned, err := p.plan(ctx, activities.PlanInput{TableRun: run})
			if err == nil && planned.Units != 3 {
				err = fmt.Errorf("%d units", planned.Units)
			}
			return err
		}},
	}
	for unit := range 3 {
		steps = append(steps, step{fmt.Sprint("write ", unit), func(ctx context.Context, p *process) error {
			_, err := p.write(ctx, activities.WriteInput{TableRun: run, Unit: unit})
			return err
		}})
	}
	if len(s.job.Tables[0].PrimaryKey) > 0 {
		steps = append(steps, step{"plan merges", func(ctx context.Context, p *process) error {
			planned, err := p.planMerges(ctx, activities.PlanMergesInput{TableRun: run})
			if err == nil && planned.Merges != keyedMerges {
				err = fmt.Errorf("%d merges", planned.Merges)
			}
			return err
		}})
		for n := range keyedMerges {
			steps = append(steps, step{fmt.Sprint("merge ", n), func(ctx context.Context, p *process) error {
				_, err := p.merge(ctx, activities.MergeInput{TableRun: run, Merge: n})
				return err
			}})
		}
	}
	return append(steps, step{"verify", func(ctx context.Context, p *process) error {
		_, err := p.verify(ctx, activities.VerifyInput{TableRun: run})
		return err
	}}, step{"commit", func(ctx context.Context, p *process) error {
		_, err := p.commit(ctx, activities.CommitInput{TableRun: run})
		return err
	}}, step{"clean", func(ctx context.Context, p *process) error {
		_, err := p.clean(ctx, activities.CleanInput{TableRun: run})
		return err
	}})
}

// whole asserts that a stranger sees the old rows or the new ones, whole and once, and that every file which a snapshot
// names is there.
func (s *sweep) whole() {
	s.t.Helper()
	switch rows := s.rows(); s.latest() {
	case 1:
		require.Equal(s.t, s.old, rows)
	case 2:
		require.Equal(s.t, s.fresh, rows)
	default:
		s.t.Fatalf("%d snapshots", s.latest())
	}
	require.Subset(s.t, s.dataFiles(), s.named())
}

// faults are the ways in which the k-th operation goes wrong.
func faults() map[string]func(k, n int) faultio.Fault {
	at := func(f, then faultio.Fault) func(k, n int) faultio.Fault {
		return func(k, n int) faultio.Fault {
			switch {
			case n < k:
				return faultio.None
			case n == k:
				return f
			}
			return then
		}
	}
	return map[string]func(k, n int) faultio.Fault{
		"fails":                      at(faultio.FailBefore, faultio.None),
		"is done and its reply lost": at(faultio.FailAfter, faultio.None),
		"and all later fail":         at(faultio.FailBefore, faultio.FailBefore),
		"is done and all later fail": at(faultio.FailAfter, faultio.FailBefore),
		"hangs past its time-out":    at(faultio.Block, faultio.None),
	}
}

// again takes the steps that are left.
func (s *sweep) again(rest []step) {
	s.t.Helper()
	for _, step := range rest {
		require.NoError(s.t, step.do(s.t.Context(), s.later), step.name)
	}
}

// endings are what happens after an activity has failed. Each leaves nothing of the run but its ledger and what is
// committed.
func endings() map[string]func(s *sweep, rest []step) {
	return map[string]func(s *sweep, rest []step){
		"tried again": func(s *sweep, rest []step) {
			s.again(rest)
			require.Equal(s.t, snapshot.ID(2), s.latest())
			s.whole()
		},
		"given up": func(s *sweep, rest []step) {
			a, err := s.later.abort(s.t.Context(), activities.AbortInput{TableRun: part("r1")})
			require.NoError(s.t, err)
			switch a.State {
			case activities.StateAborted:
				require.Equal(s.t, snapshot.ID(1), s.latest())
			case activities.StateCommitted:
				require.Equal(s.t, snapshot.ID(2), s.latest())
				_, err := s.later.clean(s.t.Context(), activities.CleanInput{TableRun: part("r1")})
				require.NoError(s.t, err)
			case activities.StateNotCommitted:
				require.Equal(s.t, snapshot.ID(1), s.latest())
				require.Equal(s.t, "commit", rest[0].name)
				s.again(rest)
			default:
				s.t.Fatal(a.State, a.Message)
			}
		},
		"fenced off": func(s *sweep, _ []step) {
			a, err := s.later.abort(s.t.Context(), activities.AbortInput{TableRun: part("r1"), Fence: true})
			require.NoError(s.t, err)
			switch a.State {
			case activities.StateAborted:
				require.Equal(s.t, s.old, s.rows())
			case activities.StateCommitted:
				require.Equal(s.t, s.fresh, s.rows())
				_, err := s.later.clean(s.t.Context(), activities.CleanInput{TableRun: part("r1")})
				require.NoError(s.t, err)
			default:
				s.t.Fatal(a.State, a.Message)
			}
		},
		"settled by the next run": func(s *sweep, _ []step) {
			s.again(s.steps("r2"))
			want := s.source().lines()
			if s.job.Tables[0].Append {
				result, err := s.ledger("r1").Result(s.t.Context())
				require.NoError(s.t, err)
				if want = append(want, s.old...); result != nil && result.Snapshot != 0 {
					want = append(want, s.source().lines()...)
				}
			}
			require.ElementsMatch(s.t, want, s.rows())
		},
	}
}

var everyPoint = flag.Bool("every-point", false, "sweep every operation instead of every seventh, or of some sweeps fewer")

// stride is from one point of a sweep to the next. `make sweep` leaves none out.
func stride() int { return strideOf(7) }

// strideOf is a stride of so many for sweeps whose every point takes long.
func strideOf(n int) int {
	if *everyPoint {
		return 1
	}
	return n
}

// TestFaultSweep breaks operations on the stores that a run makes, in every way, and lets the run end in every way.
func TestFaultSweep(t *testing.T) {
	base := newBase(t)
	for fault, choose := range faults() {
		for ending, end := range endings() {
			for _, overwrite := range []bool{true, false} {
				if !overwrite && ending != "tried again" {
					continue // kinds of commit differ in what they publish alone
				}
				t.Run(fmt.Sprintf("%s, %s, overwrite %v", fault, ending, overwrite), func(t *testing.T) {
					t.Parallel()
					points := 0
					for broke := true; broke; points += stride() {
						// In a bubble the waits of a commit take no time.
						synctest.Test(t, func(t *testing.T) {
							s := newSweep(t, base, overwrite)
							broke = s.once(func(n int) faultio.Fault { return choose(points, n) }, end)
						})
						if t.Failed() {
							t.Fatalf("operation %d", points)
						}
					}
					require.Greater(t, points, 100)
					t.Logf("%d operations", points)
				})
			}
		}
	}
}

// attempt does a step in the time that an activity is given at most, of which nothing passes but while all hangs.
func attempt(ctx context.Context, s step, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, 24*time.Hour)
	defer cancel()
	return s.do(ctx, p)
}

// once makes one run and tells whether something broke in it.
func (s *sweep) once(choose func(n int) faultio.Fault, end func(*sweep, []step)) bool {
	s.t.Helper()
	n, broken := 0, 0
	faulty := s.faulty(func(faultio.Op) faultio.Fault {
		f := choose(n)
		n++
		if f != faultio.None {
			broken++
		}
		return f
	})
	ended := false
	steps := s.steps("r1")
	for i, step := range steps {
		err := attempt(s.t.Context(), step, faulty)
		if err == nil {
			continue
		}
		require.Positive(s.t, broken, "%s failed by itself: %v", step.name, err)
		s.whole()
		end(s, steps[i:])
		ended = true
		break
	}
	if !ended {
		s.whole()
		require.Equal(s.t, snapshot.ID(2), s.latest())
	}
	// Cleaning again, after the time-outs, removes what a fault during the first cleaning left.
	if exists(s.t, s.staging, ledgerFile("r1", "result")) {
		_, err := s.clean(s.t.Context(), activities.CleanInput{TableRun: part("r1")})
		require.NoError(s.t, err)
	}
	s.tidy()
	return broken > 0
}
