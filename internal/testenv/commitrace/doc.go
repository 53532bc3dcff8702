// Package commitrace lets committers race for the snapshots of one table, on any store.
//
// It is not part of the product: the tests of stores import it. It asserts what Paimon's RenamingSnapshotCommit promises: one
// winner for each snapshot id, ids without a gap, and no commit lost or there twice.
package commitrace
