// Package sink holds the words for tables in servers that take rows by transactions under labels: what an attempt leaves
// there, in which state it is, and what may be done about an error. It is pure and knows no server; sink/starrocks is the
// first that speaks to one. Tables of files are package lake's.
//
// A [Part] is written into claims as JSON, so fields are only ever added.
package sink
