package wire

import (
	"fmt"
	"io"
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// Features are what client and server negotiated and what changes how a result is sent.
type Features struct {
	// DeprecateEOF leaves out the EOF packet after definitions; the last packet of a result is an OK.
	DeprecateEOF bool
	// CacheMetadata is MariaDB's: definitions that have not changed may be left out of a result.
	CacheMetadata bool
}

// Request is a statement and where its rows go.
type Request struct {
	// Query is the SELECT, without parameters. Its columns are those outputs that have a source column, in order.
	Query string
	// Shard is named in errors.
	Shard source.Shard
	// Outputs are the columns of a batch; what is not read is filled with the output's constant or with nulls.
	Outputs []source.Output
	// BatchRows and BatchBytes are the size at which a batch is handed on; one larger row makes a batch alone.
	BatchRows, BatchBytes int
	// Pass, unless nil, is called before so many rows of so many bytes are handed on; its error ends the read.
	Pass func(rows, bytes int) error
	// Sample, unless nil, is told of values that policies change or refuse; the query bounds its rows.
	Sample *source.Sample
	// Room, unless nil, is called before memory is taken for a row of more than 4 MiB: with its bytes or, while more, with those
	// of a part of it. The next batch given to Swap holds that row alone. Its error ends the read.
	Room func(bytes int, more bool) error
	// Swap takes a full batch and gives the next one to fill, of the same types.
	Swap func(full *row.Batch) (*row.Batch, error)
}

// Reader reads results on one authenticated connection, which nobody else uses meanwhile.
type Reader struct {
	packets  *packets
	features Features
}

// NewReader makes a reader; its buffer of 256 KiB serves all its reads.
func NewReader(stream io.ReadWriter, f Features) *Reader {
	return &Reader{packets: newPackets(stream), features: f}
}

// Read runs the statement and decodes its rows. The connection may be used again when it is clean: all that the server
// had to say was read. The statistics hold what was handed on, also before an error: a [*SwapError] of the caller's, a
// [source.ErrSchemaChanged] or [source.ErrRefused] with its reason, the server's own error, [ErrMalformed], or the
// stream's.
func (r *Reader) Read(q Request) (stats source.ReadStats, clean bool, err error) {
	st := &stream{Request: q}
	clean, err = st.run(&statement{packets: r.packets, Features: r.features})
	return st.stats, clean, err
}

// stream fills batches from the rows of one statement.
type stream struct {
	Request
	decoder *decoder
	batch   *row.Batch
	// size is the bytes of the packets whose rows the batch holds.
	size int
	// alone tells that the next row is to be in a batch of its own.
	alone bool
	stats source.ReadStats
}

// run prepares, executes and reads to the end. The connection is clean when all that the server had to say was read.
func (st *stream) run(s *statement) (clean bool, err error) {
	if err := s.prepare(st.Query); err != nil {
		return false, err
	}
	columns, err := chooseDecoders(st.Shard, st.Outputs, s.columns)
	if err != nil {
		return false, err
	}
	same, err := s.execute()
	if err != nil {
		return false, err
	}
	if !same {
		return false, fmt.Errorf("%w: the table was altered while the read began: start a new run, which plans anew", source.ErrSchemaChanged)
	}
	types := make([]schema.Type, len(st.Outputs))
	for i, o := range st.Outputs {
		types[i] = o.Type
	}
	st.decoder = newDecoder(columns)
	st.use(row.NewBatch(types))
	if st.Room != nil {
		s.packets.room = st.room
		defer func() { s.packets.room = nil }()
	}
	if err := st.rows(s.packets); err != nil {
		return false, err
	}
	st.stats.Replaced = st.decoder.replacedCounts()
	s.packets.large = nil
	return s.packets.drained() && s.close() == nil, nil
}

// rows decodes rows until the end of the result.
func (st *stream) rows(packets *packets) error {
	for {
		p, err := packets.next()
		if err != nil {
			return err
		}
		if len(p) == 0 {
			return fmt.Errorf("%w: empty", ErrMalformed)
		}
		switch p[0] {
		case headOK:
		case headErr:
			return serverError(p)
		case headEOF:
			return st.flush()
		}
		// A row that would make the batch too large begins the next one.
		if st.batch.Rows >= st.BatchRows || st.batch.Rows > 0 && st.size+len(p) > st.BatchBytes {
			if err := st.flush(); err != nil {
				return err
			}
		}
		if st.Sample == nil {
			err = st.decoder.row(p)
		} else {
			st.Sample.Largest = max(st.Sample.Largest, len(p))
			err = st.decoder.sampled(p, st.batch.Rows, st.Sample.Found)
		}
		if err != nil {
			return err
		}
		st.batch.Rows++
		st.size += len(p)
		if st.alone {
			// Handed on at once, and nothing kept: others may be waiting for the memory.
			packets.large, st.alone = nil, false
			if err := st.flush(); err != nil {
				return err
			}
		}
	}
}

// room asks for the memory of a large row, after the rows before it were handed on.
func (st *stream) room(bytes int, more bool) error {
	st.alone = true
	if err := st.flush(); err != nil {
		return err
	}
	if err := st.Room(bytes, more); err != nil {
		return &SwapError{err}
	}
	return nil
}

// flush hands a batch on, with the columns that are the same for all its rows.
func (st *stream) flush() error {
	if st.batch.Rows == 0 {
		return nil
	}
	for i, o := range st.Outputs {
		if o.Column.Name == "" {
			if err := fill(&st.batch.Columns[i], o.Constant, st.batch.Rows); err != nil {
				return err
			}
		}
	}
	if st.Pass != nil {
		if err := st.Pass(st.batch.Rows, st.size); err != nil {
			return err
		}
	}
	st.stats.Rows += int64(st.batch.Rows)
	st.stats.Bytes += int64(st.size)
	next, err := st.Swap(st.batch)
	if err != nil {
		return &SwapError{err}
	}
	if len(next.Columns) != len(st.Outputs) {
		return fmt.Errorf("a batch of %d columns was given for %d outputs", len(next.Columns), len(st.Outputs))
	}
	st.use(next)
	return nil
}

// use makes an empty batch of b the one to fill. Memory that a very large row took is given back.
func (st *stream) use(b *row.Batch) {
	b.Reset()
	for i := range b.Columns {
		if v := &b.Columns[i]; cap(v.Data) > 2*st.BatchBytes {
			v.Data = nil
		}
	}
	st.batch, st.size = b, 0
	st.decoder.bind(b)
}

// fill appends a constant, or a null when there is none, n times. It is the text of a value of the column's type.
func fill(v *row.Vector, constant *string, n int) error {
	if constant == nil {
		for range n {
			v.AppendNull()
		}
		return nil
	}
	if v.Layout != row.LayoutBytes {
		value, err := row.ParseText(v.Type, *constant)
		if err != nil {
			return fmt.Errorf("%w: %w", source.ErrRefused, err)
		}
		for range n {
			v.Append(value)
		}
		return nil
	}
	v.Data = slices.Grow(v.Data, n*len(*constant))
	for range n {
		v.Data = append(v.Data, *constant...)
		v.Offsets = append(v.Offsets, uint32(len(v.Data)))
	}
	return nil
}

// SwapError marks an error of the caller's Swap or Room, which says nothing about the source.
type SwapError struct {
	// Err is what Swap or Room returned.
	Err error
}

// Error says that rows could not be handed on, and why.
func (e *SwapError) Error() string { return "hand on rows: " + e.Err.Error() }

// Unwrap gives the caller's error.
func (e *SwapError) Unwrap() error { return e.Err }
