// Package expire takes old snapshots and tags out of a table and removes from the store what only they showed.
//
// What stays decides, and it is read in full before anything is removed: every snapshot that is to stay, every tag and
// every branch. A file that any of them shows is kept, whatever the expired snapshots say of it: under another level, after
// it was added again, or behind a hole in the chain. A metadata file of what stays that cannot be read ends the call, and
// nothing is gone.
//
// Removal goes by stages, and each ends before the next begins: data and changelog files, then manifests and index files,
// then the lists that name them, then the snapshots, the oldest first, then the hint EARLIEST. What was to go is therefore
// found again from the snapshot after a crash at any point, and the next call finishes. What stays can be read at every
// point; a snapshot that was being expired cannot. Two calls at once are safe, and so are commits meanwhile: they build on
// the latest snapshot, which always stays. A tag of a snapshot that has begun to expire comes too late.
//
// Snapshots never become changelogs here: tables whose options want that are refused. Files that no snapshot ever named
// are the concern of lake/orphan.
//
// It must agree with org.apache.paimon.table.ExpireSnapshotsImpl and org.apache.paimon.operation.SnapshotDeletion,
// TagDeletion and TagTimeExpire.
package expire
