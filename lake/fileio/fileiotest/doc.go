// Package fileiotest is the suite that every fileio.Store must pass: what is visible when, who wins a race, and what no
// path may do.
//
// A store's own tests call [Run] with a way to make an empty store. [Memory] is a store for tests that need none on disk.
// It is for tests only.
package fileiotest
