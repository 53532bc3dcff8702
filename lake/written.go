package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/tributary-lake/tributary/lake/datafile/filereader"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// ReadMessages reads all rows of the files that commit messages add, as they lie there, whether or not they are committed: a
// writer reads again what it has written. fn gets batches of the table's columns and may keep none.
func (t *Table) ReadMessages(ctx context.Context, messages []*message.Commit, fn func(*row.Batch) error) error {
	layout, err := partition.LayoutOf(t.path, t.schema)
	if err != nil {
		return err
	}
	types := make([]schema.Type, len(t.schema.Fields))
	for i, f := range t.schema.Fields {
		types[i] = f.Type
	}
	b := row.NewBatch(types)
	for _, m := range messages {
		values, err := layout.Values(m.Partition)
		if err != nil {
			return fmt.Errorf("partition of a commit message: %w", err)
		}
		for i := range m.Data.NewFiles {
			f := &m.Data.NewFiles[i]
			if err := t.readWhole(ctx, path.Join(layout.Bucket(values, m.Bucket), f.Name), f.Size, b, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Table) readWhole(ctx context.Context, p string, size int64, b *row.Batch, fn func(*row.Batch) error) (err error) {
	r, err := filereader.Open(ctx, t.store, p, size, t.schema.Fields, filereader.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closing := r.Close(); err == nil {
			err = closing
		}
	}()
	for {
		if err := r.NextBatch(ctx, b); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read %s: %w", t.store.URI(p), err)
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}
