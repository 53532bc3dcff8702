package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// tableMoments opens connections of a table's source at one moment.
type tableMoments struct {
	*tableSource
}

func (s *tableMoments) method() source.MomentMethod { return source.MomentMethod(s.job.Run.Moment) }

// PlanMoments says how they would be opened.
func (s *tableMoments) PlanMoments(ctx context.Context, shards []source.Shard, readers map[string]int) ([]source.MomentPlan, error) {
	src, err := s.shared.get(ctx, s.masker, s.job)
	if err != nil {
		return nil, err
	}
	plans, err := src.PlanMoments(ctx, shards, s.method(), readers)
	if errors.Is(err, source.ErrDenied) {
		err = fmt.Errorf("%w: consistency %s: %w", activities.ErrPlanRefused, s.Consistency(), err)
	}
	return plans, err
}

// OpenMoment opens them.
func (s *tableMoments) OpenMoment(ctx context.Context, instance string, shards []source.Shard, readers int) (activities.Moment, error) {
	src, err := s.shared.get(ctx, s.masker, s.job)
	if err != nil {
		return nil, err
	}
	m, err := src.OpenMoment(ctx, source.MomentRequest{Instance: instance, Shards: shards, Readers: readers, Method: s.method()})
	if err != nil {
		return nil, err // not m: a nil of its type is no nil
	}
	return &tableMoment{m, s.every()}, nil
}

// tableMoment reads one logical table.
type tableMoment struct {
	*mysql.Moment
	every bool
}

// Read reads a split by one of the readers.
func (m *tableMoment) Read(ctx context.Context, reader int, r source.Read, swap func(full *row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	r.Every = m.every
	return m.Moment.Read(ctx, reader, r, swap)
}
