// Package activities is where Temporal meets the domain: the steps of a run, each an activity that may be tried again at
// any moment. They keep nothing in memory between two calls; what must outlive one lies in the run's ledger.
//
// Each group of activities is a struct that holds what it needs and no more. What a job names (source, warehouse,
// staging) is opened through [Env], which internal/app implements.
//
// Invariants: whatever an attempt writes is found by a prefix registered before; a unit's files count only through its
// claim; nothing is deleted unless ABORT stands or the file is in no claim of a committed run; from the plan to the
// recorded end a consumer keeps the snapshots by which it is known what became of the commit; a mark, written first and
// removed last, leads a later run of the target to whatever an earlier one left, and the plan there says all that is
// needed to end it; an error leaves an activity through the [Interceptor] alone.
package activities
