// Package fileio is the storage below a lake table: a small interface over a tree of immutable files, and the store on
// the local file system.
//
// A [Store] is bound to one root, a warehouse or staging URI, and speaks in slash-separated paths relative to it; no
// path can leave the root. Files are written once. The one operation that decides who wins a race is
// [Store.CreateExclusive]; a store says by [Store.Exclusive] whether its answer can be trusted.
//
// A file being written lies beside its target as `.<name>.<uuid>.tmp`, the name that Paimon uses too. A crash may leave
// such files behind: listings show them, [IsTemporary] knows them, and whoever cleans removes them.
//
// It is not a cache, knows nothing of tables, and never removes a folder. Symbolic links are followed as the operating
// system does, so an administrator may spread a warehouse over disks; listings do not descend through them.
//
// It must agree with org.apache.paimon.fs.FileIO, Path.createTempPath and RenamingSnapshotCommit where files are made
// visible.
package fileio
