package settlement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/sink"
)

// part is a unit's label at the server, and which of its labels it is.
type part struct {
	state sink.State
	// true tells what a forgotten label was.
	truth sink.State
	again int
}

// actor is somebody at work on the run, with what it has seen.
type actor struct {
	goal  Goal
	sight Sight
	alive bool
	// asked are the labels whose states it has asked.
	asked [2]part
}

// letter is a request that is under way: a commit or rollback of a part's label, which may come late, or never.
type letter struct {
	part, again int
	commit      bool
	there       bool
}

// world is everything. It is comparable, so that each is looked at once.
type world struct {
	verdict ledger.Verdict
	result  ledger.Outcome
	parts   [2]part
	actors  [2]actor
	letters [2]letter
	// expire and forget are how often the server may still do so.
	expire, forget, reload int
}

type move struct {
	name string
	to   world
	err  error
}

// next lets one thing happen. The design under test is a parameter, so that the test can be seen to find faults.
type design func(Goal, Sight) Step

func (w world) moves(d design) []move {
	var moves []move
	add := func(name string, change func(*world) error) {
		to := w
		err := change(&to)
		if err == nil {
			err = to.check()
		}
		moves = append(moves, move{name, to, err})
	}
	for i, l := range w.letters {
		if l.there {
			add(fmt.Sprintf("letter %d arrives", i), func(to *world) error { to.letters[i] = letter{}; return to.arrive(l) })
			add(fmt.Sprintf("letter %d is lost", i), func(to *world) error { to.letters[i] = letter{}; return nil })
		}
	}
	for i, p := range w.parts {
		if w.expire > 0 && (p.state == sink.Prepared || p.state == sink.Open) {
			add(fmt.Sprintf("part %d expires", i), func(to *world) error {
				to.expire--
				to.parts[i].state, to.parts[i].truth = sink.RolledBack, sink.RolledBack
				return nil
			})
		}
		if w.forget > 0 && (p.state == sink.Committed || p.state == sink.RolledBack) {
			add(fmt.Sprintf("part %d is forgotten", i), func(to *world) error {
				to.forget--
				to.parts[i].state = sink.Unknown
				return nil
			})
		}
	}
	for i, a := range w.actors {
		if !a.alive {
			continue
		}
		step := d(a.goal, a.sight)
		add(fmt.Sprintf("actor %d: step %d", i, step), func(to *world) error { return to.take(i, step) })
		if step == Publish || step == Withdraw {
			add(fmt.Sprintf("actor %d: step %d, late", i, step), func(to *world) error { return to.send(i, step == Publish) })
		}
		add(fmt.Sprintf("actor %d dies", i), func(to *world) error { to.actors[i] = actor{}; return nil })
	}
	return moves
}

// arrive is a request at the server: it does nothing to a label that is at its end.
func (w *world) arrive(l letter) error {
	p := &w.parts[l.part]
	if p.again != l.again || p.state != sink.Prepared {
		return nil
	}
	if l.commit {
		p.state, p.truth = sink.Committed, sink.Committed
	} else {
		p.state, p.truth = sink.RolledBack, sink.RolledBack
	}
	return nil
}

// send puts requests on their way, whose replies nobody hears.
func (w *world) send(i int, commit bool) error {
	w.actors[i].sight.Asked = false
	for at, p := range w.parts {
		if p.state != sink.Prepared {
			continue
		}
		for j := range w.letters {
			if !w.letters[j].there {
				w.letters[j] = letter{at, p.again, commit, true}
				break
			}
		}
	}
	return nil
}

func (w *world) take(i int, step Step) error {
	a := &w.actors[i]
	switch step {
	case Ask:
		a.sight.Asked, a.sight.Parts, a.sight.Undecided = true, Of(w.parts[0].state, w.parts[1].state), false
		a.asked = w.parts
	case Reread:
		a.sight.Verdict, a.sight.Undecided = w.verdict, w.verdict == ""
	case DecideCommit, DecideAbort:
		if w.verdict == "" {
			w.verdict = map[Step]ledger.Verdict{DecideCommit: ledger.Commit, DecideAbort: ledger.Abort}[step]
		}
		a.sight.Verdict, a.sight.Asked = w.verdict, false
	case Publish, Withdraw:
		a.sight.Asked = false
		for at, p := range w.parts {
			if err := w.arrive(letter{at, p.again, step == Publish, true}); err != nil {
				return err
			}
		}
	case RecordCommitted, RecordRolledBack:
		want := map[Step]ledger.Outcome{RecordCommitted: ledger.Committed, RecordRolledBack: ledger.Aborted}[step]
		for at, p := range w.parts {
			if committed := p.truth == sink.Committed; committed != (want == ledger.Committed) {
				return fmt.Errorf("recorded %s while part %d is %s", want, at, p.truth)
			}
		}
		if w.result == "" {
			w.result = want
		}
		a.sight.Result = w.result
	case Again:
		return w.load(i)
	default:
		*a = actor{}
	}
	return nil
}

// load makes the units again whose parts an actor saw lost, and claims them: a claim of the next label, only if there is none.
func (w *world) load(i int) error {
	asked, decided := w.actors[i].asked, w.actors[i].sight.Verdict == ledger.Commit
	w.actors[i] = actor{}
	if w.verdict == ledger.Abort || w.reload == 0 {
		return nil
	}
	w.reload--
	for at := range w.parts {
		p, seen := &w.parts[at], asked[at].state
		lost := seen == sink.RolledBack || !decided && seen == sink.Unknown
		if lost && p.again == asked[at].again { // else somebody's claim of the next label is there
			if p.truth == sink.Committed {
				return fmt.Errorf("part %d is loaded again although its rows are in the table", at)
			}
			*p = part{state: sink.Prepared, truth: sink.Prepared, again: p.again + 1}
		}
	}
	return nil
}

func (w world) check() error {
	for i, p := range w.parts {
		if p.truth == sink.Committed && w.verdict != ledger.Commit {
			return fmt.Errorf("part %d is committed under %q", i, w.verdict)
		}
		if w.result == ledger.Aborted && p.truth == sink.Committed {
			return fmt.Errorf("part %d is committed after the run was rolled back", i)
		}
		if w.result == ledger.Committed && p.truth != sink.Committed {
			return fmt.Errorf("part %d is %s in a committed run", i, p.truth)
		}
	}
	return nil
}

// explore visits every state that can be reached, and returns how many or the shortest way to a fault.
func explore(d design, start world) (int, error) {
	type step struct {
		from int
		name string
	}
	states, steps, seen := []world{start}, []step{{-1, "start"}}, map[world]bool{start: true}
	for at := 0; at < len(states); at++ {
		for _, m := range states[at].moves(d) {
			if m.err != nil {
				way := []string{m.name}
				for i := at; i > 0; i = steps[i].from {
					way = append([]string{steps[i].name}, way...)
				}
				return len(states), fmt.Errorf("%w, after:\n  %s", m.err, strings.Join(way, "\n  "))
			}
			if !seen[m.to] {
				seen[m.to] = true
				states, steps = append(states, m.to), append(steps, step{at, m.name})
			}
		}
	}
	return len(states), nil
}

func begin(goals ...Goal) world {
	w := world{expire: 1, forget: 1, reload: 1}
	for i := range w.parts {
		w.parts[i] = part{state: sink.Prepared, truth: sink.Prepared}
	}
	for i, g := range goals {
		w.actors[i] = actor{goal: g, alive: true}
	}
	return w
}

func TestEveryInterleavingLoadsEachPartOnce(t *testing.T) {
	for _, goals := range [][]Goal{
		{Commit}, {RollBack}, {Commit, Commit}, {Commit, RollBack}, {RollBack, RollBack},
	} {
		n, err := explore(Next, begin(goals...))
		require.NoError(t, err, "%v", goals)
		t.Logf("%v: %d states", goals, n)
	}
}

// Each of these designs has a fault that the exploration finds, so it can find one.
func TestExplorationFindsBrokenDesigns(t *testing.T) {
	for name, broken := range map[string]design{
		"commits before it decides": func(g Goal, s Sight) Step {
			if step := Next(g, s); step != DecideCommit {
				return step
			}
			return Publish
		},
		"rolls back under COMMIT": func(g Goal, s Sight) Step {
			if g == RollBack && s.Verdict == ledger.Commit && s.Asked && s.Parts.Has(sink.Prepared) {
				return RecordRolledBack
			}
			return Next(g, s)
		},
		"takes what is forgotten for committed": func(g Goal, s Sight) Step {
			if step := Next(g, s); step != Again {
				return step
			}
			return RecordCommitted
		},
		"does not read the decision again": func(g Goal, s Sight) Step {
			if step := Next(g, s); step != Reread {
				return step
			}
			return Again
		},
		"does not ask after it decided": func(g Goal, s Sight) Step {
			if s.Verdict == ledger.Commit && !s.Asked && s.Result == "" {
				return RecordCommitted
			}
			return Next(g, s)
		},
	} {
		_, err := explore(broken, begin(Commit, RollBack))
		if err == nil {
			_, err = explore(broken, begin(Commit, Commit))
		}
		require.Error(t, err, name)
	}
}

// TestEnds has what somebody hears who finds a run.
func TestEnds(t *testing.T) {
	at := func(v ledger.Verdict, states ...sink.State) Sight {
		return Sight{Verdict: v, Asked: true, Parts: Of(states...)}
	}
	for _, c := range []struct {
		goal  Goal
		sight Sight
		want  Step
	}{
		{Commit, Sight{}, Ask},
		{Commit, at(""), DecideCommit}, // a run without rows
		{Commit, at("", sink.Prepared, sink.Open), Wait},
		{Commit, at("", sink.Prepared, sink.Unknown), Reread},
		{Commit, Sight{Asked: true, Undecided: true, Parts: Of(sink.Prepared, sink.Unknown)}, Again},
		{Commit, at(ledger.Commit, sink.Committed, sink.Prepared, sink.Unknown), Publish},
		{Commit, at(ledger.Commit, sink.Committed, sink.Unknown), Unknown},
		{Commit, at(ledger.Commit, sink.Committed, sink.RolledBack), Again},
		{Commit, at(ledger.Commit, sink.Committed, sink.Open), Wait},
		{Commit, at(ledger.Commit, sink.Committed), RecordCommitted},
		{Commit, at(ledger.Abort, sink.Prepared), Withdraw},
		{RollBack, at(ledger.Commit, sink.Prepared), Pending},
		{RollBack, at(ledger.Commit, sink.Committed, sink.Unknown), Unknown},
		{RollBack, at(ledger.Commit, sink.Committed), RecordCommitted},
		{RollBack, Sight{}, DecideAbort},
		{RollBack, Sight{Verdict: ledger.Abort}, Ask},
		{RollBack, at(ledger.Abort, sink.Unknown, sink.RolledBack), RecordRolledBack},
		{RollBack, Sight{Result: ledger.Committed}, Committed},
		{Commit, Sight{Result: ledger.Aborted}, RolledBack},
	} {
		require.Equal(t, c.want, Next(c.goal, c.sight), "%v %+v", c.goal, c.sight)
	}
}
