package comparing

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/tally"
)

// group are the shards whose rows the table does not tell apart, and what both sides have of them.
type group struct {
	shards       []source.Shard
	there, table tally.Sum
}

// groups divide shards by what their names put into rows. Their number is that of the shards at most.
type groups struct {
	// places are those of the columns that shards' names fill, columns of those that are compared.
	places, columns []int
	list            []group
	byKey           map[string]int
	// of is each shard's group.
	of []int
	// strays are rows whose provenance no shard has, and stray is that of one of them.
	strays tally.Sum
	stray  string
}

func newGroups(tables []source.Table, outputs [][]source.Output) (*groups, error) {
	g := &groups{byKey: map[string]int{}, columns: source.Read{Outputs: outputs[0]}.FromSource()}
	var types []schema.Type
	for i, o := range outputs[0] {
		if types = append(types, o.Type); o.Provenance != "" {
			g.places = append(g.places, i)
		}
	}
	names := row.NewBatch(types)
	for i, t := range tables {
		names.Reset()
		for _, p := range g.places {
			o := outputs[i][p]
			name, err := o.ConstantOf(t.Shard)
			if err != nil {
				return g, err
			}
			v, err := row.ParseText(o.Type, *name)
			if err != nil {
				return g, fmt.Errorf("shard %s: %w: provenance %q: %w", t.Shard, source.ErrRefused, *name, err)
			}
			names.Columns[p].Append(v)
		}
		key := string(g.key(nil, names, 0))
		at, ok := g.byKey[key]
		if !ok {
			at = len(g.list)
			g.list = append(g.list, group{})
			g.byKey[key] = at
		}
		g.list[at].shards = append(g.list[at].shards, t.Shard)
		g.of = append(g.of, at)
	}
	return g, nil
}

// key appends the provenance of a row.
func (g *groups) key(to []byte, b *row.Batch, i int) []byte {
	for _, p := range g.places {
		v := &b.Columns[p]
		if v.IsNull(i) {
			to = append(to, 'N')
			continue
		}
		at := len(to)
		to = tally.AppendText(append(to, "V1234"...), v, i)
		binary.BigEndian.PutUint32(to[at+1:], uint32(len(to)-at-5)) //nolint:gosec // a name's part
	}
	return to
}

// names are the provenance of a row for people.
func (g *groups) names(b *row.Batch, i int) string {
	text := ""
	for n, p := range g.places {
		if n > 0 {
			text += ", "
		}
		if v := &b.Columns[p]; v.IsNull(i) {
			text += "NULL"
		} else {
			text += fmt.Sprintf("%.100q", tally.AppendText(nil, v, i))
		}
	}
	return text
}

// sumsAtOnce is how many statements wait for servers at the same time; their connections bound how many are at work.
const sumsAtOnce = 32

// sumSource has the servers count and sum every shard.
func (x *comparison) sumSource(ctx context.Context) error {
	var mu sync.Mutex
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(sumsAtOnce)
	for i, t := range x.tables {
		work.Go(func() error {
			sum, err := x.session.Sums.Sum(ctx, source.Read{Shard: t.Shard, Where: x.session.Spec.Where, Outputs: x.outputs[i]}, x.mark)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			x.groups.list[x.groups.of[i]].there.Add(sum)
			return nil
		})
	}
	return work.Wait()
}

// sumTable reads the snapshot and sums its rows.
func (x *comparison) sumTable(ctx context.Context) error {
	if x.latest == nil {
		return nil
	}
	plan, err := x.table.Plan(ctx, lake.ScanOptions{Snapshot: x.latest.ID})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(max(1, x.session.Spec.Parallelism))
	for i := range plan.Splits {
		work.Go(func() error {
			part, err := x.groups.read(ctx, plan, &plan.Splits[i])
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			x.groups.add(part)
			return nil
		})
	}
	return work.Wait()
}

// part is what one split of the table has of the groups.
type part struct {
	sums   map[int]*tally.Sum
	strays tally.Sum
	stray  string
}

func (g *groups) read(ctx context.Context, plan *lake.Plan, s *lake.Split) (*part, error) {
	p := &part{sums: map[int]*tally.Sum{}}
	adder := tally.NewAdder(g.columns)
	var key []byte
	err := plan.Read(ctx, s, func(b *row.Batch) error {
		for i := range b.Rows {
			key = g.key(key[:0], b, i)
			sum := &p.strays
			if at, ok := g.byKey[string(key)]; !ok {
				if p.stray == "" {
					p.stray = g.names(b, i)
				}
			} else if sum = p.sums[at]; sum == nil {
				sum = &tally.Sum{}
				p.sums[at] = sum
			}
			sum.Add(tally.Sum{Rows: 1, Sum: adder.Number(b, i)})
		}
		return nil
	})
	return p, err
}

func (g *groups) add(p *part) {
	for at, sum := range p.sums {
		g.list[at].table.Add(*sum)
	}
	g.strays.Add(p.strays)
	if p.stray != "" {
		g.stray = p.stray
	}
}
