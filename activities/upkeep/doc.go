// Package upkeep has the activities that keep the tables of a job in order: compaction, expiry of snapshots, removal of orphan files.
// They belong to no run, leave nothing outside of the table, and are safe beside runs and other writers: what another commit has
// changed first is left as it is until the next time.
package upkeep
