package app

import (
	"context"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/tally"
)

// tableSums says what a table's source has now.
type tableSums struct {
	*tableSource
}

// Sum has the shard's server count and sum its rows.
func (s *tableSums) Sum(ctx context.Context, r source.Read, mark *source.Mark) (tally.Sum, error) {
	src, err := s.shared.get(ctx, s.masker, s.job)
	if err != nil {
		return tally.Sum{}, err
	}
	r.Every = s.every()
	return src.Sum(ctx, r, mark)
}

// Since looks into an instance's binary log.
func (s *tableSums) Since(ctx context.Context, instance string, cut source.Position, shards []source.Shard) (source.Logged, error) {
	src, err := s.shared.get(ctx, s.masker, s.job)
	if err != nil {
		return source.Logged{}, err
	}
	return src.Since(ctx, instance, cut, shards)
}
