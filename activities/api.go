package activities

import (
	"encoding/json"
	"time"

	"github.com/tributary-lake/tributary/activities/dryrun"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// Names of the activities as Temporal knows them. They are part of every history: never changed, only added to.
const (
	PrepareName = "Prepare"
	ExplainName = "Explain"
	PlanName    = "Plan"
	WriteName   = "Write"
	VerifyName  = "Verify"
	CommitName  = "Commit"
	CleanName   = "Clean"
	AbortName   = "Abort"

	PlanMergesName = "PlanMerges"
	MergeName      = "Merge"
)

// PrepareInput asks to check a job and to keep it with the run.
type PrepareInput struct {
	// Job is the job file as JSON, secrets as references.
	Job json.RawMessage `json:"job"`
	Run string          `json:"run"`
	// Owner is the execution that starts the run: its first run id, the same after a retry or a reset.
	Owner string `json:"owner,omitempty"`
	// Resume continues a run that exists already, with the job that it keeps.
	Resume bool `json:"resume,omitempty"`
}

// Prepared lists the tables that the run syncs.
type Prepared struct {
	Job    string          `json:"job"`
	Tables []PreparedTable `json:"tables"`
	// Gone are tables of a resumed run that were settled or given up before, and whose ledgers are removed.
	Gone []PreparedTable `json:"gone,omitempty"`
	// Settings are those of the job's run section that workflows need.
	Settings Settings `json:"settings"`
}

// Settings of a run that decide how its workflows act.
type Settings struct {
	// Parallelism is how many connections of one table read at once: so many units are in flight, or fewer that read with several.
	Parallelism int `json:"parallelism"`
}

// PreparedTable is one logical table of a run.
type PreparedTable struct {
	TableRun
	// Target is warehouse, database and table in one string, for people.
	Target string `json:"target"`
	// WorkflowID of its SyncTable, derived from the target alone.
	WorkflowID string `json:"workflow_id"`
}

// TableRun names one table's part of a run and where its ledger lies. Every activity of SyncTable takes it.
type TableRun struct {
	ledger.Key
	// Staging is the URI of the staging root; Store tells how it is reached: see Job.
	Staging string `json:"staging"`
	Store   string `json:"store,omitempty"`
}

// ExplainInput asks for the plan of one table without anything being written.
type ExplainInput struct {
	Job   json.RawMessage `json:"job"`
	Table string          `json:"table"`
	// Sample bounds a dry run on some rows; the zero value makes none.
	Sample dryrun.Input `json:"sample,omitzero"`
}

// PlanInput asks to settle older runs of the table and to plan this one, or to take up the plan that it has.
type PlanInput struct {
	TableRun
}

// Range of unit ids, the upper end not included.
type Range struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Planned is the size of the plan and what is still to be written of it.
type Planned struct {
	Shards int   `json:"shards"`
	Splits int   `json:"splits"`
	Units  int   `json:"units"`
	Rows   int64 `json:"rows"`
	Bytes  int64 `json:"bytes"`
	// Pending are the units without a claim. All of them in a new run.
	Pending []Range `json:"pending"`
	// Keyed tells that units leave sorted rows: then PlanMerges and Merge follow before anything can be committed.
	Keyed bool `json:"keyed,omitempty"`
	// Readers is by how many connections units are read, where it is more than one.
	Readers map[int]int `json:"readers,omitempty"`
	// Done tells that the run ended before: there is nothing left to write, verify or commit.
	Done *ledger.Result `json:"done,omitempty"`
}

// WriteInput asks for one unit to be read, written and claimed.
type WriteInput struct {
	TableRun
	Unit int `json:"unit"`
}

// Written is the reference that stands for a unit's files, and its counts.
type Written struct {
	Unit    int              `json:"unit"`
	Message ledger.Reference `json:"message"`
	Counts  ledger.Counts    `json:"counts"`
}

// PlanMergesInput asks into how many merges the rows of all units go, once these are claimed.
type PlanMergesInput struct {
	TableRun
	// Round asks for all merges to be made again, as the n-th time from 1, since others had added to their buckets.
	Round int `json:"round,omitempty"`
}

// PlannedMerges are the merges of a key table's rows and what is still to be done of them.
type PlannedMerges struct {
	Merges int   `json:"merges"`
	Rows   int64 `json:"rows"`
	// Round is how many times they were made before.
	Round int `json:"round,omitempty"`
	// Pending are the merges without a claim, from 0.
	Pending []Range `json:"pending"`
}

// MergeInput asks for the rows of one merge to be made data files of, and claimed. Its result is a Written, whose unit is the
// merge's id in the ledger.
type MergeInput struct {
	TableRun
	Merge int `json:"merge"`
	Round int `json:"round,omitempty"`
}

// VerifyInput asks whether all that was planned was written once.
type VerifyInput struct {
	TableRun
}

// CommitInput asks for the one commit of the table.
type CommitInput struct {
	TableRun
}

// TableResult is how one table ended.
type TableResult struct {
	Table  string `json:"table"`
	Target string `json:"target"`
	// Status is committed, unchanged (nothing to commit), aborted, failed or unknown.
	Status   string `json:"status"`
	Snapshot int64  `json:"snapshot"`
	Kind     string `json:"kind,omitempty"`
	Read     int64  `json:"rows_read"`
	Written  int64  `json:"rows_written"`
	Rejected int64  `json:"rows_rejected"`
	// Collapsed counts rows of a key table that had the key of another row, which was kept (on_key_collision: last_wins).
	Collapsed int64 `json:"rows_collapsed,omitempty"`
	// Upserted tells that rows were added to a key table, so that a compaction may be due.
	Upserted bool `json:"upserted,omitempty"`
	// Replaced counts values that a policy changed, one entry for each column and policy.
	Replaced []source.Replaced `json:"replaced,omitempty"`
	Bytes    int64             `json:"bytes_written"`
	Files    int64             `json:"files"`
	Splits   int               `json:"splits"`
	Seconds  float64           `json:"duration_seconds"`
	// Consistency that the rows were read with.
	Consistency string `json:"consistency,omitempty"`
	// Cut is what the rows of each instance reflect, where Consistency is shard or instance.
	Cut []source.Cut `json:"cut,omitempty"`
	// Notes are what a person should know of the run, a sentence each.
	Notes []string `json:"notes,omitempty"`
	// Error says what went wrong and what to do; ErrorType is its class (see Type… in errors.go).
	Error     string `json:"error,omitempty"`
	ErrorType string `json:"error_type,omitempty"`
}

// CleanInput asks to remove what a settled run left in the table's folder.
type CleanInput struct {
	TableRun
}

// AbortInput asks to give a run up.
type AbortInput struct {
	TableRun
	// Fence gives up even a commit that was decided, by a snapshot that makes it impossible (`starter abort`).
	Fence bool `json:"fence,omitempty"`
}

// Aborted says what became of the run.
type Aborted struct {
	// State is one of the State constants.
	State string `json:"state"`
	// Snapshot of the run, when it is committed after all.
	Snapshot int64 `json:"snapshot,omitempty"`
	// Deleted counts data files removed.
	Deleted int `json:"deleted"`
	// Message says it in a sentence, with the command that settles what is open.
	Message string `json:"message"`
}

// States that Abort finds or makes.
const (
	StateUnchanged    = "unchanged"
	StateAborted      = "aborted"
	StateCommitted    = "committed"
	StateNotCommitted = "not committed"
	StateUnknown      = "outcome unknown"
	StateRefused      = "refused"
)

// Progress is an activity's heartbeat: what the attempt has read and written so far. It is for people; no later
// attempt continues from it.
type Progress struct {
	RowsRead int64     `json:"rows_read"`
	Bytes    int64     `json:"bytes"`
	At       time.Time `json:"at"`
}
