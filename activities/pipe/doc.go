// Package pipe moves the rows of a split from a reader to a writer that works beside it. Batches circulate: the reader fills one
// while the writer encodes another, and waits when none is free.
//
// Invariants: both keep to their share of the worker's memory, also while no batch comes; a row that is larger than a share is
// for takes memory of its own before it is read, and gives it back when nothing of it is held any more.
package pipe
