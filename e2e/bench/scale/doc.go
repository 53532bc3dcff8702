// Command scale measures what a run costs beside its rows: planning many shards and splits, Temporal's histories, the ledger,
// verifying and committing.
//
//	go run ./e2e/bench/scale                       # part of `make bench`
//	go run ./e2e/bench/scale -splits 1000,10000 -alone
//
// The source is a stub that knows shards of ten splits and gives each a few rows; everything else is what a worker does:
// the real workflows and activities, a Temporal of the dev stack, a ledger and a warehouse on the local disk. The worker is a
// process of its own for each run, and its memory is what proc(5) says of it. Times are those of the activities in the
// history. A run that loses a row is an error.
package main
