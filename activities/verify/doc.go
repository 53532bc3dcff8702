// Package verify compares what was read of splits with what the source's own server says of them and with what was written,
// before a unit is claimed. It is not for counts of claims and messages against the plan, which are checked before each commit.
//
// Invariant: what does not agree is a [merging.ErrMismatch] that names the shard, the split and both values; nothing of the unit
// is claimed then, so nothing of the run is committed.
package verify
