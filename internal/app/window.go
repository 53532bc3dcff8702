package app

import (
	"context"

	"github.com/tributary-lake/tributary/source"
)

// tableWindows finds what is new in a table's shards.
type tableWindows struct {
	*tableSource
}

// Windows finds it.
func (s *tableWindows) Windows(ctx context.Context, shards []source.Since) (source.Windows, error) {
	src, err := s.shared.get(ctx, s.masker, s.job)
	if err != nil {
		return source.Windows{}, err
	}
	w := s.table.Watermark
	return src.Windows(ctx, source.Watermark{
		Column: w.Column, Overlap: w.Overlap.Microseconds(), Values: w.OverlapValues, Again: len(s.table.PrimaryKey) > 0, Where: s.table.Where,
	}, shards)
}
