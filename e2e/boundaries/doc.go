// Package boundaries lets runs go wrong at every boundary of an activity, on a real Temporal server: the activity fails before it has
// begun, it is done and its result is lost, it hangs past its time-out and goes on when all is over, and the run is cancelled or
// terminated just before or after it. After each the table is the old one or the new one, whole, as Paimon reads it; the run is
// settled, and then the table is MySQL's. It has tests only.
//
// Faults of single operations on files are activities' sweeps, those of packets internal/app's; processes are killed in e2e and
// e2e/chaos.
package boundaries
