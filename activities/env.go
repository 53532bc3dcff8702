package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/tributary-lake/tributary/activities/deletes"
	"github.com/tributary-lake/tributary/activities/watermark"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/tally"
)

// Env opens what a job names. internal/app implements it; a test gives its own.
type Env interface {
	// Job checks a job file in JSON. Errors wrap ErrConfig and list every problem.
	Job(ctx context.Context, job json.RawMessage) (*Job, error)
	// Staging opens a staging root, reached as Job.Store says.
	Staging(ctx context.Context, uri, store string) (fileio.Store, error)
	// Open opens the source and the target of one table of a job.
	Open(ctx context.Context, job json.RawMessage, table string) (*Session, error)
}

// Job is what activities need to know of a job file.
type Job struct {
	Name string
	// Staging is the URI of the staging root.
	Staging string
	// Store tells how the staging root is reached where its URI does not, secrets as references. Only Env knows its form.
	Store    string
	Settings Settings
	Tables   []TableSpec
}

// TableSpec is what activities need to know of a logical table.
type TableSpec struct {
	// Job is the job's name.
	Job  string
	Name string
	// Warehouse is the URI of the warehouse root.
	Warehouse string
	Target    catalog.Identifier
	// PartitionKeys and Options of a table that is created.
	PartitionKeys []string
	Options       map[string]string
	// PrimaryKey of the target; none is an append table.
	PrimaryKey []string
	// LastWins keeps the last of rows with one key (on_key_collision: last_wins); else they end the run.
	LastWins bool
	// Watermark is the column by which new rows are found (mode incremental); empty where all are read.
	Watermark string
	// Overwrite replaces the table's rows (mode full-refresh); otherwise they are added (mode append).
	Overwrite bool
	// Deletes says which rows are gone. Where they are found by comparison, nothing is overwritten.
	Deletes deletes.Spec
	// ReplaceForeign lets the commit remove what another writer added since the plan (on_conflict: replace).
	ReplaceForeign bool
	// Drift tells what becomes of shards that differ, and of a target that differs from them: see fit.
	Drift source.DriftPolicy
	// EmptyTarget lets an empty source empty a target that has rows (empty_source: empty).
	EmptyTarget bool
	// Checksums lets every unit's files be read again and compared with what was read (verify: checksums).
	Checksums bool
	// SourceSums lets the source's servers count and sum every split (verify: source).
	SourceSums bool
	// Retention is how long a settled run's ledger is kept.
	Retention time.Duration
	// PackRows is up to how many estimated rows small splits are packed into one unit; 0 packs none.
	PackRows int64
	// Where is a condition on every shard, or empty.
	Where string
	// Memory is how many bytes of each worker the job may use (run.memory).
	Memory int64
	// RowGroupBytes bounds the rows that one open data file holds in memory.
	RowGroupBytes int
	// SortBytes bounds the rows of a key table that one activity holds to sort or merge them; MergeBytes is up to how many
	// bytes of sorted rows one merge takes, so that a bucket with more is cut. 0 takes a default.
	SortBytes  int
	MergeBytes int64
	// Parallelism is how many activities of the table are at work at once, or connections that read where one has several.
	Parallelism int
	// SerializerVersion is the version of Paimon's serializer that message files are written in; 0 is the library's default.
	SerializerVersion int
	// Limits are what a plan tells people by: they hold elsewhere.
	Limits Limits
}

// Limits of a run.
type Limits struct {
	// Parallelism is the most units in flight, Memory the bytes that one worker may use for the job.
	Parallelism int
	Memory      int64
	// RowsPerSecond and BytesPerSecond hold for each instance; 0 is no limit.
	RowsPerSecond, BytesPerSecond int64
}

// Session is an open source and target of one table.
type Session struct {
	Spec   TableSpec
	Source Source
	// Moments is nil when the source's consistency is split.
	Moments Moments
	// Windows is nil when all rows are read.
	Windows watermark.Source
	// Sums are for comparisons of what was committed with what the source has.
	Sums      Sums
	Warehouse fileio.Store
	Catalog   catalog.Catalog
	// Close gives the session back.
	Close func()
}

// Source reads one logical table.
type Source interface {
	// Discover finds the shards of the table with their columns mapped. Nothing found is ErrPlanRefused.
	Discover(ctx context.Context) ([]source.Table, error)
	// Merge makes one schema of the shards: the target's fields and, per shard that is not left out in order, how it is read.
	Merge(tables []source.Table) (*Merged, error)
	// Split cuts a shard.
	Split(ctx context.Context, t source.Table) ([]source.Split, error)
	// Read reads the rows of a split, provenance columns filled from the shard's name. It hands each full batch to emit, which gives an empty one of the same columns for
	// it, and tells what it did.
	Read(ctx context.Context, r source.Read, emit func(full *row.Batch) (empty *row.Batch, err error)) (source.ReadStats, error)
	// Consistency states what is read at one moment: split, shard or instance.
	Consistency() string
}

// Sums says what the source has now.
type Sums interface {
	// Sum is the servers' own of the rows of a read, without those that are marked.
	Sum(ctx context.Context, r source.Read, mark *source.Mark) (tally.Sum, error)
	// Since tells which shards of an instance were changed after a cut.
	Since(ctx context.Context, instance string, cut source.Position, shards []source.Shard) (source.Logged, error)
}

// Moments opens connections of the source that see one moment of an instance.
type Moments interface {
	// PlanMoments says, for each instance that the shards lie on, how so many connections would be opened. What the source
	// does not allow is ErrPlanRefused.
	PlanMoments(ctx context.Context, shards []source.Shard, readers map[string]int) ([]source.MomentPlan, error)
	// OpenMoment opens up to so many connections, one at least. The caller closes the moment.
	OpenMoment(ctx context.Context, instance string, shards []source.Shard, readers int) (Moment, error)
}

// Moment is a set of connections that see the same rows, whatever is written meanwhile. An error of one ends it.
type Moment interface {
	// Opened tells how it was opened, and the position that it has.
	Opened() source.Moment
	// Readers is how many connections there are.
	Readers() int
	// Read reads a split as [Source] does, with one of the readers, which nobody else uses meanwhile.
	Read(ctx context.Context, reader int, r source.Read, emit func(full *row.Batch) (empty *row.Batch, err error)) (source.ReadStats, error)
	// Close gives the connections back.
	Close() error
}

// targetID names a target table in a workflow id and in the staging folder, whatever its length and characters.
func targetID(warehouse string, id catalog.Identifier) string {
	sum := sha256.Sum256([]byte(warehouse + "\x00" + id.Database + "\x00" + id.Table))
	return hex.EncodeToString(sum[:8])
}

// WorkflowID is the id of the SyncTable workflow of a target table.
func WorkflowID(warehouse string, id catalog.Identifier) string {
	name := id.Database + "." + id.Table
	if len(name) > 100 {
		name = name[:100]
	}
	return "tributary-table-" + name + "-" + targetID(warehouse, id)
}
