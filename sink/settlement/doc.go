// Package settlement is the decision of a run's commit where the rows are parts at a server, each under its label: given what the
// ledger and the labels show, the one step that may be taken next. It does nothing itself. It is to labels what ledger/twophase
// is to snapshots.
//
// A run is prepared when every unit's part is prepared. COMMIT is written then, and the parts are committed one by one: they
// are no one moment for a reader, but each row comes once. Whoever finds the run goes on from the labels' states.
//
// What must hold, whatever fails, whoever else works on the run, and whatever the server aborts or forgets by itself
// (explore_test.go tries everything in turn):
//
//   - no part is committed before COMMIT is written, and none at all under ABORT;
//   - no part is rolled back under COMMIT, but by the server itself;
//   - a run is recorded as committed only if every part is, and as rolled back only if none is;
//   - a unit is loaded again only if its part is rolled back: never if it may be committed.
package settlement
