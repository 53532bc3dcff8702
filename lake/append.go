package lake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/spill"
)

const (
	// maxOpen is the most parts whose files are open at once, so that memory stays bounded whatever order rows come in.
	maxOpen = 32
	// openWorth is the memory below which an open file would be cut into row groups too small to be worth it. Where that
	// much is not there for every part, rows wait instead.
	openWorth = 4 << 20
	// idle is after how many batches without a row of its own the file of a part makes room for another's.
	idle = 64
)

// appendFiles makes the files of append tables: rows of a part go into its files in the order in which they come.
//
// While there are more parts than may be open, rows of the others wait in memory. When they take too much of it, they all go
// to the spill store, sorted by part, until the end: then each part gets its file in one go. Without a store the part with
// the most is opened in the place of another one, which gets one more file when its turn comes again.
type appendFiles struct {
	w     *Writer
	codec *datafile.Codec
	stats []datafile.StatsMode
	open  []*part
	// buffered is the memory of the open files.
	buffered int
	waiting  *waitingRows
}

// appendPart is what appendFiles knows of a part.
type appendPart struct {
	open     *datafile.RollingWriter // nil while closed
	buffered int
	used     int64 // the batch that had a row last
	files    []manifest.DataFile
	// waiting are the part's rows among those that wait in memory, spilled where those before them are.
	waiting []int32
	spilled []spill.Segment
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
	return &appendFiles{w: w, codec: codec, stats: stats, waiting: newWaitingRows(w)}, nil
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
	if p.appended.open == nil && len(a.open) >= a.mostOpen() {
		switch {
		case a.large(b):
			// Copies of such a row are what memory is not there for.
			if err := a.flush(ctx, p); err != nil {
				return err
			}
		case !a.closeIdle():
			return a.hold(ctx, p, b, rows)
		default:
			if err := a.makeRoom(); err != nil {
				return err
			}
		}
	}
	return a.put(ctx, p, b, rows)
}

// put adds rows to the part's file.
func (a *appendFiles) put(ctx context.Context, p *part, b *row.Batch, rows []int32) error {
	if err := a.ensureOpen(p); err != nil {
		return err
	}
	p.appended.used = a.w.batches
	var err error
	if rows == nil {
		err = p.appended.open.Write(ctx, b)
	} else {
		err = p.appended.open.WriteRows(ctx, b, rows)
	}
	if err != nil {
		return err
	}
	a.measure(p)
	return a.relieve()
}

// large tells a row that is not to be copied for waiting.
func (a *appendFiles) large(b *row.Batch) bool { return b.Rows == 1 && b.Size() > openWorth }

// mostOpen is how many parts may be open now.
func (a *appendFiles) mostOpen() int {
	if a.w.opts.Memory <= 0 || a.w.opts.Spill == nil {
		return maxOpen
	}
	return min(max(a.w.opts.Memory/2/openWorth, 1), maxOpen)
}

// closeIdle tells whether the part that was written to least recently may make room.
func (a *appendFiles) closeIdle() bool { return a.oldest().appended.used+idle < a.w.batches }

// measure follows the memory of a part's open file.
func (a *appendFiles) measure(p *part) {
	n := 0
	if p.appended.open != nil {
		n = p.appended.open.Buffered()
	}
	a.buffered += n - p.appended.buffered
	p.appended.buffered = n
}

// relieve ends row groups before their time while open files hold too much, the largest first.
func (a *appendFiles) relieve() error {
	for a.buffered > a.forOpen() {
		most := a.open[0]
		for _, p := range a.open {
			if p.appended.buffered > most.appended.buffered {
				most = p
			}
		}
		before := a.buffered
		if err := most.appended.open.Shrink(); err != nil {
			return err
		}
		a.measure(most)
		if a.buffered >= before {
			return nil // what is left is what files need to be open at all
		}
	}
	return nil
}

// forOpen is the memory that open files may have.
func (a *appendFiles) forOpen() int {
	switch {
	case a.w.opts.Memory <= 0:
		return math.MaxInt
	case len(a.open) == 1 && !a.waiting.any():
		return a.w.opts.Memory
	}
	return a.w.opts.Memory / 2
}

// shrink implements filer.
func (a *appendFiles) shrink(ctx context.Context) error {
	if err := a.relieve(); err != nil {
		return err
	}
	return a.yield(ctx)
}

// hold keeps rows in memory, and moves rows on when they are too many.
func (a *appendFiles) hold(ctx context.Context, p *part, b *row.Batch, rows []int32) error {
	a.waiting.add(p, b, rows)
	return a.yield(ctx)
}

// yield moves waiting rows on while they are too many.
func (a *appendFiles) yield(ctx context.Context) error {
	for a.waiting.size() > a.forWaiting() {
		if a.w.opts.Spill != nil {
			return a.waiting.spill(ctx)
		}
		if err := a.flush(ctx, a.waiting.most()); err != nil {
			return err
		}
	}
	return nil
}

// forWaiting is the memory that waiting rows may have. Slices that grow are a quarter larger than what is in them.
func (a *appendFiles) forWaiting() int {
	if a.w.opts.Spill == nil {
		return a.w.memory()
	}
	return a.w.memory() * 2 / 5
}

// flush writes the waiting rows of a part and leaves its file open.
func (a *appendFiles) flush(ctx context.Context, p *part) error {
	if p.appended.open == nil && len(a.open) >= a.mostOpen() {
		if err := a.makeRoom(); err != nil {
			return err
		}
	}
	return a.waiting.take(ctx, p, func(b *row.Batch, rows []int32) error { return a.put(ctx, p, b, rows) })
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

// rowGroup is smaller where many parts may be open at once and nothing else bounds their memory.
func (a *appendFiles) rowGroup() int {
	if a.w.opts.Memory > 0 || len(a.w.router.keys) == 0 && a.w.router.assigner == nil {
		return a.w.opts.RowGroupBytes
	}
	return a.w.opts.RowGroupBytes / 8
}

// oldest is the open part that was written to least recently.
func (a *appendFiles) oldest() *part {
	oldest := a.open[0]
	for _, p := range a.open {
		if p.appended.used < oldest.appended.used {
			oldest = p
		}
	}
	return oldest
}

// makeRoom closes parts until another one may be opened.
func (a *appendFiles) makeRoom() error {
	for len(a.open) >= a.mostOpen() {
		if err := a.close(a.oldest()); err != nil {
			return err
		}
	}
	return nil
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
	a.measure(p)
	a.open = slices.DeleteFunc(a.open, func(q *part) bool { return p == q })
}

// finish implements filer.
func (a *appendFiles) finish(ctx context.Context, p *part) (message.DataIncrement, error) {
	if len(p.appended.spilled) > 0 || len(p.appended.waiting) > 0 {
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
	err := a.waiting.drop(ctx, p)
	p.appended.files = nil
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
