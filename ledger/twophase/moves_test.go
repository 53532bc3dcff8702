package twophase

import (
	"fmt"

	"github.com/tributary-lake/tributary/ledger"
)

// move is a world that another one may become.
type move struct {
	name string
	to   world
	err  error
}

// moves are all that can happen next.
func (w world) moves(d design) []move {
	var all []move
	add := func(name string, change func(*world) error) {
		to := w
		err := change(&to)
		if err == nil {
			err = to.check()
		}
		all = append(all, move{name, to, err})
	}
	for i := range w.actors {
		if a := w.actors[i]; a.alive && !a.ended {
			w.act(d, i, add)
		}
	}
	w.arrivals(add)
	w.environment(add)
	return all
}

type adder func(name string, change func(*world) error)

// act adds the next operation of an attempt, with every answer that the store may give.
func (w world) act(d design, i int, add adder) {
	a := w.actors[i]
	step := d.next(a.goal, a.see)
	say := func(text string) string { return fmt.Sprintf("%d (%s) %s", i, goalName(a.goal), text) }
	if w.left.crashes > 0 {
		add(say("dies and is tried again"), func(w *world) error {
			w.left.crashes--
			w.retry(i)
			return nil
		})
	}
	if step.End() {
		add(say(fmt.Sprint("ends: ", stepName(step))), func(w *world) error {
			a := &w.actors[i]
			a.ended, a.end = true, step
			return w.checkEnd(a)
		})
		return
	}
	switch step {
	case DecideCommit:
		w.decision(i, ledger.Commit, say, add)
	case DecideAbort:
		w.decision(i, ledger.Abort, say, add)
	case Publish, Fence, FenceAnyway:
		w.publication(d, step, i, say, add)
	default:
		add(say(stepName(step)), func(w *world) error { return w.do(step, i) })
	}
}

// retry is what becomes of an attempt that ended with an error: Temporal makes another one, which begins by reading the
// ledger.
func (w *world) retry(i int) {
	a := &w.actors[i]
	*a = actor{goal: a.goal, alive: true, see: w.read()}
}

// read is the ledger's record.
func (w *world) read() Sight { return Sight{Result: w.result, Verdict: w.verdict} }

// do carries out the steps that cannot go wrong half-way.
func (w *world) do(step Step, i int) error {
	a := &w.actors[i]
	hole, o, f, _ := w.history(false)
	switch step {
	case Prepare:
		if !o && (hole || f || w.refuses(w.replaces) || !w.files) {
			a.ended, a.failed = true, true
			return nil
		}
		w.pinned, a.see.Prepared = true, true
	case Look:
		a.see.Table = seen(hole, o, f)
		w.reread(a)
	case Judge:
		a.see.Refused = yes(hole || w.refuses(w.replaces))
	case Search:
		a.see.Named = yes(w.named())
	case Delete:
		w.files, a.see.Deleted = false, true
	case RecordCommitted:
		return w.record(a, ledger.Committed)
	case RecordRolledBack:
		return w.record(a, ledger.Aborted)
	case Release:
		w.pinned, a.see.Released = false, true
	default:
		return fmt.Errorf("step %d is not in the model", step)
	}
	return nil
}

// reread looks for the recorded end again when the table does not show the commit.
func (w *world) reread(a *actor) {
	if a.see.Table.Doubtful() {
		a.see.Result = w.result
	}
}

func seen(hole, o, f bool) Table {
	switch {
	case o:
		return Present
	case hole:
		return Lost
	case f:
		return Fenced
	}
	return Absent
}

func yes(b bool) Answer {
	if b {
		return Yes
	}
	return No
}

// decision is a creation only if absent, whose answer is lost, or is not true, or comes too early.
func (w world) decision(i int, v ledger.Verdict, say func(string) string, add adder) {
	add(say("decides "+string(v)), func(w *world) error {
		w.decide(v)
		w.actors[i].see.Verdict = w.verdict
		return nil
	})
	if w.left.faults == 0 {
		return
	}
	add(say("decides "+string(v)+", its reply is lost"), func(w *world) error {
		w.left.faults--
		w.decide(v)
		w.retry(i)
		return nil
	})
	if j := w.free(); j >= 0 {
		add(say("decides "+string(v)+", late"), func(w *world) error {
			w.left.faults--
			w.letters[j] = letter{what: aDecision, verdict: v}
			w.retry(i)
			return nil
		})
	}
}

// free is the place for a letter, -1 when there is none.
func (w *world) free() int {
	for j, l := range w.letters {
		if l.what == nothing {
			return j
		}
	}
	return -1
}

// publication is one Publish or Fence of package lake/commit: look, then create the next snapshot only if its number is free,
// then look again, whatever the answer was.
func (w world) publication(d design, step Step, i int, say func(string) string, add adder) {
	a := w.actors[i]
	if a.draft.number == 0 {
		add(say(stepName(step)+": looks"), func(w *world) error { w.look(d, step, i); return nil })
		return
	}
	name := fmt.Sprintf("%s: snapshot %d", stepName(step), a.draft.number)
	add(say(name), func(w *world) error { return w.create(step, i) })
	if w.left.faults == 0 {
		return
	}
	add(say(name+", its reply is lost"), func(w *world) error {
		w.left.faults--
		return w.create(step, i)
	})
	if j := w.free(); j >= 0 {
		add(say(name+", late"), func(w *world) error {
			w.left.faults--
			w.letters[j] = letter{what: aSnapshot, draft: w.actors[i].draft}
			w.actors[i].doubt = true
			w.actors[i].draft.number = 0
			return nil
		})
	}
}

// create puts the draft. What the store answers is not believed, so there is one way on: the next look.
func (w *world) create(_ Step, i int) error {
	a := &w.actors[i]
	d := a.draft
	stands, err := w.put(d)
	a.doubt, a.draft.number = stands, 0
	return err
}

// look reads the snapshots and either ends the publication or drafts the next snapshot.
func (w *world) look(d design, step Step, i int) {
	a := &w.actors[i]
	hole, o, f, _ := w.history(d.credulous)
	if d.blind && !a.doubt {
		o = false
	}
	switch {
	case o:
		a.see.Table = Present
	case hole && step == FenceAnyway:
		if f {
			a.see.Table, a.see.Named = LostFenced, Unasked
		}
	case hole && step == Publish && w.newest().names:
		a.see.Table = Present
	case hole:
		a.see.Table = Lost
	case f:
		a.see.Table = Fenced
		if step == FenceAnyway {
			a.see.Table, a.see.Named = LostFenced, Unasked
		}
	case step == Publish && w.refuses(w.replaces) && !d.blind:
		// With a snapshot in doubt the call says unknown, and the next one begins as this one did.
		if !a.doubt {
			a.ended, a.failed = true, true
			return
		}
		w.retry(i)
		return
	}
	w.reread(a)
	if d.next(a.goal, a.see) != step {
		a.doubt, a.draft = false, draft{}
		return
	}
	k := fence
	if step == Publish {
		k = own
	}
	if w.latest == most {
		a.ended, a.failed = true, true // out of the model's room
		return
	}
	a.draft = draft{number: w.latest + 1, kind: k, by: uint8(i), names: w.newest().names || k == own}
}

// arrivals adds the letters that reach the store at last.
func (w world) arrivals(add adder) {
	for j, l := range w.letters {
		if l.what == nothing {
			continue
		}
		add(fmt.Sprint("letter ", j, " arrives"), func(w *world) error {
			w.letters[j] = letter{}
			if l.what == aDecision {
				w.decide(l.verdict)
				return nil
			}
			if l.draft.number > w.latest+1 {
				return fmt.Errorf("a late snapshot lies above the table")
			}
			_, err := w.put(l.draft)
			return err
		})
	}
}

// environment adds what others do to the table.
func (w world) environment(add adder) {
	grow := func(name string, left func(*world) *uint8, s snap) {
		if *left(&w) == 0 || w.latest == most-2 { // room for a commit and a fence
			return
		}
		add(name, func(w *world) error {
			*left(w)--
			w.snaps[w.latest] = s
			w.latest++
			return nil
		})
	}
	grow("another writer appends", func(w *world) *uint8 { return &w.left.foreigns }, snap{kind: foreign, there: true, names: w.newest().names})
	if w.newest().names {
		grow("a compaction rewrites the run's files", func(w *world) *uint8 { return &w.left.compactions }, snap{kind: compaction, there: true})
	}
	if w.left.unpins > 0 && w.pinned {
		add("the consumer is removed", func(w *world) error {
			w.left.unpins--
			w.pinned, w.astray = false, w.astray || w.result == ""
			return nil
		})
	}
	if w.left.changes > 0 {
		add("the schema changes", func(w *world) error { w.left.changes--; w.changed = true; return nil })
	}
	if w.left.expiries > 0 && !w.pinned {
		for n := range w.latest {
			if s := w.snaps[n]; s.there && !s.buried && n+1 < w.latest {
				add(fmt.Sprintf("snapshot %d expires", n+1), func(w *world) error {
					w.left.expiries--
					w.snaps[n].there, w.snaps[n].names = false, false
					return nil
				})
				break
			}
		}
	}
}
