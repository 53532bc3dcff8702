// Package deletes says which rows of a source stand for rows that are to go from a key table, and for which tables that can be
// done: a column that marks deleted rows, and the comparison of all keys of the source with those of the table.
//
// It reads neither. Which rows are taken away is decided where they are sorted (package sink) and merged (package merging).
package deletes
