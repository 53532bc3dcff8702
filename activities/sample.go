package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
)

// SampleInput bounds the dry run of a plan: rows that are read and encoded as a run does, and thrown away.
type SampleInput struct {
	// Rows of each shard; 0 reads nothing.
	Rows int `json:"rows,omitempty"`
	// Shards is the most shards to read from, spread over all; 0 is all of them.
	Shards int `json:"shards,omitempty"`
	// Within is when to stop, done or not; 0 is half a minute.
	Within time.Duration `json:"within,omitempty"`
}

// Sampled is what a dry run saw.
type Sampled struct {
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
	// sampleWithin is how long a dry run takes at most when nobody says.
	sampleWithin = 30 * time.Second
	// rateShare is how many times the rows of others are read from the largest shard, to see how fast that goes.
	rateShare = 20
	// sampleWays is how many shards are sampled at once.
	sampleWays = 4
	// spreadShards is up to how many shards are sampled at several places each, spreadSplits at how many.
	spreadShards, spreadSplits = 32, 4
	// shownFindings bounds the list.
	shownFindings = 100
)

// sampler makes a dry run.
type sampler struct {
	session *Session
	draft   *draft
	in      SampleInput
	codecs  lake.Codecs

	mu       sync.Mutex
	sampled  Sampled
	findings map[findingKey]*Finding
	// read and encoded are bytes of all rows; rowBytes is the bytes of a row by shard, 0 where nothing was read.
	read, encoded int64
	rowBytes      []float64
}

type findingKey struct {
	column, policy string
	refused        bool
}

// sample reads and encodes some rows as a run would.
func (e *Explainer) sample(ctx context.Context, s *Session, d *draft, in SampleInput) (*sampler, error) {
	m := &sampler{session: s, draft: d, in: in, findings: map[findingKey]*Finding{}, rowBytes: make([]float64, len(d.tables))}
	if in.Rows <= 0 || len(d.tables) == 0 {
		return nil, nil
	}
	within := in.Within
	if within <= 0 {
		within = sampleWithin
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := m.all(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		m.sampled.Cut, err = true, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a sample: %w", err)
	}
	for _, f := range m.findings {
		m.sampled.Findings = append(m.sampled.Findings, *f)
	}
	slices.SortFunc(m.sampled.Findings, compareFindings)
	m.sampled.Findings = first(m.sampled.Findings, shownFindings)
	return m, nil
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
	if m.sampled.RateRows = rows; rows > 0 {
		m.sampled.RowsPerSecond = float64(rows) / time.Since(began).Seconds()
	}
	places := 1
	if len(shards) <= spreadShards {
		places = spreadSplits
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(sampleWays)
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
	if len(m.draft.splits[i]) == 0 {
		return nil
	}
	r := source.Read{Shard: m.draft.tables[i].Shard, Split: m.draft.splits[i][0], Where: m.session.Spec.Where, Outputs: m.draft.outputs[i]}
	r.Sample = &source.Sample{Rows: 1, Found: func(source.Finding) {}}
	_, err := m.session.Source.Read(ctx, r, func(b *row.Batch) (*row.Batch, error) { return b, nil })
	return err
}

// shards are those to sample, the largest first.
func (m *sampler) shards() []int {
	n := len(m.draft.tables)
	largest := 0
	for i, t := range m.draft.tables {
		if t.Bytes > m.draft.tables[largest].Bytes {
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
	splits := m.draft.splits[i]
	if len(splits) == 0 {
		return 0, nil
	}
	places = min(places, len(splits))
	table := lake.NewTable(discard{}, m.draft.path, m.draft.planned)
	out, err := table.NewWriter(lake.WriterOptions{
		Prefix: "data-sample-", RowGroupBytes: m.session.Spec.RowGroupBytes, Codecs: &m.codecs, Overwrite: true,
	})
	if err != nil {
		return 0, err
	}
	var stats source.ReadStats
	look := newLook(m, i)
	for p := range places {
		split := splits[p*len(splits)/places]
		r := source.Read{Shard: m.draft.tables[i].Shard, Split: split, Where: m.session.Spec.Where, Outputs: m.draft.outputs[i], Sample: &source.Sample{
			Rows: (rows + places - 1) / places, Found: look.found,
		}}
		pipe := pipe{out: out, rows: new(atomic.Int64), bytes: new(atomic.Int64)}
		one, err := pipe.copy(ctx, look, r)
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
	m.sampled.Shards++
	m.sampled.Rows += stats.Rows
	m.sampled.LargestRow = max(m.sampled.LargestRow, int64(look.largest))
	m.read += stats.Bytes
	m.encoded += encoded
	if stats.Rows > 0 {
		m.rowBytes[i] = float64(stats.Bytes) / float64(stats.Rows)
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

// look reads a shard's sample for the pipe, with the columns of its primary key beside those of the target, and keeps what
// is found. The key of a row is known when its batch is handed on.
type look struct {
	Source
	sampler *sampler
	shard   source.Shard
	place   int
	// keys are outputs for the primary key.
	keys    []source.Output
	largest int

	findings map[findingKey]*Finding
	// pending are the findings of the batch that is being filled which are examples, and the row of each.
	pending map[*Finding]int
}

func newLook(m *sampler, i int) *look {
	l := &look{Source: m.session.Source, sampler: m, shard: m.draft.tables[i].Shard, place: i, findings: map[findingKey]*Finding{}, pending: map[*Finding]int{}}
	for _, name := range m.draft.tables[i].PrimaryKey {
		for _, c := range m.draft.tables[i].Columns {
			// One of no type is refused by a policy: it cannot be read.
			if strings.EqualFold(c.Name, name) && c.Type.Kind != 0 {
				l.keys = append(l.keys, source.Output{Column: c, Type: c.Type})
			}
		}
	}
	return l
}

// Read reads with the key beside the outputs, and hands batches on without it.
func (l *look) Read(ctx context.Context, r source.Read, emit func(*row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	n := len(r.Outputs)
	r.Outputs = slices.Concat(r.Outputs, l.keys)
	keys := row.NewBatch(outputTypes(l.keys)).Columns
	return l.Source.Read(ctx, r, func(full *row.Batch) (*row.Batch, error) {
		l.settle(full.Columns[n:])
		copy(keys, full.Columns[n:])
		empty, err := emit(&row.Batch{Columns: full.Columns[:n:n], Rows: full.Rows})
		if err != nil {
			return nil, err
		}
		for i := range keys {
			keys[i].Reset()
		}
		return &row.Batch{Columns: slices.Concat(empty.Columns, keys), Rows: empty.Rows}, nil
	})
}

// found keeps a finding; those of the key's own columns, which are there twice, once.
func (l *look) found(f source.Finding) {
	if f.Output >= len(l.sampler.draft.planned.Fields) {
		return
	}
	key := findingKey{column: f.Column, policy: f.Policy, refused: f.Refused}
	known := l.findings[key]
	if known == nil {
		known = &Finding{
			Column: f.Column, Policy: f.Policy, Refused: f.Refused, Problem: f.Problem, Shards: 1,
			Example: l.shard.String(), Value: f.Value, place: l.place,
		}
		l.findings[key] = known
		l.pending[known] = f.Row
	}
	known.Count++
}

// settle gives the examples of a batch their keys.
func (l *look) settle(keys []row.Vector) {
	for f, at := range l.pending {
		var parts []string
		for i := range keys {
			text := "NULL"
			if v := keys[i].Value(at); !v.Null {
				text = row.Text(l.keys[i].Type, v)
			}
			parts = append(parts, l.keys[i].Column.Name+" = "+shortened(text))
		}
		f.Key = strings.Join(parts, ", ")
	}
	clear(l.pending)
}

// shortened bounds the text of a key.
func shortened(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// estimate tells how large the files get and how long it takes, by what the sample showed. Without rows there is none.
func (m *sampler) estimate(x *Explanation) *Estimate {
	if m == nil || m.sampled.Rows == 0 || m.read == 0 {
		return nil
	}
	average := float64(m.read) / float64(m.sampled.Rows)
	var bytes float64
	for i := range m.draft.tables {
		one := m.rowBytes[i]
		if one == 0 {
			one = average
		}
		bytes += float64(m.draft.rows(i)) * one
	}
	ratio := float64(m.encoded) / float64(m.read)
	e := &Estimate{LakeBytes: int64(bytes * ratio)}
	e.How = fmt.Sprintf("%d rows of %d shards were read and encoded: %.0f bytes a row from the source, %.0f in the lake; times the rows that the server estimates",
		m.sampled.Rows, m.sampled.Shards, average, average*ratio)
	if rate := m.sampled.RowsPerSecond; rate > 0 {
		limits := m.session.Spec.Limits
		ways := max(1, min(limits.Parallelism, x.Units))
		rate *= float64(ways)
		e.How += fmt.Sprintf("; %.0f rows/s by one reader, times %d at once", m.sampled.RowsPerSecond, ways)
		instances := map[string]bool{}
		for _, t := range m.draft.tables {
			instances[t.Shard.Instance] = true
		}
		n := float64(len(instances))
		if most := float64(limits.RowsPerSecond) * n; most > 0 && rate > most {
			rate = most
			e.How += fmt.Sprintf(", but limits.rows_per_second allows %.0f", most)
		}
		if most := float64(limits.BytesPerSecond) * n / average; most > 0 && rate > most {
			rate = most
			e.How += fmt.Sprintf(", but limits.bytes_per_second allows %.0f", most)
		}
		e.Seconds = float64(x.Rows) / rate
	}
	return e
}
