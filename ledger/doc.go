// Package ledger is a run's durable memory for one table: the plan, the attempts and their file prefixes, the claims that
// say which attempt of a unit won, and the decision to commit or to abort.
//
// It lives under <staging>/<job>/<run>/<table>/ and is all that a worker, a retry or a later run needs to know; nothing
// is kept in a process between two activities. What must be decided once is written with CreateExclusive, and whoever
// loses reads and obeys the winner:
//
//	job.json                 (one folder up) the job, secrets as references
//	plan.json                the frozen schema, shapes, and what the job says of the end
//	units/<n>-<chunks>       units of work; the plan says which chunks are its own
//	attempts/<unit>-<id>     an attempt and the prefix of every data file that it may make, written before the first one
//	messages/<unit>-<id>     commit messages of a finished attempt
//	splits/<unit>            the claim: the one attempt whose files count
//	merges.json              of a key table: into how many merges its rows are divided, once all units are claimed
//	merges/<n>-<chunks>      what each merge reads; merges have ids, attempts and claims as units have, behind those of the units
//	runs/<unit>-<id>-<n>     sorted rows of a unit, which merges read, and of merges that need several passes
//	decision-<identifier>    COMMIT or ABORT
//	result                   how it ended
//
// Beside the runs lie the marks, _open/<target>/<job>/<run>/<table>, by which a later run finds what earlier ones left.
// They are the first thing that is written of a ledger and the last that is removed.
//
// It is not a transaction log of the table: Paimon's snapshots are. It knows neither MySQL nor Temporal.
package ledger
