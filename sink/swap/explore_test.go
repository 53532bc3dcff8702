package swap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const generations = 4

// content is what a name has.
type content uint8

const (
	nothing content = iota
	oldRows
	newRows
)

// letter is a statement that is under way.
type letter struct {
	there      bool
	step       Step
	generation int
}

type world struct {
	target  content
	stage   [generations]content
	retired [generations]content
	actors  [2]actor
	letters [2]letter
	// late is how many statements may still be sent whose sender does not wait.
	late int
	done bool
}

// actor looks, then acts on what it saw.
type actor struct {
	alive, looked bool
	sight         Sight
}

type design func(Sight) Step

func (w *world) run(l letter) error {
	g := l.generation
	switch l.step {
	case Swap:
		if w.stage[g] != nothing {
			w.target, w.stage[g] = w.stage[g], w.target
		}
	case Retire:
		if w.stage[g] != nothing && w.retired[g] == nothing {
			w.retired[g], w.stage[g] = w.stage[g], nothing
		}
	case Restage:
		if g+1 < generations && w.retired[g] != nothing && w.stage[g+1] == nothing {
			w.stage[g+1], w.retired[g] = w.retired[g], nothing
		}
	case Drop:
		if w.retired[g] == newRows {
			return fmt.Errorf("the new table is dropped")
		}
		w.retired[g] = nothing
	case Done, Lost:
	}
	if w.target == nothing {
		return fmt.Errorf("the target is gone")
	}
	if w.done && w.target != newRows {
		return fmt.Errorf("the target is the old table after the end was said")
	}
	return nil
}

func (w *world) see() Sight {
	s := Sight{Target: w.target == newRows}
	for g := range generations {
		if w.stage[g] != nothing {
			s.Stage = Found{true, g, w.stage[g] == newRows}
		}
		if w.retired[g] != nothing {
			s.Retired = Found{true, g, w.retired[g] == newRows}
		}
	}
	return s
}

func statement(d design, s Sight) letter {
	step := d(s)
	g := s.Stage.Generation
	if step == Restage || step == Drop {
		g = s.Retired.Generation
	}
	return letter{true, step, g}
}

type move struct {
	name string
	to   world
	err  error
}

func (w world) moves(d design) []move {
	var moves []move
	add := func(name string, change func(*world) error) {
		to := w
		err := change(&to)
		moves = append(moves, move{name, to, err})
	}
	for i, l := range w.letters {
		if l.there {
			add(fmt.Sprintf("late step %d of generation %d arrives", l.step, l.generation), func(to *world) error { to.letters[i] = letter{}; return to.run(l) })
			add("a late statement is lost", func(to *world) error { to.letters[i] = letter{}; return nil })
		}
	}
	for i, a := range w.actors {
		if !a.alive {
			continue
		}
		if !a.looked {
			add(fmt.Sprintf("actor %d looks", i), func(to *world) error { to.actors[i] = actor{true, true, to.see()}; return nil })
			continue
		}
		l := statement(d, a.sight)
		switch l.step {
		case Done:
			add(fmt.Sprintf("actor %d says done", i), func(to *world) error {
				to.done, to.actors[i] = true, actor{}
				return to.run(l)
			})
			continue
		case Lost:
			// By the time it looked there was a marked table somewhere.
			add(fmt.Sprintf("actor %d says lost", i), func(*world) error { return fmt.Errorf("lost") })
			continue
		default:
		}
		add(fmt.Sprintf("actor %d: step %d of generation %d", i, l.step, l.generation), func(to *world) error {
			to.actors[i] = actor{alive: true}
			return to.run(l)
		})
		for j := range w.letters {
			if w.late > 0 && !w.letters[j].there {
				add(fmt.Sprintf("actor %d: step %d, late", i, l.step), func(to *world) error {
					to.late--
					to.letters[j], to.actors[i] = l, actor{alive: true}
					return nil
				})
				break
			}
		}
	}
	return moves
}

func explore(d design) (states int, ended bool, err error) {
	type from struct {
		at   int
		name string
	}
	start := world{target: oldRows, late: 2, actors: [2]actor{{alive: true}, {alive: true}}}
	start.stage[0] = newRows
	all, way, seen := []world{start}, []from{{-1, ""}}, map[world]bool{start: true}
	for at := 0; at < len(all); at++ {
		ended = ended || all[at].done
		for _, m := range all[at].moves(d) {
			if m.err != nil {
				names := []string{m.name}
				for i := at; i > 0; i = way[i].at {
					names = append([]string{way[i].name}, names...)
				}
				return len(all), ended, fmt.Errorf("%w, after:\n  %s", m.err, strings.Join(names, "\n  "))
			}
			if !seen[m.to] {
				seen[m.to] = true
				all, way = append(all, m.to), append(way, from{at, m.name})
			}
		}
	}
	return len(all), ended, nil
}

func TestEveryInterleavingEndsWithTheNewTable(t *testing.T) {
	n, ended, err := explore(Next)
	require.NoError(t, err)
	require.True(t, ended)
	t.Logf("%d states", n)
}

// Left alone, somebody who looks and acts comes to the end from wherever late statements have brought it.
func TestEveryStateHasAnEnd(t *testing.T) {
	for _, w := range []world{
		{target: oldRows, stage: [generations]content{newRows}},
		{target: newRows, stage: [generations]content{oldRows}},
		{target: oldRows, retired: [generations]content{newRows}},
		{target: newRows, retired: [generations]content{oldRows}},
		{target: oldRows, stage: [generations]content{nothing, newRows}},
	} {
		steps := 0
		for ; steps < 10 && Next(w.see()) != Done; steps++ {
			require.NoError(t, w.run(statement(Next, w.see())))
		}
		require.Less(t, steps, 10)
		require.Equal(t, newRows, w.target)
	}
	require.Equal(t, Lost, Next(Sight{}))
	require.Equal(t, Lost, Next(Sight{Stage: Found{There: true}}), "an old table under the stage name is nobody's to swap")
}

func TestExplorationFindsBrokenDesigns(t *testing.T) {
	for name, broken := range map[string]design{
		"does not retire the stage": func(s Sight) Step {
			if s.Target {
				return Done
			}
			return Next(s)
		},
		"drops a retired table unseen": func(s Sight) Step {
			if s.Retired.There {
				return Drop
			}
			return Next(s)
		},
		"swaps whatever is there": func(s Sight) Step {
			if s.Stage.There {
				return Swap
			}
			return Next(s)
		},
	} {
		_, ended, err := explore(broken)
		require.True(t, err != nil || !ended, name)
	}
}
