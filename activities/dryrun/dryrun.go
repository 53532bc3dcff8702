package dryrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// Input bounds a dry run.
type Input struct {
	// Rows of each shard; 0 reads nothing.
	Rows int `json:"rows,omitempty"`
	// Shards is the most shards to read from, spread over all; 0 is all of them.
	Shards int `json:"shards,omitempty"`
	// Within is when to stop, done or not; 0 is half a minute.
	Within time.Duration `json:"within,omitempty"`
}

// Result is what a dry run saw.
type Result struct {
	Shards int   `json:"shards"`
	Rows   int64 `json:"rows"`
	// Cut tells that the time was over before all was read.
	Cut bool `json:"cut,omitempty"`
	// Findings are values that would not arrive as they are, one entry for each column and reason.
	Findings []Finding `json:"findings,omitempty"`
	// LargestRow is the most bytes of a row as the source sends it.
	LargestRow int64 `json:"largest_row_bytes"`
	// RowsPerSecond is what one reader and one writer did together, on RateRows rows of the largest shard; 0 when it has none.
	RowsPerSecond float64 `json:"rows_per_second"`
	RateRows      int64   `json:"rate_rows"`

	plan Plan
	// read and encoded are bytes of all rows; rowBytes is the bytes of a row by shard, 0 where nothing was read.
	read, encoded int64
	rowBytes      []float64
}

// Finding counts values of a column that do not arrive as they are, with an example.
type Finding struct {
	Column string `json:"column"`
	// Policy names what decided. Of values that would end a run, Problem says why and what to do.
	Policy  string `json:"policy,omitempty"`
	Refused bool   `json:"refused,omitempty"`
	Problem string `json:"problem,omitempty"`
	Count   int64  `json:"count"`
	Shards  int    `json:"shards"`
	// Example is a shard that has one, Key its primary key there, as column = value, and Value it.
	Example string `json:"example_shard"`
	Key     string `json:"example_key,omitempty"`
	Value   string `json:"example_value,omitempty"`
	// place is that of the example's shard among all: the first one has it, whichever is read first.
	place int
}

// String is the finding as a sentence.
func (f Finding) String() string {
	what := f.Policy
	if f.Refused {
		what = f.Problem
	}
	at := f.Example
	if f.Key != "" {
		at += ", " + f.Key
	}
	text := fmt.Sprintf("column %s: %s: %d of the sampled values in %d shards", f.Column, what, f.Count, f.Shards)
	if f.Value == "" {
		return fmt.Sprintf("%s, such as that of %s", text, at)
	}
	return fmt.Sprintf("%s, such as %s of %s", text, f.Value, at)
}

const (
	// patience is how long a dry run takes at most when nobody says.
	patience = 30 * time.Second
	// rateShare is how many times the rows of others are read from the largest shard, to see how fast that goes.
	rateShare = 20
	// ways is how many shards are sampled at once.
	ways = 4
	// spreadShards is up to how many shards are sampled at several places each, spreadSplits at how many.
	spreadShards, spreadSplits = 32, 4
	// shownFindings bounds the list.
	shownFindings = 100
)

// Plan is what is tried.
type Plan struct {
	Shards []Shard
	// Schema is the target's. What is encoded has none of its partitions, buckets and keys: a sample is too small to be spread
	// over their files. Path is the target's folder.
	Schema *schema.Table
	Path   string
	// Where is a condition on every shard, or empty.
	Where string
	// RowGroupBytes is what a run's writers get.
	RowGroupBytes int
}

// Shard of a plan, and how a run reads it.
type Shard struct {
	source.Table
	Splits  []source.Split
	Outputs []source.Output
}

// rows is how many rows the shard has, by the estimates of its splits.
func (s *Shard) rows() int64 {
	var n int64
	for _, split := range s.Splits {
		n += split.Rows
	}
	return n
}

// Read reads rows as a run's source does.
type Read func(ctx context.Context, r source.Read, emit func(full *row.Batch) (empty *row.Batch, err error)) (source.ReadStats, error)

// Copy moves the rows of a split from a source to a writer as a run does.
type Copy func(ctx context.Context, out *lake.Writer, read Read, r source.Read) (source.ReadStats, error)

// sampler makes a dry run.
type sampler struct {
	plan   Plan
	in     Input
	read   Read
	copy   Copy
	codecs lake.Codecs

	mu       sync.Mutex
	result   *Result
	findings map[findingKey]*Finding
}

type findingKey struct {
	column, policy string
	refused        bool
}

// Run reads and encodes some rows of a plan. The result is nil where there is nothing to read.
func Run(ctx context.Context, in Input, p Plan, read Read, copy Copy) (*Result, error) {
	if in.Rows <= 0 || len(p.Shards) == 0 {
		return nil, nil
	}
	m := &sampler{
		plan: p, in: in, read: read, copy: copy, findings: map[findingKey]*Finding{},
		result: &Result{rowBytes: make([]float64, len(p.Shards)), plan: p},
	}
	var err error
	if m.plan.Schema, err = bare(p.Schema); err != nil {
		return nil, fmt.Errorf("encode a sample: %w", err)
	}
	within := in.Within
	if within <= 0 {
		within = patience
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err = m.all(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		m.result.Cut, err = true, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a sample: %w", err)
	}
	for _, f := range m.findings {
		m.result.Findings = append(m.result.Findings, *f)
	}
	slices.SortFunc(m.result.Findings, compareFindings)
	m.result.Findings = m.result.Findings[:min(len(m.result.Findings), shownFindings)]
	return m.result, nil
}

// bare is a table's schema without partitions, buckets and keys.
func bare(t *schema.Table) (*schema.Table, error) {
	options := map[string]string{}
	for name, value := range t.Options {
		if strings.HasPrefix(name, "file.") || strings.HasPrefix(name, "parquet.") {
			options[name] = value
		}
	}
	return schema.New(schema.Spec{Fields: t.Fields, Options: options, TimeMillis: t.TimeMillis})
}

// compareFindings puts those that end a run first.
func compareFindings(a, b Finding) int {
	if a.Refused != b.Refused {
		if a.Refused {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(a.Column, b.Column), strings.Compare(a.Policy, b.Policy))
}

// all samples the largest shard alone, so that nothing else is in the way of its rate, and then the others.
func (m *sampler) all(ctx context.Context) error {
	shards := m.shards()
	if err := m.warmUp(ctx, shards[0]); err != nil {
		return err
	}
	began := time.Now()
	rows, err := m.shard(ctx, shards[0], m.in.Rows*rateShare, 1)
	if err != nil {
		return err
	}
	if m.result.RateRows = rows; rows > 0 {
		m.result.RowsPerSecond = float64(rows) / time.Since(began).Seconds()
	}
	places := 1
	if len(shards) <= spreadShards {
		places = spreadSplits
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(ways)
	for _, i := range shards[1:] {
		g.Go(func() error {
			_, err := m.shard(ctx, i, m.in.Rows, places)
			return err
		})
	}
	return g.Wait()
}

// warmUp reads a row, so that logging in is no part of a rate.
func (m *sampler) warmUp(ctx context.Context, i int) error {
	if len(m.plan.Shards[i].Splits) == 0 {
		return nil
	}
	shard := &m.plan.Shards[i]
	r := source.Read{Shard: shard.Shard, Split: shard.Splits[0], Where: m.plan.Where, Outputs: shard.Outputs}
	r.Sample = &source.Sample{Rows: 1, Found: func(source.Finding) {}}
	_, err := m.read(ctx, r, func(b *row.Batch) (*row.Batch, error) { return b, nil })
	return err
}

// shards are those to sample, the largest first.
func (m *sampler) shards() []int {
	n := len(m.plan.Shards)
	largest := 0
	for i := range m.plan.Shards {
		if m.plan.Shards[i].Bytes > m.plan.Shards[largest].Bytes {
			largest = i
		}
	}
	shards := []int{largest}
	want := n
	if m.in.Shards > 0 {
		want = min(n, m.in.Shards)
	}
	for i := 0; len(shards) < want && i < want; i++ {
		if at := i * n / want; at != largest {
			shards = append(shards, at)
		}
	}
	return shards
}

// shard samples one shard at some of its splits, and tells how many rows it read.
func (m *sampler) shard(ctx context.Context, i, rows, places int) (int64, error) {
	splits := m.plan.Shards[i].Splits
	if len(splits) == 0 {
		return 0, nil
	}
	places = min(places, len(splits))
	table := lake.NewTable(discard{}, m.plan.Path, m.plan.Schema)
	out, err := table.NewWriter(lake.WriterOptions{
		Prefix: "data-sample-", RowGroupBytes: m.plan.RowGroupBytes, Codecs: &m.codecs, Overwrite: true,
	})
	if err != nil {
		return 0, err
	}
	var stats source.ReadStats
	look := newLook(m, i)
	for p := range places {
		split := splits[p*len(splits)/places]
		r := source.Read{Shard: look.shard, Split: split, Where: m.plan.Where, Outputs: m.plan.Shards[i].Outputs, Sample: &source.Sample{
			Rows: (rows + places - 1) / places, Found: look.found,
		}}
		one, err := m.copy(ctx, out, look.Read, r)
		if err != nil {
			return 0, errors.Join(err, out.Abort(context.WithoutCancel(ctx)))
		}
		stats.Rows += one.Rows
		stats.Bytes += one.Bytes
		look.largest = max(look.largest, r.Sample.Largest)
	}
	messages, err := out.Close(ctx)
	if err != nil {
		return 0, err
	}
	var encoded int64
	for _, c := range messages {
		for _, f := range c.Data.NewFiles {
			encoded += f.Size
		}
	}
	m.add(i, stats, encoded, look)
	return stats.Rows, nil
}

// add takes in what was seen of a shard.
func (m *sampler) add(i int, stats source.ReadStats, encoded int64, look *look) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.result.Shards++
	m.result.Rows += stats.Rows
	m.result.LargestRow = max(m.result.LargestRow, int64(look.largest))
	m.result.read += stats.Bytes
	m.result.encoded += encoded
	if stats.Rows > 0 {
		m.result.rowBytes[i] = float64(stats.Bytes) / float64(stats.Rows)
	}
	for key, f := range look.findings {
		if known := m.findings[key]; known != nil {
			f.Count += known.Count
			f.Shards += known.Shards
			if known.place < f.place {
				f.Example, f.Key, f.Value, f.Problem, f.place = known.Example, known.Key, known.Value, known.Problem, known.place
			}
		}
		m.findings[key] = f
	}
}
