// Command commits measures how long commits take, and how much memory, when one snapshot has many files and when a table
// has many files and commits.
//
//	go run ./e2e/bench/commits            # part of `make bench`
//	go run ./e2e/bench/commits -files 10000 -commits 100
//
// Data files are small stand-ins whose descriptions are real: a commit never looks into them. Each measurement is a process
// of its own, which reads message files as a worker does, so that its peak memory is the commit's; memory is what
// proc(5) says of it, and time is from the reading of the message file to the published snapshot.
package main
