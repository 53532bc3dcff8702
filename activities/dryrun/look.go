package dryrun

import (
	"context"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// look reads a shard's sample, with the columns of its primary key beside those of the target, and keeps what
// is found. The key of a row is known when its batch is handed on.
type look struct {
	read    Read
	columns int
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
	shard := &m.plan.Shards[i]
	l := &look{read: m.read, columns: len(shard.Outputs), shard: shard.Shard, place: i, findings: map[findingKey]*Finding{}, pending: map[*Finding]int{}}
	for _, name := range shard.PrimaryKey {
		for _, c := range shard.Columns {
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
	types := make([]schema.Type, len(l.keys))
	for i, o := range l.keys {
		types[i] = o.Type
	}
	r.Outputs = slices.Concat(r.Outputs, l.keys)
	keys := row.NewBatch(types).Columns
	return l.read(ctx, r, func(full *row.Batch) (*row.Batch, error) {
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
	if f.Output >= l.columns {
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
