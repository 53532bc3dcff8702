package twophase

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/ledger"
)

func goalName(g Goal) string { return [...]string{"commit", "roll back", "force", "settle"}[g] }

func stepName(s Step) string {
	return [...]string{
		"prepare", "decide COMMIT", "decide ABORT", "publish", "look", "judge", "fence", "fence anyway", "search", "delete",
		"record committed", "record rolled back", "release", "committed", "rolled back", "refuses", "pending", "unknown",
	}[s]
}

// begin is a run that has written its files, with attempts of these goals.
func begin(replaces bool, left budget, goals ...Goal) world {
	w := world{files: true, pinned: true, replaces: replaces, left: left}
	for i, g := range goals {
		w.actors[i] = actor{goal: g, alive: true}
	}
	return w
}

// fault is a way to a state that must not be.
type fault struct {
	err error
	way []string
}

func (f *fault) Error() string {
	return fmt.Sprintf("%v, after:\n  %s", f.err, strings.Join(f.way, "\n  "))
}

// explore visits every state that can be reached, and returns how many there are or the shortest way to a fault.
func explore(d design, start world) (int, error) {
	type step struct {
		from int
		name string
	}
	states, steps := []world{start}, []step{{-1, "start"}}
	seen := map[world]struct{}{start: {}}
	way := func(at int, last string) []string {
		names := []string{last}
		for ; at > 0; at = steps[at].from {
			names = append([]string{steps[at].name}, names...)
		}
		return names
	}
	left := map[world]struct{}{} // what is left when everybody is gone
	for at := 0; at < len(states); at++ {
		l := states[at]
		l.left, l.letters, l.actors = budget{}, [2]letter{}, [3]actor{}
		if _, known := left[l]; !known {
			left[l] = struct{}{}
			if err := settles(d, l); err != nil {
				return len(states), &fault{err, way(at, "and everybody is gone")}
			}
		}
		for _, m := range states[at].moves(d) {
			if m.err != nil {
				return len(states), &fault{m.err, way(at, m.name)}
			}
			if _, known := seen[m.to]; known {
				continue
			}
			seen[m.to] = struct{}{}
			states, steps = append(states, m.to), append(steps, step{at, m.name})
		}
	}
	return len(states), nil
}

// alone lets one attempt run to its end with nobody else about.
func alone(d design, w world, goal Goal) (world, *actor, error) {
	w.actors = [3]actor{{goal: goal, alive: true, see: w.read()}}
	const enough = 25
	for range enough {
		if a := &w.actors[0]; a.ended {
			return w, a, nil
		}
		next := w.moves(d)
		if len(next) != 1 {
			return w, nil, fmt.Errorf("%d ways on for one attempt alone", len(next))
		}
		if next[0].err != nil {
			return w, nil, next[0].err
		}
		w = next[0].to
	}
	return w, nil, errors.New("an attempt alone comes to no end")
}

// settles checks that a run can be brought to an end from a state in which everybody else has gone: by going on, by a later
// run, or by giving it up, each as its end says.
func settles(d design, w world) error {
	hole, o, f, _ := w.history(false)
	_, a, err := alone(d, w, Commit)
	switch {
	case err != nil:
		return fmt.Errorf("commit: %w", err)
	case !a.failed && a.end != Committed && a.end != RolledBack && a.end != Unknown:
		return fmt.Errorf("commit ends as %s", stepName(a.end))
	case w.verdict == ledger.Commit && w.result == "" && !hole && !f && !w.refuses(w.replaces) && a.end != Committed,
		o && a.end != Committed:
		return fmt.Errorf("what was decided cannot be finished: %s", stepName(a.end))
	}
	if _, _, err = alone(d, w, RollBack); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	if _, a, err = alone(d, w, Settle); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	if w.verdict == "" && a.end != RolledBack {
		return fmt.Errorf("settling what was not decided ends as %s", stepName(a.end))
	}
	after, a, err := alone(d, w, Force)
	switch {
	case err != nil:
		return fmt.Errorf("force: %w", err)
	case a.failed && after.latest == most:
		return nil // the model has no room for the fence
	case a.end == Committed || a.end == RolledBack && !after.files:
		return nil
	case a.end == Unknown && after.named():
		return nil
	}
	return fmt.Errorf("force ends as %s", stepName(a.end))
}

var deep = flag.Bool("deep", false, "let more go wrong at once: a million states instead of some two hundred thousand")

// scenarios are who works on a run, and what else happens.
func scenarios() map[string]world {
	few := budget{faults: 1}
	busy := budget{foreigns: 1, compactions: 1, expiries: 1, unpins: 1}
	changing := budget{faults: 1, foreigns: 1, changes: 1}
	plain := busy
	crowded := budget{foreigns: 2, compactions: 1, expiries: 2, unpins: 1}
	if *deep {
		few.crashes++
		busy.faults, busy.crashes, busy.changes = 1, 1, 1
		changing.crashes++
	}
	return map[string]world{
		"two committers and an abort":                begin(false, few, Commit, Commit, RollBack),
		"two committers and a forced abort":          begin(false, few, Commit, Commit, Force),
		"two committers, busy table":                 begin(false, busy, Commit, Commit),
		"a committer, an abort and a forced abort":   begin(false, few, Commit, RollBack, Force),
		"a committer and the next run, busy table":   begin(false, busy, Commit, Settle),
		"a committer and a forced abort, busy table": begin(false, crowded, Commit, Force),
		"two forced aborts, busy table":              begin(false, plain, Commit, Force, Force),
		"an overwrite and a forced abort":            begin(true, changing, Commit, Force),
		"an overwrite, an abort and the next run":    begin(true, changing, Commit, RollBack, Settle),
	}
}

func TestEveryInterleaving(t *testing.T) {
	for name, start := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, err := explore(real(), start)
			require.NoError(t, err)
			t.Logf("%d states", n)
			require.Greater(t, n, 1000)
		})
	}
}
