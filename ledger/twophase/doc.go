// Package twophase is the decision of a run's commit as a state machine: given what the ledger and the table show, the one
// step that may be taken next. It does nothing itself; package activities carries its steps out.
//
// The words are those of two-phase commit. A run is prepared when every unit is claimed and nothing can refuse the commit any
// more; it is committed when its snapshot is in the table, rolled back when that can never happen and its files are gone. In
// between the record of the decision is all that counts, and whoever finds a run goes on from there. Where the table cannot
// tell any more, the outcome is unknown, and stays so until somebody settles it.
//
// What must hold, whatever fails and whoever else works on the run or the table (model_test.go tries everything in turn):
//
//   - a decision is made once and never changes, and whoever loses obeys;
//   - the rows of a run are in the table at most once;
//   - a file that a snapshot names is never deleted: Delete follows only an ABORT that stands, or a fence, and where snapshots
//     are missing that could have been the commit, a search of all that are left;
//   - from every state there is a way to an end, and one that does not settle the run has a command that does.
//
// docs/commit.md draws it. It is no protocol of the snapshots themselves: how one is published once is package lake/commit's.
package twophase
