package mysql

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/condition"
	"github.com/tributary-lake/tributary/source/mysql/watermark"
)

// Windows finds what is new in shards since the watermarks of an earlier run, all instances at once.
func (s *Source) Windows(ctx context.Context, mark source.Watermark, shards []source.Since) (source.Windows, error) {
	if err := condition.Check(mark.Where); err != nil {
		return source.Windows{}, err
	}
	all := source.Windows{List: make([]source.Window, len(shards))}
	places := map[*instance][]int{}
	for i, since := range shards {
		in, err := s.instance(since.Table.Shard.Instance)
		if err != nil {
			return all, err
		}
		places[in] = append(places[in], i)
	}
	notes := make([][]string, len(s.instances))
	g, ctx := errgroup.WithContext(ctx)
	for n, in := range s.instances {
		if len(places[in]) == 0 {
			continue
		}
		g.Go(func() error {
			var own []source.Since
			for _, i := range places[in] {
				own = append(own, shards[i])
			}
			found, err := in.windows(ctx, mark, own)
			if err != nil {
				return fmt.Errorf("instance %q: %w", in.config.Name, classify(err))
			}
			for k, i := range places[in] {
				all.List[i] = found.List[k]
			}
			notes[n] = found.Notes
			return nil
		})
	}
	err := g.Wait()
	all.Notes = slices.Concat(notes...)
	return all, err
}

func (in *instance) windows(ctx context.Context, mark source.Watermark, shards []source.Since) (source.Windows, error) {
	c, err := in.conn(ctx)
	if err != nil {
		return source.Windows{}, err
	}
	defer c.Close()
	return watermark.Plan(ctx, c, mark, shards)
}

// within cuts only what the table's window has, by the window's own column where that spares a look at the other rows.
func within(t source.Table, o SplitOptions) (SplitOptions, error) {
	var err error
	o.Where, err = watermark.Condition(*t.Window.Range, o.Where)
	if t.Window.Narrow && (o.Column == "" || o.Column == SplitAuto) {
		o.Column = t.Window.Column
	}
	return o, err
}
