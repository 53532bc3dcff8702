// Package swap is how a refreshed table takes the place of the old one by SWAP and RENAME, once, where a statement may be lost, come
// late, or be sent by somebody who was believed dead. It does nothing itself: given the tables that are there, it says which one
// statement may be sent next.
//
// SWAP WITH exchanges two names, so that the same statement a second time undoes it: a late one must find nothing to work on. The
// new table therefore carries the run's mark, which goes with it wherever it is named, and lies under a stage name with a
// generation. Once the swap is seen, what has the stage name, now the old table, is renamed to a retired name of that generation,
// and no table ever has that stage name again. If a late swap came in between, the marked table is found under the retired name, and
// goes on as the stage of the next generation. Only then is a retired table dropped, and only one without the mark.
//
// What must hold, however statements are late and however many are at work (explore_test.go tries everything in turn):
//
//   - the target is at each moment the old table or the new one, whole;
//   - the marked table is never dropped;
//   - once the end is said, the target is the marked table and no statement under way can change that.
//
// A target that has no mark while no table has one was replaced by somebody else: that is [Lost].
package swap
