// Package keydiff compares rows of a key table that are wanted with those that are there, both in the order of their keys: what
// has to be added so that the wanted rows are all that there is.
//
// Rows that are the same in all columns are left out, of the others the wanted row is given, and for keys that are not wanted the
// row that takes them away (org.apache.paimon.types.RowKind.DELETE). It knows neither files nor buckets.
//
// Invariant: both sides have each key once and in order, else mergetree.ErrOrder; memory is a batch of each side and one more.
package keydiff
