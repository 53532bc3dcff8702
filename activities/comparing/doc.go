// Package comparing has the activity that compares what the source has now with what a table's newest snapshot shows, shard by
// shard where the rows name theirs. It writes nothing, and knows no run: what was checked before a commit is package verify's.
//
// The servers count and sum their rows (package source/tally), the table's are read and summed the same way. What differs is a fault
// only if the shard's binary log shows no change of it since the cut that the job's snapshot has; where that cannot be known it is
// said why, and neither a fault nor equality is claimed.
//
// Invariant: a position is asked for after the sums were made, so that a change that a sum may have seen lies before it.
package comparing
