// Command bench measures Tributary from `starter run` to the committed snapshot, beside the MariaDB client that reads
// the same rows and throws them away.
//
//	go run ./e2e/bench                                 # everything, five rounds: `make bench`
//	go run ./e2e/bench -narrow-rows 50000 -wide-rows 20000 -rounds 2
//	go run ./e2e/bench -json results.jsonl -compare results.jsonl
//
// It starts two MariaDB servers with the shards, Temporal, and a worker for each table, and runs floor and product in
// turns, so that both meet the same machine. It says how fast, at what cost of CPU and memory, and what it was before.
//
// It is not a gate: it fails when a run is wrong (an error, or a row too few or too many), never when one is slow. It
// does not look at values; tests do. Nor does it measure other tools.
//
// Invariants:
//   - Product and floor read the same tables of the same servers, with all pages in memory, in the same round.
//   - Times are wall clock of the whole command; CPU and memory come from the kernel (proc(5), wait4(2)), not from the
//     programs themselves.
//   - All processes are its own children: they are ended by their numbers, and the kernel ends them with it.
//   - The data is computed by the server from row numbers, so it is the same on every machine; it is kept in the cache.
package main
