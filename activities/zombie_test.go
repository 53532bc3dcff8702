package activities_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
)

// meanwhiles are what becomes of a run while one of its activities stalls, unseen, in a process that was given up.
func meanwhiles() map[string]func(s *sweep, rest []step) {
	return map[string]func(s *sweep, rest []step){
		"the run goes on elsewhere": func(s *sweep, rest []step) { s.again(rest) },
		"the run is given up": func(s *sweep, rest []step) {
			endings()["fenced off"](s, rest)
			_, err := s.clean(s.t.Context(), activities.CleanInput{TableRun: part("r1")})
			require.NoError(s.t, err)
		},
		"the next run has come": endings()["settled by the next run"],
	}
}

// TestZombieSweep lets an activity stall before each operation on the stores that a run makes, and go on when others have
// brought the run to its end: it must not change the table, and what it leaves is removed by the next cleaning.
func TestZombieSweep(t *testing.T) {
	base := newBase(t)
	for name, meanwhile := range meanwhiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := 0
			for stalled := true; stalled; points += stride() {
				synctest.Test(t, func(t *testing.T) {
					stalled = newSweep(t, base, true).stall(points, meanwhile)
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

// stall makes one run that stalls before its k-th operation, and tells whether there was one.
func (s *sweep) stall(k int, meanwhile func(*sweep, []step)) bool {
	s.t.Helper()
	steps := s.steps("r1")
	n, at := 0, 0
	var rows []string
	zombie := s.faulty(func(faultio.Op) faultio.Fault {
		if n == k {
			meanwhile(s, steps[at:])
			rows = s.rows()
		}
		n++
		return faultio.None
	})
	for ; at < len(steps) && rows == nil; at++ {
		err := steps[at].do(s.t.Context(), zombie)
		if rows == nil {
			require.NoError(s.t, err)
		}
	}
	if rows == nil {
		return false
	}
	require.Equal(s.t, rows, s.rows(), "the zombie changed the table")
	require.Subset(s.t, s.dataFiles(), s.named(), "the zombie removed a file")
	if exists(s.t, s.staging, ledgerFile("r1", "result")) {
		_, err := s.clean(s.t.Context(), activities.CleanInput{TableRun: part("r1")})
		require.NoError(s.t, err)
		s.tidy()
	}
	// What a zombie that plans leaves is the next run's to settle.
	s.again(s.steps("r3"))
	require.ElementsMatch(s.t, s.source().lines(), s.rows())
	s.tidy()
	return true
}
