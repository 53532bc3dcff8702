// Package pipe lets the reading of a split and the writing of its rows overlap, in bounded memory.
//
// Invariants: no more than [Batches] batches are on the way; a batch is with the reader or with the writer, never with both.
package pipe
