package mysql

import (
	"context"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/logged"
	servertally "github.com/tributary-lake/tributary/source/mysql/tally"
	"github.com/tributary-lake/tributary/source/mysql/wire"
	"github.com/tributary-lake/tributary/source/tally"
)

// Sum has the server count and sum the rows of a read, without those that are marked, in one statement, so that all are of one
// moment. It waits for a slot of the instance and while reading is paused, as a read does.
func (s *Source) Sum(ctx context.Context, r source.Read, mark *source.Mark) (tally.Sum, error) {
	in, err := s.instance(r.Shard.Instance)
	if err != nil {
		return tally.Sum{}, err
	}
	var conditions []string
	if mark != nil {
		if o := r.Outputs[mark.Output]; o.Column.Name != "" { // where a shard lacks it, no row is marked
			conditions = append(conditions, servertally.Without(o, mark.Text, quoteName))
		}
	}
	sum, err := in.sum(ctx, r, s.options, conditions)
	if err != nil {
		return tally.Sum{}, named(ctx, r.Shard, err)
	}
	return *sum, nil
}

func (in *instance) sum(ctx context.Context, r source.Read, o Options, conditions []string) (*tally.Sum, error) {
	end, err := in.begin(ctx, &wire.Request{}, r, o, 0)
	if err != nil {
		return nil, err
	}
	defer end()
	c, err := in.conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := checkColumns(ctx, c, r); err != nil {
		return nil, classify(err)
	}
	return tallyOn(ctx, c, r, conditions...)
}

// Since asks an instance's binary log what of the shards, all on it, was changed after a cut. What the account may not ask is
// said in the answer.
func (s *Source) Since(ctx context.Context, instance string, cut source.Position, shards []source.Shard) (source.Logged, error) {
	in, err := s.instance(instance)
	if err != nil {
		return source.Logged{}, err
	}
	c, err := in.alone(ctx)
	if err != nil {
		return source.Logged{}, in.config.explain(err)
	}
	defer func() { _ = c.Close() }() // nothing was written through it
	since, err := logged.Since(ctx, c, instance, cut, shards)
	return since, classify(err)
}
