// Package spill keeps rows in files while there is no memory for them: pieces of a file are read back in any order, and a file
// goes with the last of them.
//
// Invariants: a file is read by the writer that made it and by nobody else; after an error of Create, Add or Close and a Drop
// there is no such file.
package spill
