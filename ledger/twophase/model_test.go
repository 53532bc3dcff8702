package twophase

import (
	"fmt"
	"slices"

	"github.com/tributary-lake/tributary/ledger"
)

// The model is the world around one decision: a ledger and a table on a store that creates files only if they are absent,
// attempts that follow Next, and what else may happen. Attempts take their operations in any order, so one that is passed
// over for long is a zombie, and one that is never taken again is dead.
//
// What it takes for granted: an operation of the store happens at one moment (or later than its answer, see letter), and
// nobody rolls the table back. What package lake/commit does within one Publish or Fence is a part of it: see publication.

// kind is who made a snapshot.
type kind uint8

const (
	none kind = iota
	foreign
	own
	fence
	compaction
)

// snap is a snapshot after the plan's base.
type snap struct {
	kind kind
	// there tells that it has not expired, names that it names the run's files.
	there, names bool
	// buried tells that it came after another of its number had expired: later ones do not build on it.
	buried bool
}

// most is the number of snapshots that a world has room for.
const most = 6

// world is everything at one moment. It is compared and copied by value.
type world struct {
	verdict ledger.Verdict
	result  ledger.Outcome
	// files tells that the run's data files are there, pinned that its consumer is.
	files, pinned bool
	// astray tells that the consumer was removed by somebody else, or has expired, before the end was recorded.
	astray bool
	// changed tells that the table's schema or owner made the commit refusable.
	changed bool
	// replaces tells that the commit is an overwrite, which must not remove what others added.
	replaces bool
	snaps    [most]snap
	latest   uint8
	// landed counts the run's own snapshots that became the newest of the table.
	landed  uint8
	letters [2]letter
	actors  [3]actor
	left    budget
}

// budget bounds what happens beside the attempts' own steps.
type budget struct {
	faults, crashes                          uint8
	foreigns, compactions, expiries, changes uint8
	unpins                                   uint8
}

// letter is a creation whose caller has been told that it failed, and which is yet to reach the store.
type letter struct {
	what    what
	verdict ledger.Verdict
	draft   draft
}

type what uint8

const (
	nothing what = iota
	aDecision
	aSnapshot
)

// draft is a snapshot that is to be published under a number.
type draft struct {
	number uint8
	kind   kind
	by     uint8
	names  bool
}

// actor is an attempt of somebody who wants goal.
type actor struct {
	goal  Goal
	alive bool
	see   Sight
	draft draft // of the publication that is under way
	doubt bool  // the draft may be visible
	ended bool
	// failed tells that it ended with an error that another try would meet again.
	failed bool
	end    Step
}

// design is what attempts do. The real one follows Next; those with a fault show that the model finds it.
type design struct {
	next func(Goal, Sight) Step
	// blind leaves out the look for the run's own snapshot before publishing.
	blind bool
	// credulous believes in a snapshot that later ones do not build on.
	credulous bool
}

func real() design { return design{next: Next} }

// history tells whether a snapshot after the base is missing, and what is above the last one that is. Of one that is buried
// package lake/commit finds that later ones do not build on it.
func (w *world) history(credulous bool) (hole bool, o, f bool, others bool) {
	for n := range w.latest {
		s := w.snaps[n]
		if !s.there || s.buried && !credulous {
			hole, o, f = true, false, false
			continue
		}
		switch s.kind {
		case own:
			o = true
		case fence:
			f = true
		case foreign:
			others = true
		case none, compaction:
		}
	}
	return hole, o, f, others
}

// named tells whether any snapshot names the run's files.
func (w *world) named() bool {
	for _, s := range w.snaps {
		if s.there && s.names {
			return true
		}
	}
	return false
}

func (w *world) newest() snap {
	if w.latest == 0 {
		return snap{}
	}
	return w.snaps[w.latest-1]
}

// refuses tells whether a commit that is not in the table would be refused.
func (w *world) refuses(replaces bool) bool {
	_, _, _, others := w.history(false)
	return w.changed || replaces && others
}

// put creates a snapshot only if its number is free, and tells whether it stands. A draft put twice is the same bytes.
func (w *world) put(d draft) (bool, error) {
	s := &w.snaps[d.number-1]
	if s.there {
		return false, nil
	}
	if d.number <= w.latest {
		*s = snap{kind: d.kind, there: true, names: d.names, buried: true}
		return true, nil
	}
	if d.number > w.latest+1 {
		return false, fmt.Errorf("snapshot %d published above %d", d.number, w.latest)
	}
	if d.kind == own {
		w.landed++
		switch _, _, fenced, others := w.history(false); {
		case w.landed > 1:
			return false, fmt.Errorf("the commit is in the table twice")
		case w.verdict != ledger.Commit:
			return false, fmt.Errorf("published under the decision %q", w.verdict)
		case fenced:
			return false, fmt.Errorf("published behind its fence")
		case w.result == ledger.Aborted:
			return false, fmt.Errorf("published after the end was recorded as %s", w.result)
		case w.replaces && others:
			return false, fmt.Errorf("an overwrite removed what another writer had added")
		}
	}
	*s = snap{kind: d.kind, there: true, names: d.names}
	w.latest = d.number
	return true, nil
}

// decide creates the decision only if there is none.
func (w *world) decide(v ledger.Verdict) {
	if w.verdict == "" {
		w.verdict = v
	}
}

// record writes the end unless one is recorded. Another one than that is an error in the attempt's place, which must not
// come about as long as the proof was kept.
func (w *world) record(a *actor, o ledger.Outcome) error {
	if w.result != "" && w.result != o {
		if w.astray {
			a.ended, a.failed = true, true
			return nil
		}
		return fmt.Errorf("the end is recorded as %s and was %s", o, w.result)
	}
	w.result, a.see.Result = o, o
	switch {
	case o == ledger.Committed && w.landed == 0:
		return fmt.Errorf("recorded as committed, and no snapshot was ever published")
	case o == ledger.Aborted && w.landed > 0 && !w.hidden():
		return fmt.Errorf("recorded as given up, and it is committed")
	}
	return nil
}

// hidden tells that the commit's snapshot is gone, in spite of the consumer, and nothing names its files any more: nobody
// can tell it from one that was never made.
func (w *world) hidden() bool {
	return w.astray && !slices.ContainsFunc(w.snaps[:], func(s snap) bool { return s.there && !s.buried && (s.kind == own || s.names) })
}

// check is what must hold at every moment.
func (w *world) check() error {
	if w.files {
		return nil
	}
	// Readers follow the snapshots from the newest down to where they end.
	for n := int(w.latest) - 1; n >= 0 && w.snaps[n].there && !w.snaps[n].buried; n-- {
		if w.snaps[n].names {
			return fmt.Errorf("snapshot %d names files that were deleted", n+1)
		}
	}
	return nil
}

// checkEnd is what must hold for what an attempt says at its end.
func (w *world) checkEnd(a *actor) error {
	switch {
	case a.end == Committed && w.landed == 0:
		return fmt.Errorf("an attempt says committed, and no snapshot was ever published")
	case a.end == RolledBack && w.landed > 0 && !w.hidden():
		return fmt.Errorf("an attempt says rolled back, and the commit is in the table")
	case (a.end == Pending || a.end == Refuses) && w.verdict != ledger.Commit:
		return fmt.Errorf("an attempt says %d without a decision", a.end)
	case a.end == Unknown && a.see.Table != Lost && a.see.Table != LostFenced:
		return fmt.Errorf("an attempt does not know, and no snapshot was missing")
	}
	return nil
}
