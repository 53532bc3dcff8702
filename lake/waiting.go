package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/datafile/filereader"
	"github.com/tributary-lake/tributary/lake/row"
)

// waitingRows are rows of a part whose file cannot be open yet: in files of a spill store, then in memory.
type waitingRows struct {
	spilled []spilledRows
	rows    *row.Batch // nil when there are none
}

// spilledRows is a file of rows that wait. It has the form of a data file, without compression.
type spilledRows struct {
	path string
	size int64
}

func (a *appendFiles) spillPath(name string) string { return path.Join(a.w.opts.SpillFolder, name) }

// spill moves a part's rows from memory to the spill store.
func (a *appendFiles) spill(ctx context.Context, p *part) (err error) {
	if guard := a.w.opts.Guard; guard != nil {
		if err := guard(ctx); err != nil {
			return fmt.Errorf("spill rows: %w", err)
		}
	}
	to := a.spillPath(fmt.Sprintf("rows-%d", a.spills))
	a.spills++
	out, err := a.w.opts.Spill.Create(ctx, to)
	if err != nil {
		return fmt.Errorf("spill rows: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("spill rows to %s: %w", to, err), out.Abort())
		}
	}()
	if a.spiller == nil {
		codec, err := a.w.opts.Codecs.get("none", 1)
		if err != nil {
			return err
		}
		if a.spiller, err = datafile.NewWriter(nil, a.w.table.schema.Fields, datafile.Options{Codec: codec}); err != nil {
			return err
		}
	}
	a.spiller.Reset(out)
	if err := a.spiller.Write(p.appended.waiting.rows); err != nil {
		return err
	}
	result, err := a.spiller.Close()
	if err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	p.appended.waiting.spilled = append(p.appended.waiting.spilled, spilledRows{path: to, size: result.Size})
	p.appended.waiting.rows = nil
	return nil
}

// unspill hands the spilled rows of a part on, in their order, and removes them.
func (a *appendFiles) unspill(ctx context.Context, p *part, fn func(*row.Batch) error) error {
	b := row.NewBatch(a.types)
	for _, s := range p.appended.waiting.spilled {
		if err := a.readSpilled(ctx, s, b, fn); err != nil {
			return fmt.Errorf("read spilled rows: %w", err)
		}
	}
	return a.dropSpilled(ctx, p)
}

func (a *appendFiles) readSpilled(ctx context.Context, s spilledRows, b *row.Batch, fn func(*row.Batch) error) (err error) {
	r, err := filereader.Open(ctx, a.w.opts.Spill, s.path, s.size, a.w.table.schema.Fields, filereader.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closing := r.Close(); closing != nil {
			err = errors.Join(err, closing)
		}
	}()
	for {
		if err := r.NextBatch(ctx, b); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}

// dropSpilled removes the spilled rows of a part.
func (a *appendFiles) dropSpilled(ctx context.Context, p *part) error {
	var errs []error
	for _, s := range p.appended.waiting.spilled {
		if err := a.w.opts.Spill.Delete(ctx, s.path); err != nil {
			errs = append(errs, fmt.Errorf("remove spilled rows: %w", err))
		}
	}
	p.appended.waiting.spilled = nil
	return errors.Join(errs...)
}
