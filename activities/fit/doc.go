// Package fit brings what the shards of a logical table have and what a job says of the target together with the target: the
// schema that a run writes with, how each shard is read into it, and what in the target has to change for that.
//
// It reads and changes nothing itself; errors say in a sentence why there is no such schema. Whether the library can write to
// the table is schema.CheckWritable's matter, but for what a run does to tables with a primary key.
//
// Invariants: what fits gives the same again after the changes were made; no value is narrowed, and no column whose values may
// be NULL becomes a part of a key.
package fit
