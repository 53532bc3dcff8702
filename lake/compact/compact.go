package compact

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// ErrRefused is returned for tables whose compaction must do what is not done here. Nothing was changed; compact with
// Paimon's own engines.
var ErrRefused = errors.New("this library does not compact the table")

// patience is how long files are still removed after the caller's context has ended.
const patience = 10 * time.Second

// Options say what is compacted, and how files are named.
type Options struct {
	// Full writes small files of append tables anew even where there are only two of them. Otherwise it takes
	// compaction.min.file-num (5) neighbours, or two that fill two files. Key tables are always compacted fully.
	Full bool
	// Due leaves buckets of key tables alone that have fewer sorted runs than num-sorted-run.compaction-trigger (5): as Paimon
	// counts them, the files of level 0 and the levels above that have files.
	Due bool
	// Wanted chooses partitions and buckets; nil means all. The values are those of the partition keys.
	Wanted func(partition []row.Value, bucket int32) bool
	// Prefix begins the name of every new file and must be this compaction's alone. Empty takes a random one.
	Prefix string
	// Guard is asked before each new file whether the compaction may go on; its error ends it. It may be nil.
	Guard func(ctx context.Context) error
	// RowGroupBytes bounds the memory of the file being written; 0 takes the library's default.
	RowGroupBytes int
}

// Compactor compacts one table. It is not for use by several goroutines.
type Compactor struct {
	store   fileio.Store
	path    string
	schema  *schema.Table
	table   *lake.Table
	options schema.Options
	o       Options
	files   int // made so far
	// small is the size below which a file is worth compacting.
	small   int64
	minimum int
	trigger int        // of key tables, 0 for none
	reader  *lake.Plan // reads files of append tables; nil before the first
}

// Task is one group of files that are compacted together.
type Task struct {
	// Partition has the values of the partition keys, in their order.
	Partition    []row.Value
	Bucket       int32
	TotalBuckets int32
	// Files in the order in which their rows are read.
	Files []lake.File
	// Lift tells that the files only go to the top level and are not written anew.
	Lift bool
}

// Plan is what is to be compacted.
type Plan struct {
	// Snapshot that was looked at, 0 when the table has none.
	Snapshot snapshot.ID
	Tasks    []Task
}

// New prepares to compact the table in a folder of a store, in its latest schema. ErrRefused and schema.ErrNotWritable say
// that it must not be.
func New(ctx context.Context, store fileio.Store, path string, o Options) (*Compactor, error) {
	c, err := newCompactor(ctx, store, path, o)
	if err != nil {
		return nil, fmt.Errorf("compact %s: %w", store.URI(path), err)
	}
	return c, nil
}

func newCompactor(ctx context.Context, store fileio.Store, path string, o Options) (*Compactor, error) {
	s, err := snapshot.Schemas{Store: store, Table: path}.Latest(ctx)
	if err != nil {
		return nil, err
	}
	if err := schema.CheckWritable(s); err != nil {
		return nil, err
	}
	if len(s.PrimaryKeys) > 0 {
		switch producer := strings.ToLower(s.Options["changelog-producer"]); producer {
		case "", "none", "input":
		default:
			return nil, fmt.Errorf("%w: changelog-producer = %s, so that compactions must record what changed", ErrRefused, producer)
		}
	}
	c := &Compactor{store: store, path: path, schema: s, table: lake.NewTable(store, path, s), o: o}
	if c.options, err = s.ParseOptions(); err != nil {
		return nil, err
	}
	ratio, err := number(s, "compaction.small-file-ratio", 0.7)
	if err != nil {
		return nil, err
	}
	minimum, err := number(s, "compaction.min.file-num", 5)
	if err != nil {
		return nil, err
	}
	if o.Due {
		trigger, err := number(s, "num-sorted-run.compaction-trigger", 5)
		if err != nil {
			return nil, err
		}
		c.trigger = int(trigger)
	}
	c.small = int64(float64(c.options.TargetFileSize) * ratio)
	c.minimum = max(2, int(minimum))
	if o.Full {
		c.minimum = 2
	}
	if c.o.Prefix == "" {
		c.o.Prefix = c.options.DataFilePrefix + uuid.NewString() + "-"
	}
	return c, nil
}

func number(s *schema.Table, key string, other float64) (float64, error) {
	text, ok := s.Options[key]
	if !ok {
		return other, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(v >= 0 && v < 1<<31) {
		return 0, fmt.Errorf("option %s = %.40q: want a number", key, text)
	}
	return v, nil
}

// Plan chooses from the latest snapshot what is worth compacting.
func (c *Compactor) Plan(ctx context.Context) (*Plan, error) {
	p, err := c.plan(ctx)
	if err != nil {
		return nil, fmt.Errorf("plan to compact %s: %w", c.store.URI(c.path), err)
	}
	return p, nil
}

func (c *Compactor) plan(ctx context.Context) (*Plan, error) {
	latest, err := snapshot.NewManager(c.store, c.path).Latest(ctx)
	if err != nil || latest == nil {
		return &Plan{}, err
	}
	if err := c.checkIndex(ctx, latest); err != nil {
		return nil, err
	}
	files, err := c.table.Files(ctx, latest.ID)
	if err != nil {
		return nil, err
	}
	p := &Plan{Snapshot: latest.ID}
	buckets, err := c.byBucket(files)
	if err != nil {
		return nil, err
	}
	for _, b := range buckets {
		var tasks []Task
		if len(c.schema.PrimaryKeys) > 0 {
			tasks, err = c.planKeyed(ctx, b)
		} else {
			tasks = c.planAppended(b)
		}
		if err != nil {
			return nil, err
		}
		p.Tasks = append(p.Tasks, tasks...)
	}
	return p, nil
}

// checkIndex refuses snapshots with deletion vectors, which would have to go with their files.
func (c *Compactor) checkIndex(ctx context.Context, s *snapshot.Snapshot) error {
	if s.IndexManifest == "" {
		return nil
	}
	entries, err := manifest.In(c.store, c.path).ReadIndex(ctx, s.IndexManifest)
	if err != nil {
		return err
	}
	for i := range entries {
		if entries[i].File.Type == "DELETION_VECTORS" {
			return fmt.Errorf("%w: snapshot %d has deletion vectors", ErrRefused, s.ID)
		}
	}
	return nil
}

// byBucket groups the wanted files by partition and bucket, in the order in which they appear.
func (c *Compactor) byBucket(files []lake.File) ([][]lake.File, error) {
	types, err := c.schema.PartitionTypes()
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var groups [][]lake.File
	for _, f := range files {
		if c.o.Wanted != nil && !c.o.Wanted(f.Partition, f.Bucket) {
			continue
		}
		if f.Path == "" {
			return nil, fmt.Errorf("%w: data file %s lies outside the table", ErrRefused, f.DataFile.Name)
		}
		key := string(row.Serialize(types, f.Partition)) + strconv.Itoa(int(f.Bucket))
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups, nil
}

func (c *Compactor) task(files []lake.File, lift bool) Task {
	f := &files[0]
	return Task{Partition: f.Partition, Bucket: f.Bucket, TotalBuckets: f.TotalBuckets, Files: files, Lift: lift}
}

// Do does a task and returns its commit message. After an error its new files are gone, as far as they could be removed.
func (c *Compactor) Do(ctx context.Context, t *Task) (*message.Commit, error) {
	types, err := c.schema.PartitionTypes()
	if err != nil {
		return nil, err
	}
	buckets := t.TotalBuckets
	m := &message.Commit{Partition: row.Serialize(types, t.Partition), Bucket: t.Bucket, TotalBuckets: &buckets}
	for i := range t.Files {
		m.Compact.Before = append(m.Compact.Before, t.Files[i].DataFile)
	}
	switch {
	case t.Lift:
		m.Compact.After = c.lift(t)
	case len(c.schema.PrimaryKeys) > 0:
		m.Compact.After, err = c.merge(ctx, t)
	default:
		m.Compact.After, err = c.rewrite(ctx, t)
	}
	if err != nil {
		return nil, fmt.Errorf("compact %d files of %s: %w", len(t.Files), c.store.URI(path.Dir(t.Files[0].Path)), err)
	}
	return m, nil
}

// name makes the name of the next file.
func (c *Compactor) name(int) string {
	c.files++
	return fmt.Sprintf("%s%d.parquet", c.o.Prefix, c.files-1)
}

// Discard removes the new files of messages that are certainly in no commit. Files that were only lifted stay.
func (c *Compactor) Discard(ctx context.Context, tasks []Task, messages []*message.Commit) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var errs []error
	for i, m := range messages {
		if tasks[i].Lift {
			continue
		}
		folder := path.Dir(tasks[i].Files[0].Path)
		for _, f := range m.Compact.After {
			errs = append(errs, c.store.Delete(ctx, path.Join(folder, f.Name)))
		}
	}
	return errors.Join(errs...)
}

// Result tells what a compaction did.
type Result struct {
	// Snapshot of the compaction, 0 when there was nothing to do.
	Snapshot snapshot.ID
	// Before and After count the files that were replaced and made; a lifted file is one of each.
	Before, After int
	// BytesBefore and BytesAfter are their sizes.
	BytesBefore, BytesAfter int64
}

// Run plans, does all tasks and commits them under a user and identifier that no other commit has or will have. After
// commit.ErrOutcomeUnknown the new files stay, for they may be the table's: look with commit.Committer.Find. After any other
// error they are gone, and the table is as it was.
func Run(ctx context.Context, store fileio.Store, path, user string, identifier int64, o Options) (*Result, error) {
	c, err := New(ctx, store, path, o)
	if err != nil {
		return nil, err
	}
	p, err := c.Plan(ctx)
	if err != nil || len(p.Tasks) == 0 {
		return &Result{}, err
	}
	var messages []*message.Commit
	for i := range p.Tasks {
		m, err := c.Do(ctx, &p.Tasks[i])
		if err != nil {
			return nil, errors.Join(err, c.Discard(ctx, p.Tasks, messages))
		}
		messages = append(messages, m)
	}
	result, err := c.commit(ctx, user, identifier, messages)
	if err != nil && !errors.Is(err, commit.ErrOutcomeUnknown) {
		err = errors.Join(err, c.Discard(ctx, p.Tasks, messages))
	}
	return result, err
}

// commit publishes messages of this call for the first time, so that nothing of them can be in the table already: its base is
// the latest snapshot, and no snapshot before that need be kept from expiring.
func (c *Compactor) commit(ctx context.Context, user string, identifier int64, messages []*message.Commit) (*Result, error) {
	base, err := snapshot.NewManager(c.store, c.path).LatestID(ctx)
	if err != nil {
		return nil, err
	}
	published, err := commit.New(c.store, c.path).Publish(ctx, commit.Request{
		User: user, Identifier: identifier, Kind: snapshot.Compact, Messages: messages, Planned: c.schema, Base: base,
	})
	if err != nil {
		return nil, err
	}
	r := &Result{Snapshot: published.Snapshot}
	for _, m := range messages {
		r.Before += len(m.Compact.Before)
		r.After += len(m.Compact.After)
		r.BytesBefore += sizeOf(m.Compact.Before)
		r.BytesAfter += sizeOf(m.Compact.After)
	}
	return r, nil
}

func sizeOf(files []manifest.DataFile) (n int64) {
	for i := range files {
		n += files[i].Size
	}
	return n
}
