// Package watermark keeps how far incremental runs of a job have come: per shard, the value of a column that all rows in the
// target are at or below.
//
// It lies in a property of the snapshot that such a run commits, so that rows and watermark become visible together. The tag
// tributary-<job> keeps the newest such snapshot when it expires. A run starts from it and names it in its commit, which
// is refused when another run of the job came in between.
//
// Invariants: a watermark never goes back; that of a shard which is gone stays; a run with nothing new changes nothing; the tag moves before the run
// is recorded as committed, and so before the snapshot may expire.
//
// What is new is the source's to say, which alone compares values: see [source.Window].
package watermark
