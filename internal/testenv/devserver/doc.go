// Package devserver builds the dev stack's Temporal server and runs it as a process that a test may kill and start again
// on what it kept.
//
// It is not the server itself, which is a module of its own (devstack). One process builds at a time, so that packages
// tested beside each other may ask at once. Only processes started here are signalled, and none outlives its test binary.
package devserver
