// Package sink is where the rows of a unit go: into data files, or, for a table with a primary key, sorted into files that merges
// will read. It makes the file that the unit's claim refers to.
//
// Invariant: the files of the sinks of one attempt have names that no other has, and begin with what was registered for it.
package sink
