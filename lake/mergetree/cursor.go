package mergetree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tributary-lake/tributary/lake/row"
)

// cursor stands on a row of a sorted source.
type cursor struct {
	src   Source // nil when the batch is all there is
	batch *row.Batch
	keys  keys
	// rows are the places of rows in the batch in sorted order, which keys.prefix is in; nil means that the batch is sorted.
	rows []uint32
	size int // about the bytes of a row of the batch

	pos, n int
	ended  bool
	// of the row that it stands on
	prefix uint64
	key    []byte
	row    uint32
}

// first puts the cursor on its first row.
func (c *cursor) first(ctx context.Context, k *keyer) error {
	if c.src != nil {
		return c.load(ctx, k)
	}
	c.pos, c.n, c.ended = 0, c.batch.Rows, c.batch.Rows == 0
	c.measure()
	c.stand()
	return nil
}

// last tells whether there is no further row in the batch.
func (c *cursor) last() bool { return c.pos+1 >= c.n }

// advance goes to the next row. At the end of a batch it is replaced.
func (c *cursor) advance(ctx context.Context, k *keyer) error {
	if c.pos++; c.pos < c.n {
		c.stand()
		return nil
	}
	if c.src == nil {
		c.ended = true
		return nil
	}
	return c.load(ctx, k)
}

func (c *cursor) stand() {
	if c.ended {
		return
	}
	c.row = uint32(c.pos)
	if c.rows != nil {
		c.row = c.rows[c.pos]
	}
	c.prefix = c.keys.prefix[c.pos]
	c.key = c.keys.bytes(c.row)
}

func (c *cursor) measure() {
	if c.batch.Rows > 0 {
		c.size = c.batch.Size() / c.batch.Rows
	}
}

// load reads the next batch of the source and checks its order.
func (c *cursor) load(ctx context.Context, k *keyer) error {
	prefix, key := c.prefix, append([]byte(nil), c.key...)
	started := c.n > 0
	c.n = 0
	for c.n == 0 {
		err := c.src.Next(ctx, c.batch)
		if errors.Is(err, io.EOF) {
			c.ended = true
			return nil
		}
		if err != nil {
			return err
		}
		c.n = c.batch.Rows
	}
	c.keys.reset()
	if err := k.add(&c.keys, c.batch, 0); err != nil {
		return err
	}
	c.pos = 0
	c.measure()
	c.stand()
	if started && compareKeys(prefix, key, c.prefix, c.key) > 0 {
		return k.orderError(c.batch, 0)
	}
	for i := 1; i < c.n; i++ {
		if p, q := c.keys.prefix[i-1], c.keys.prefix[i]; p > q ||
			p == q && bytes.Compare(c.keys.bytes(uint32(i-1)), c.keys.bytes(uint32(i))) > 0 {
			return k.orderError(c.batch, i)
		}
	}
	return nil
}

func compareKeys(p uint64, a []byte, q uint64, b []byte) int {
	switch {
	case p < q:
		return -1
	case p > q:
		return 1
	}
	return bytes.Compare(a, b)
}

func (k *keyer) orderError(b *row.Batch, i int) error {
	return fmt.Errorf("%w: key %s comes after a greater one", ErrOrder, k.text(b, i))
}

// text is a row's key for errors.
func (k *keyer) text(b *row.Batch, i int) string {
	text := "("
	for n, c := range k.columns {
		if n > 0 {
			text += ", "
		}
		v := &b.Columns[c.at]
		text += fmt.Sprintf("%.100s", row.Text(v.Type, v.Value(i)))
	}
	return text + ")"
}
