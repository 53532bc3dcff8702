// Package units divides what is to be read into units: what one activity reads, writes and claims.
//
// It is pure. Splits keep the order of the plan within a unit, and their numbers in it.
//
// Invariants: every split is in one unit; what is to be read at one moment is in one unit, whose splits are of one instance;
// all units together are read by no more connections than the parallelism, when each has as many as it is given or one.
package units
