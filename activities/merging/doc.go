// Package merging makes data files of the sorted rows that the units of a key table left: it divides them into merges, once all
// units are claimed, and makes one merge. It knows the ledger and no activity.
//
// Invariant: every row that was read is in a merge, and each that was merged is in a file or accounted for.
package merging
