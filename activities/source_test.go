package activities_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// memoryShard is a table of the columns id, name and perhaps others.
type memoryShard struct {
	source.Shard
	columns []source.Column
	ids     []int64
}

func idColumn() source.Column {
	return source.Column{Name: "id", Definition: "bigint", Type: schema.Of(schema.BigInt).WithNotNull(true)}
}

func nameColumn() source.Column {
	return source.Column{Name: "name", Definition: "varchar(20)", Type: schema.StringType()}
}

// shard has rows of ascending ids; every third name is null.
func shard(table string, first int64, rows int) memoryShard {
	s := memoryShard{
		Shard:   source.Shard{Instance: "one", Database: "shop", Table: table},
		columns: []source.Column{idColumn(), nameColumn()},
	}
	for i := range int64(rows) {
		s.ids = append(s.ids, first+i)
	}
	return s
}

func (s memoryShard) lines() []string {
	var lines []string
	for _, id := range s.ids {
		name := fmt.Sprintf("n%d", id)
		if id%3 == 0 {
			name = "NULL"
		}
		lines = append(lines, fmt.Sprintf("%s/%s %d %s", s.Database, s.Table, id, name))
	}
	return lines
}

// memorySource is a source whose rows are in memory.
type memorySource struct {
	mu     sync.Mutex
	shards []memoryShard
	// perSplit and perBatch are numbers of rows.
	perSplit, perBatch int
	// during is called before each batch is handed on; its error ends the read.
	during func(ctx context.Context, r source.Read) error
	// stats may change what a read says of itself.
	stats func(*source.ReadStats)
	reads int
	// drift is the policy of merges.
	drift source.DriftPolicy
	// refuse is the answer when asked for windows, unless nil.
	refuse error
}

func newSource(shards ...memoryShard) *memorySource {
	return &memorySource{shards: shards, perSplit: 2, perBatch: 1}
}

// lines are the rows of all shards as world.rows gives them.
func (m *memorySource) lines() []string {
	lines := []string{}
	for _, s := range m.shards {
		lines = append(lines, s.lines()...)
	}
	return lines
}

func (m *memorySource) Discover(context.Context) ([]source.Table, error) {
	if len(m.shards) == 0 {
		return nil, fmt.Errorf("%w: no shard matches", activities.ErrPlanRefused)
	}
	var tables []source.Table
	for _, s := range m.shards {
		tables = append(tables, source.Table{Shard: s.Shard, Columns: s.columns, Rows: int64(len(s.ids)), Bytes: int64(len(s.ids)) * 10})
	}
	return tables, nil
}

func (m *memorySource) Merge(tables []source.Table) (*activities.Merged, error) {
	merged, err := source.Merge(tables, source.MergeOptions{Provenance: source.Provenance{Database: "_database", Table: "_table"}, Drift: m.drift})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", activities.ErrPlanRefused, err)
	}
	out := &activities.Merged{Fields: merged.Fields(), Drifts: merged.Drifts, LeftOut: merged.LeftOut}
	for _, t := range tables {
		if !merged.Keeps(t.Shard) {
			continue
		}
		out.Outputs = append(out.Outputs, merged.Outputs(t))
	}
	return out, nil
}

func (m *memorySource) Split(_ context.Context, t source.Table) ([]source.Split, error) {
	s := m.find(t.Shard)
	if len(s.ids) == 0 {
		return []source.Split{{}}, nil
	}
	var splits []source.Split
	for i := 0; i < len(s.ids); i += m.perSplit {
		part := s.ids[i:min(i+m.perSplit, len(s.ids))]
		splits = append(splits, source.Split{
			Rows: int64(len(part)),
			Range: &source.Range{
				Column: "id", Lower: strconv.FormatInt(part[0], 10), Upper: strconv.FormatInt(part[len(part)-1], 10),
			},
		})
	}
	return splits, nil
}

func (m *memorySource) find(shard source.Shard) memoryShard {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.shards {
		if s.Shard == shard {
			return s
		}
	}
	return memoryShard{}
}

func (m *memorySource) Read(ctx context.Context, r source.Read, emit func(*row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	m.mu.Lock()
	m.reads++
	m.mu.Unlock()
	var types []schema.Type
	for _, o := range r.Outputs {
		types = append(types, o.Type)
	}
	b := row.NewBatch(types)
	var stats source.ReadStats
	flush := func() error {
		if m.during != nil {
			if err := m.during(ctx, r); err != nil {
				return err
			}
		}
		stats.Rows += int64(b.Rows)
		var err error
		b, err = emit(b)
		return err
	}
	for _, id := range m.find(r.Shard).ids {
		if !within(r.Split.Range, id) || !inWindow(r.Split.Window, id) {
			continue
		}
		fill(b, r, id)
		if b.Rows == m.perBatch {
			if err := flush(); err != nil {
				return stats, err
			}
		}
	}
	if b.Rows > 0 {
		if err := flush(); err != nil {
			return stats, err
		}
	}
	if m.stats != nil {
		m.stats(&stats)
	}
	return stats, ctx.Err()
}

func within(r *source.Range, id int64) bool {
	if r == nil {
		return true
	}
	lower, _ := strconv.ParseInt(r.Lower, 10, 64)
	upper, _ := strconv.ParseInt(r.Upper, 10, 64)
	return lower <= id && id <= upper
}

// inWindow tells whether an id is above the one end and not above the other.
func inWindow(w *source.KeyRange, id int64) bool {
	if w == nil {
		return true
	}
	upper, _ := strconv.ParseInt(w.Upper[0], 10, 64)
	lower := int64(math.MinInt64)
	if len(w.Lower) > 0 {
		lower, _ = strconv.ParseInt(w.Lower[0], 10, 64)
	}
	return lower < id && id <= upper
}

// Windows goes by the id.
func (m *memorySource) Windows(_ context.Context, shards []source.Since) (source.Windows, error) {
	if m.refuse != nil {
		return source.Windows{}, m.refuse
	}
	var out source.Windows
	for _, s := range shards {
		w := source.Window{Shard: s.Table.Shard, Column: "id", After: s.After}
		all := &source.KeyRange{Columns: []string{"id"}, Upper: []string{"9"}}
		if s.After != "" {
			all.Lower = []string{s.After}
		}
		for _, id := range m.find(s.Table.Shard).ids {
			after, _ := strconv.ParseInt(s.After, 10, 64)
			if s.After == "" || id > after {
				w.UpTo, w.Range, w.Rows = strconv.FormatInt(id, 10), all, w.Rows+1
				all.Upper[0] = w.UpTo
			}
		}
		out.List = append(out.List, w)
	}
	return out, nil
}

func fill(b *row.Batch, r source.Read, id int64) {
	for i, o := range r.Outputs {
		v := &b.Columns[i]
		switch {
		case o.Provenance != "":
			v.AppendBytes([]byte(*o.Provenance.Of(r.Shard)))
		case o.Column.Name == "":
			v.AppendNull()
		case v.Layout == row.LayoutInt32:
			v.I32 = append(v.I32, int32(id))
		case v.Layout == row.LayoutInt64:
			v.I64 = append(v.I64, id)
		case id%3 == 0:
			v.AppendNull()
		default:
			v.AppendBytes(fmt.Appendf(nil, "n%d", id))
		}
	}
	b.Rows++
}

func (m *memorySource) Consistency() string { return "split" }
