// Package workflows holds the Temporal workflows of a run: Sync for a job, SyncTable for one logical table, and Explain
// for a plan that writes nothing.
//
// They are deterministic: they read no clock, store or configuration, and know activities by name and input alone.
// Histories carry references and counts; what is large lies in the run's ledger.
//
// Invariants: at most Parallelism units of a run are in flight; a history stays far below the server's limits by
// draining and continuing as new; SyncTable's workflow id is the target table's, so two runs on one table cannot overlap.
package workflows
