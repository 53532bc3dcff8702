// Package commit makes the files of commit messages part of a table: one snapshot, whole, once.
//
// A [Committer] holds nothing between calls. [Committer.Check] does everything that can refuse a commit, before the
// caller decides for it; [Committer.Publish] makes it visible and may be called any number of times for one request:
// whoever finds the request's own snapshot (user, identifier and kind) has nothing left to do. [Committer.Fence] takes
// the place of a commit that must never happen any more.
//
// What holds whatever fails:
//
//   - the number of a snapshot is taken by exactly one committer, by creation only if absent;
//
//   - the answer to that creation is never believed by itself: the snapshots after the request's base are read, and
//     what stands there decides. While they cannot tell, the outcome is ErrOutcomeUnknown and nothing is deleted;
//
//   - nor is a snapshot believed in while it can still be replaced: on a local disk Paimon's own committers move their file
//     to its name, over what was made since they last looked. A commit that was replaced is made again, or only recorded
//     by an empty snapshot where others had built on it;
//
//   - files are removed only when no snapshot can name them: the number that they were written for has gone to another;
//
//   - a snapshot never names a data file that was not there with its size when the commit began.
//
//   - files that are taken away are live at that moment, in a bucket of a key table no two files above level 0 have keys in
//     common, and a partition has one number of buckets.
//
// Tables are committed by APPEND, by OVERWRITE of the table or of partitions, and by COMPACT. It is no writer of data files,
// keeps no locks, knows no deletion vectors and no dynamic buckets, and does not expire snapshots.
//
// It must agree with org.apache.paimon.operation.FileStoreCommitImpl, ConflictDetection, ManifestFileMerger and
// RenamingSnapshotCommit.
package commit
