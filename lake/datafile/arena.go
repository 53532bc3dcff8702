package datafile

import (
	"fmt"
	"io"
)

// blockSize is small enough that a thousand open writers stay cheap, and large enough that a write is worth its call.
const blockSize = 64 << 10

// arena holds the finished pages of a row group, of all columns in the order in which they were finished, so that no
// column needs room of its own to grow. Its memory is used again after a reset.
type arena struct {
	blocks [][]byte
	size   int
}

// extent is a stretch of an arena.
type extent struct{ start, end int }

// add copies data in and returns where it lies.
func (a *arena) add(data []byte) extent {
	e := extent{start: a.size}
	for len(data) > 0 {
		block := a.size / blockSize
		if block == len(a.blocks) {
			a.blocks = append(a.blocks, make([]byte, blockSize))
		}
		n := copy(a.blocks[block][a.size%blockSize:], data)
		a.size += n
		data = data[n:]
	}
	e.end = a.size
	return e
}

// writeTo writes an extent out.
func (a *arena) writeTo(out io.Writer, e extent) error {
	for e.start < e.end {
		block := a.blocks[e.start/blockSize]
		from := e.start % blockSize
		n := min(e.end-e.start, blockSize-from)
		if _, err := out.Write(block[from : from+n]); err != nil {
			return fmt.Errorf("write pages: %w", err)
		}
		e.start += n
	}
	return nil
}

func (a *arena) reset() { a.size = 0 }

// memory is the number of bytes held.
func (a *arena) memory() int { return len(a.blocks) * blockSize }
