// Package shuffle plans how the sorted rows that many lake.Shuffler left become the files of a key table: it divides them into
// merges that can be made at the same time, and tells of rows that have the key of another.
//
// Of a bucket, or of a range of its keys, one merge alone has the rows, as one writer alone may be at work on it. It reads no
// row and writes no file; where shufflers and merges keep what they leave is the caller's matter.
//
// Invariants: every sorted row is in one merge, rows of one key in the same; what is divided is decided by what shufflers left
// and by nothing else, in whatever order they are read; what is held in memory is bounded but for some bytes a bucket.
package shuffle
