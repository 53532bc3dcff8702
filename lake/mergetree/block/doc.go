// Package block writes the rows of a batch as bytes, column by column, and reads them back: what sorted runs are made of. The
// form is this module's own and is read by the process or run that wrote it.
//
// Invariants: a block whose columns are not those of its rows is an error; nothing is allocated for a row.
package block
