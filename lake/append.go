package lake

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// maxOpen is the number of parts whose files are open at once, so that memory stays bounded whatever order rows come in.
const maxOpen = 32

// appendFiles makes the files of append tables: rows of a part go into its files in the order in which they come.
//
// While there are more parts than may be open, rows of the others wait in memory. When they take too much of it, those of the
// part with the most go to the spill store until the end. Without a store that part is opened in the place of another one,
// which gets one more file when its turn comes again.
type appendFiles struct {
	w     *Writer
	codec *datafile.Codec
	stats []datafile.StatsMode
	types []schema.Type
	clock int64
	open  []*part
	// waiting are the parts with rows that wait in memory, held the bytes of these.
	waiting []*part
	held    int
	// spiller writes spilled rows, spills is the number of the next file of them.
	spiller *datafile.Writer
	spills  int
}

// appendPart is what appendFiles knows of a part.
type appendPart struct {
	open    *datafile.RollingWriter // nil while closed
	used    int64
	files   []manifest.DataFile
	waiting waitingRows
}

func newAppendFiles(w *Writer) (*appendFiles, error) {
	s := w.table.schema
	codec, err := w.opts.Codecs.get(w.options.Compression, w.options.ZstdLevel)
	if err != nil {
		return nil, err
	}
	stats, err := datafile.StatsModes(s.Fields, s.Options)
	if err != nil {
		return nil, err
	}
	return &appendFiles{w: w, codec: codec, stats: stats, types: row.Types(s.Fields)}, nil
}

// write implements filer.
func (a *appendFiles) write(ctx context.Context, p *part, b *row.Batch, rows []int32, kinds []row.Kind) error {
	if err := onlyAdds(kinds); err != nil {
		return err
	}
	return a.add(ctx, p, b, rows)
}

// onlyAdds refuses rows that take away.
func onlyAdds(kinds []row.Kind) error {
	for _, kind := range kinds {
		if kind.Retracts() {
			return fmt.Errorf("a row of kind %s cannot be written to a table without a primary key", kind)
		}
	}
	return nil
}

// add adds rows of a batch to a part; nil rows means all.
func (a *appendFiles) add(ctx context.Context, p *part, b *row.Batch, rows []int32) error {
	if p.appended.open == nil && len(a.open) >= maxOpen {
		return a.hold(ctx, p, b, rows)
	}
	if err := a.ensureOpen(p); err != nil {
		return err
	}
	a.clock++
	p.appended.used = a.clock
	if rows == nil {
		return p.appended.open.Write(ctx, b)
	}
	return p.appended.open.WriteRows(ctx, b, rows)
}

// hold keeps rows in memory, and moves those of other parts on when they are too many.
func (a *appendFiles) hold(ctx context.Context, p *part, b *row.Batch, rows []int32) error {
	held := p.appended.waiting.rows
	if held == nil {
		held = row.NewBatch(a.types)
		p.appended.waiting.rows = held
		a.waiting = append(a.waiting, p)
	}
	before := held.Size()
	appendRows(held, b, rows)
	a.held += held.Size() - before
	for a.held > a.w.memory() {
		most := 0
		for i, q := range a.waiting {
			if q.appended.waiting.rows.Size() > a.waiting[most].appended.waiting.rows.Size() {
				most = i
			}
		}
		p := a.release(most)
		if a.w.opts.Spill != nil {
			if err := a.spill(ctx, p); err != nil {
				return err
			}
		} else if err := a.flush(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// release takes a part from those with rows in memory, which the caller does away with.
func (a *appendFiles) release(i int) *part {
	p := a.waiting[i]
	a.waiting[i] = a.waiting[len(a.waiting)-1]
	a.waiting = a.waiting[:len(a.waiting)-1]
	a.held -= p.appended.waiting.rows.Size()
	return p
}

// flush writes the waiting rows of a part and leaves its file open.
func (a *appendFiles) flush(ctx context.Context, p *part) error {
	if err := a.makeRoom(); err != nil {
		return err
	}
	if err := a.unspill(ctx, p, func(b *row.Batch) error { return a.add(ctx, p, b, nil) }); err != nil {
		return err
	}
	rows := p.appended.waiting.rows
	p.appended.waiting.rows = nil
	if rows == nil {
		return nil
	}
	return a.add(ctx, p, rows, nil)
}

// appendRows copies rows of one batch to the end of another.
func appendRows(dst, src *row.Batch, rows []int32) {
	for c := range dst.Columns {
		to, from := &dst.Columns[c], &src.Columns[c]
		for _, i := range rows {
			to.Append(from.Value(int(i)))
		}
	}
	dst.Rows += len(rows)
}

func (a *appendFiles) ensureOpen(p *part) error {
	if p.appended.open != nil {
		return nil
	}
	t, o := a.w.table, a.w.options
	out, err := datafile.NewRollingWriter(datafile.RollingOptions{
		File:  datafile.Options{Codec: a.codec, RowGroupBytes: a.rowGroup()}.WithBlockSize(o.BlockSize),
		Store: t.store, Folder: p.folder, BeforeFile: a.w.opts.Guard,
		Name:     func(int) string { return a.w.name(p, a.w.opts.Prefix) },
		SchemaID: t.schema.ID, Fields: t.schema.Fields, StatsModes: a.stats,
		TargetSize: o.TargetFileSize, Sequence: p.sequence,
	})
	if err != nil {
		return err
	}
	p.appended.open = out
	a.open = append(a.open, p)
	return nil
}

// rowGroup is smaller where many parts may be open at once.
func (a *appendFiles) rowGroup() int {
	if len(a.w.router.keys) == 0 && a.w.router.assigner == nil {
		return a.w.opts.RowGroupBytes
	}
	return a.w.opts.RowGroupBytes / 8
}

// makeRoom closes the part that was written to least recently when too many are open.
func (a *appendFiles) makeRoom() error {
	if len(a.open) < maxOpen {
		return nil
	}
	oldest := a.open[0]
	for _, p := range a.open {
		if p.appended.used < oldest.appended.used {
			oldest = p
		}
	}
	return a.close(oldest)
}

// close ends a part's open file.
func (a *appendFiles) close(p *part) error {
	files, err := p.appended.open.Close()
	if err != nil {
		return err
	}
	p.appended.files = append(p.appended.files, files...)
	if n := len(files); n > 0 {
		p.sequence = files[n-1].MaxSequence + 1
	}
	a.forget(p)
	return nil
}

func (a *appendFiles) forget(p *part) {
	p.appended.open = nil
	a.open = slices.DeleteFunc(a.open, func(q *part) bool { return p == q })
}

// finish implements filer.
func (a *appendFiles) finish(ctx context.Context, p *part) (message.DataIncrement, error) {
	if i := slices.Index(a.waiting, p); i >= 0 {
		a.release(i)
	}
	if len(p.appended.waiting.spilled) > 0 || p.appended.waiting.rows != nil {
		if err := a.flush(ctx, p); err != nil {
			return message.DataIncrement{}, err
		}
	}
	if p.appended.open != nil {
		if err := a.close(p); err != nil {
			return message.DataIncrement{}, err
		}
	}
	return message.DataIncrement{NewFiles: p.appended.files}, nil
}

// abort implements filer.
func (a *appendFiles) abort(ctx context.Context, p *part) error {
	err := a.dropSpilled(ctx, p)
	p.appended.files, p.appended.waiting.rows = nil, nil
	if p.appended.open != nil {
		err = errors.Join(err, p.appended.open.Abort(ctx))
		a.forget(p)
	}
	return err
}

// bytes implements filer.
func (a *appendFiles) bytes(p *part) int64 {
	n := sizeOf(p.appended.files)
	if p.appended.open != nil {
		n += p.appended.open.Size()
	}
	return n
}
