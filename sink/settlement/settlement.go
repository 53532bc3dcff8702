package settlement

import (
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/sink"
)

// Goal is what somebody wants of a run.
type Goal uint8

const (
	// Commit makes the run's parts visible.
	Commit Goal = iota
	// RollBack gives the run up unless its commit is decided. It then only says what became of it.
	RollBack
)

// States is a set of labels' states.
type States uint8

// Of is the set of these states.
func Of(states ...sink.State) States {
	var s States
	for _, x := range states {
		s |= 1 << x
	}
	return s
}

// Has tells whether any of the states is in the set.
func (s States) Has(states ...sink.State) bool { return s&Of(states...) != 0 }

// Sight is what was seen of a run so far. Its zero value, with the ledger's record, is where everybody begins.
type Sight struct {
	// Result and Verdict are the ledger's, empty when it has none.
	Result  ledger.Outcome
	Verdict ledger.Verdict
	// Asked tells that the labels' states were asked after the verdict that stands was read.
	Asked bool
	// Parts are the states of the run's parts. A run without rows has none.
	Parts States
	// Undecided tells that after the labels' states were asked there was still no decision.
	Undecided bool
}

// Step is what is done next.
type Step uint8

// The steps. Those from Committed on are ends.
const (
	// Ask asks the state of every part. It sees Asked and Parts.
	Ask Step = iota
	// Reread reads the decision again. It sees the Verdict, or that the run was Undecided.
	Reread
	// DecideCommit and DecideAbort write the decision unless one stands. They see the Verdict that stands, and forget Asked.
	DecideCommit
	DecideAbort
	// Publish commits every part that is prepared, and Withdraw rolls back every one that is open or prepared. They forget Asked.
	Publish
	Withdraw
	// RecordCommitted and RecordRolledBack write the end into the ledger. They see Result.
	RecordCommitted
	RecordRolledBack

	// Committed: every part is in the table.
	Committed
	// RolledBack: no part is, and none will be.
	RolledBack
	// Again: parts are rolled back, or forgotten before anything was decided. Their units must be loaded again, under new labels,
	// and their claims replaced.
	Again
	// Wait: the server is at work on a part. It comes to an end by itself.
	Wait
	// Pending: the commit is decided and not done. Commit finishes it.
	Pending
	// Unknown: the commit is decided, and the server has forgotten a part. Somebody must see whether its rows are in the table.
	Unknown
)

// End tells whether a step is an end.
func (s Step) End() bool { return s >= Committed }

// Next is the only step allowed to somebody who wants goal and sees s.
func Next(goal Goal, s Sight) Step {
	switch {
	case s.Result == ledger.Committed:
		return Committed
	case s.Result == ledger.Aborted:
		return RolledBack
	case s.Verdict == ledger.Abort:
		return rollBack(s)
	case goal == RollBack && s.Verdict == "":
		return DecideAbort
	case !s.Asked:
		return Ask
	case s.Verdict == "":
		return prepared(s)
	case goal == RollBack:
		return decided(s)
	}
	return commit(s)
}

// prepared comes before the decision: what is missing can still be made good.
func prepared(s Sight) Step {
	switch {
	case s.Parts.Has(sink.RolledBack, sink.Unknown) && !s.Undecided:
		return Reread // somebody may have decided, committed, and the server forgotten it since
	case s.Parts.Has(sink.RolledBack, sink.Unknown):
		return Again // nobody commits without a decision, so what is forgotten was not committed
	case s.Parts.Has(sink.Open):
		return Wait
	}
	return DecideCommit
}

func commit(s Sight) Step {
	switch {
	case s.Parts.Has(sink.Prepared):
		return Publish // as much as can be, before anything else is said
	case s.Parts.Has(sink.Unknown):
		return Unknown
	case s.Parts.Has(sink.RolledBack):
		return Again
	case s.Parts.Has(sink.Open):
		return Wait
	}
	return RecordCommitted
}

// decided is what somebody hears who wanted to roll back.
func decided(s Sight) Step {
	switch {
	case s.Parts.Has(sink.Unknown):
		return Unknown
	case s.Parts.Has(sink.Prepared, sink.Open, sink.RolledBack):
		return Pending
	}
	return RecordCommitted
}

func rollBack(s Sight) Step {
	switch {
	case !s.Asked:
		return Ask
	case s.Parts.Has(sink.Prepared, sink.Open):
		return Withdraw
	}
	return RecordRolledBack
}
