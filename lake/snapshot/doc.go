// Package snapshot reads and writes the small numbered files that are a table's history: snapshots, schema versions,
// hints, tags and consumers.
//
// A [Snapshot] names the manifest lists that are the table at one moment. Snapshots are numbered without a hole from 1
// and are written once, by [Manager.Publish], which lets exactly one of several writers have a number. The newest is
// found by listing; the LATEST hint only serves other readers, is written after its snapshot and never lowered.
//
// It does not read manifests and decides nothing about commits.
//
// It must agree with org.apache.paimon.Snapshot, SnapshotManager, HintFileUtils, SchemaManager, TagManager and
// ConsumerManager.
package snapshot
