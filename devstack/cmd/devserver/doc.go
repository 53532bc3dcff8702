// Command devserver is Temporal with its web UI, and on demand the demo MySQL shards, in one process on loopback
// addresses. When everything answers it prints one line of JSON on stdout, and then it runs until it is interrupted.
//
// It is for demonstrations, development and tests; packages temporaldev and demoshards say what they are not.
package main
