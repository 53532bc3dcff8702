// Package key knows what a shard can be cut by, and writes bounds of it as SQL that MySQL compares exactly and by the
// index: which columns of which index, how their values are printed, and how a [source.KeyRange] becomes a condition.
//
// Invariants:
//   - A literal has its column's own type, character set and collation, so that the column is never converted.
//   - A condition holds literals of known shape and quoted names, and nothing else: a plan is no way to inject SQL.
//
// It does not decide where to cut, which package mysql does, and compares no values.
//
// It must agree with the MySQL manual's "Literal Values", "Range Optimization" and "SHOW INDEX Statement".
package key
