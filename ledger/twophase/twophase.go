package twophase

import "github.com/tributary-lake/tributary/ledger"

// Goal is what somebody wants of a run.
type Goal uint8

const (
	// Commit publishes what the run has prepared.
	Commit Goal = iota
	// RollBack gives the run up unless its commit is decided. It then only says what became of it.
	RollBack
	// Force gives it up even then, unless it is committed.
	Force
	// Settle finishes what is decided and gives up what is not: a later run does so with what an earlier one left.
	Settle
)

// Table is what the target shows of the run's commit.
type Table uint8

const (
	// Unread: nobody has looked yet.
	Unread Table = iota
	// Absent: all snapshots since the plan are there, and none is the run's.
	Absent
	// Present: the run's snapshot is in the table, or there was nothing to publish.
	Present
	// Fenced: a snapshot of the run's own makes its commit impossible, and no other is the run's.
	Fenced
	// Lost: snapshots are missing that could have been the run's, or the table is another one.
	Lost
	// LostFenced: as Lost, and no attempt that is under way can publish any more.
	LostFenced
)

// Doubtful tells that the table does not show the commit although it may have been made.
func (t Table) Doubtful() bool { return t == Fenced || t == Lost || t == LostFenced }

// Answer is the answer to a question that may not have been asked.
type Answer uint8

// The answers.
const (
	Unasked Answer = iota
	No
	Yes
)

// Sight is what was seen of a run so far: the record of its ledger and what the table shows. Its zero value, with the
// ledger's record, is where everybody begins.
type Sight struct {
	// Result and Verdict are the ledger's, empty when it has none.
	Result  ledger.Outcome
	Verdict ledger.Verdict
	// Prepared tells that every check that can refuse the commit has passed, and that the snapshots which will prove it are
	// kept from expiring.
	Prepared bool
	Table    Table
	// Named answers whether anything that can still be read of the table names a file of the run.
	Named Answer
	// Refused answers whether a decided commit would be refused now.
	Refused Answer
	// Deleted tells that the run's data files are removed, Released that the snapshots may expire again.
	Deleted, Released bool
}

// Step is what is done next.
type Step uint8

// The steps. Those from Committed on are ends. A step that looks at the table and sees Fenced, Lost or LostFenced also sees
// the Result that is recorded by then: whoever recorded it had seen more, and has let the proof expire.
const (
	// Prepare checks all that can refuse the commit and keeps the snapshots since the plan from expiring. It sees Prepared, or
	// fails.
	Prepare Step = iota
	// DecideCommit and DecideAbort write the decision unless one stands. They see the Verdict that stands.
	DecideCommit
	DecideAbort
	// Publish makes the commit visible unless it is already. It sees Present, Fenced or Lost, or fails.
	Publish
	// Look reads the snapshots since the plan. It sees Absent, Present, Fenced or Lost.
	Look
	// Judge asks whether the decided commit would be refused now. It sees Refused.
	Judge
	// Fence publishes the snapshot that makes the commit impossible, unless the commit is in the table. It sees Fenced,
	// Present or Lost.
	Fence
	// FenceAnyway does so although missing snapshots leave open whether it is. It sees LostFenced and forgets Named.
	FenceAnyway
	// Search looks for the run's files in all snapshots and tags that are there. It sees Named.
	Search
	// Delete removes the run's data files. It sees Deleted.
	Delete
	// RecordCommitted and RecordRolledBack write the end into the ledger. They see Result.
	RecordCommitted
	RecordRolledBack
	// Release lets the snapshots expire again. It sees Released.
	Release

	// Committed: the rows are in the table, or there was nothing to commit.
	Committed
	// RolledBack: the table has no use for the run's files, and nothing will be published.
	RolledBack
	// Refuses: the commit is decided and would be refused now. Force gives it up.
	Refuses
	// Pending: the commit is decided and not in the table yet. Commit finishes it, Force gives it up.
	Pending
	// Unknown: it cannot be told. Commit looks again, Force gives it up where nothing names the run's files.
	Unknown
)

// End tells whether a step is an end.
func (s Step) End() bool { return s >= Committed }

// Next is the only step allowed to somebody who wants goal and sees s.
func Next(goal Goal, s Sight) Step {
	switch s.Result {
	case ledger.Committed:
		return afterRecord(s, Committed)
	case ledger.Aborted:
		// Whoever recorded it had deleted the files. It is done again for those that attempts have left since.
		if goal != Commit && !s.Deleted {
			return Delete
		}
		return afterRecord(s, RolledBack)
	}
	if goal == Settle && s.Verdict == ledger.Commit {
		goal = Commit
	}
	if goal == Commit {
		return commit(s)
	}
	return rollBack(goal, s)
}

func afterRecord(s Sight, end Step) Step {
	if !s.Released {
		return Release
	}
	return end
}

// commit is the way to the snapshot.
func commit(s Sight) Step {
	switch s.Verdict {
	case ledger.Abort:
		return RolledBack // who decided it does the rest
	case ledger.Commit:
		return publish(s)
	}
	if !s.Prepared {
		return Prepare
	}
	return DecideCommit
}

func publish(s Sight) Step {
	switch s.Table {
	case Present:
		return RecordCommitted
	case Fenced:
		return drop(s) // whoever fenced it off may not have lived to do so
	case Lost, LostFenced:
		return Unknown
	case Unread, Absent:
	}
	return Publish
}

// rollBack is the way out.
func rollBack(goal Goal, s Sight) Step {
	if s.Verdict == "" {
		return DecideAbort
	}
	switch s.Table {
	case Unread:
		return Look
	case Present:
		return RecordCommitted
	case Fenced:
		return drop(s)
	case Lost, LostFenced:
		return outOfLost(goal, s)
	case Absent:
	}
	switch {
	case s.Verdict == ledger.Abort:
		return drop(s) // no attempt publishes under ABORT
	case goal == Force:
		return Fence
	case s.Refused == Unasked:
		return Judge
	case s.Refused == Yes:
		return Refuses
	}
	return Pending
}

// outOfLost gives up what cannot be told of, where nothing names the files. Under COMMIT an attempt may be about to publish
// them: so first the fence, and then the search that counts.
func outOfLost(goal Goal, s Sight) Step {
	decided := s.Verdict == ledger.Commit
	switch {
	case decided && goal != Force:
		return Unknown
	case s.Named == Unasked:
		return Search
	case s.Named == Yes:
		return Unknown
	case decided && s.Table != LostFenced:
		return FenceAnyway
	}
	return drop(s)
}

// drop deletes first and records then: a record says that nothing is left.
func drop(s Sight) Step {
	if !s.Deleted {
		return Delete
	}
	return RecordRolledBack
}
