// Package orphan finds the files in a table's folders that nothing names, and removes them: what writers left that died
// before their commit, and what an expiry could not take along.
//
// Nothing tells an orphan from a file whose commit is still to come but its age, and whoever knows of files that wait longer,
// as ledgers of unfinished runs do, says so by Options.Keep. A file is kept when any snapshot, tag or changelog of any
// branch mentions its name, deleted or not. What cannot be read of these ends the call before anything is removed.
//
// Only folders are looked into whose every file is Paimon's: manifest, index, statistics, bucket-* at the depth of the
// partition keys, and what is no snapshot in the folders of snapshots and changelogs. A table whose options put files
// elsewhere may have orphans there that are not found.
//
// It must agree with org.apache.paimon.operation.OrphanFilesClean and LocalOrphanFilesClean.
package orphan
