// Package compact makes few large files of a table's many small ones, and leaves its rows as they are.
//
// Of append tables, neighbouring small files of a partition and bucket are written anew in their order, in the latest schema.
// Of key tables every bucket is compacted fully: what has keys in common is merged by the table's engine and written to the top
// level, where readers need not merge; deleted rows vanish and sequence numbers stay. A file that has no key in common with
// others is lifted to that level without being written, or left where it is.
//
// A [Compactor] plans [Task]s from one snapshot; each is done by itself, anywhere and in any order, and gives a commit message.
// One commit of kind COMPACT brings them into the table; it fails with commit.ErrConflict when a file that was replaced is gone
// meanwhile, and then nothing has changed. [Run] does all of it. Rows stream: memory does not grow with the size of files.
//
// Tables that this library does not write are refused, and so are those whose compactions must record changes
// (changelog-producer lookup and full-compaction) or keep deletion vectors. Old files stay until their snapshots expire, see
// lake/expire.
//
// It must agree with org.apache.paimon.append.AppendCompactCoordinator and BucketedAppendCompactManager, and with
// org.apache.paimon.mergetree.compact.MergeTreeCompactTask.
package compact
