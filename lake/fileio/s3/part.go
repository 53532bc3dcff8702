package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// part is a piece of a file on its way: chunks of memory, or a file on the local disk that has no name.
type part struct {
	buffers *Buffers
	chunks  [][]byte
	size    int64
	spill   *os.File
	// promised tells that the chunks are being sent.
	promised bool
}

// write adds bytes. The context ends the wait for memory.
func (p *part) write(ctx context.Context, data []byte) error {
	for len(data) > 0 && p.spill == nil {
		used := int(p.size % chunkBytes)
		if used == 0 {
			chunk, err := p.buffers.take(ctx)
			if err != nil {
				return err
			}
			if chunk == nil {
				if err := p.toDisk(); err != nil {
					return err
				}
				break
			}
			p.chunks = append(p.chunks, chunk)
		}
		n := copy(p.chunks[len(p.chunks)-1][used:], data)
		p.size += int64(n)
		data = data[n:]
	}
	if len(data) == 0 {
		return nil
	}
	n, err := p.spill.Write(data)
	p.size += int64(n)
	if err != nil {
		return fmt.Errorf("put a part aside on the local disk: %w", err)
	}
	return nil
}

// toDisk moves the part to the local disk and gives its memory back.
func (p *part) toDisk() error {
	f, err := os.CreateTemp("", "tributary-upload-*")
	if err != nil {
		return fmt.Errorf("put a part aside on the local disk: %w", err)
	}
	// Without a name it goes with the process.
	if err = os.Remove(f.Name()); err == nil {
		_, err = io.Copy(f, p.reader())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("put a part aside on the local disk: %w", err), f.Close())
	}
	p.spill = f
	p.buffers.give(p.chunks, false)
	p.chunks = nil
	return nil
}

// send says that the part is whole and will be released soon.
func (p *part) send() {
	p.promised = true
	p.buffers.promise(len(p.chunks))
}

// release gives back what the part holds.
func (p *part) release() {
	if p.spill != nil {
		_ = p.spill.Close() // it has no name, and what was in it is sent or given up
		p.spill = nil
	}
	p.buffers.give(p.chunks, p.promised)
	p.chunks, p.promised = nil, false
}

// reader reads the part from its start, as often as it is asked to.
func (p *part) reader() io.ReadSeeker {
	if p.spill != nil {
		return io.NewSectionReader(p.spill, 0, p.size)
	}
	return io.NewSectionReader(chunked(p.chunks), 0, p.size)
}

// chunked reads bytes that lie in chunks of one size.
type chunked [][]byte

// ReadAt implements io.ReaderAt.
func (c chunked) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		i := int(off / chunkBytes)
		if i >= len(c) {
			return done, io.EOF
		}
		n := copy(b[done:], c[i][off%chunkBytes:])
		done += n
		off += int64(n)
	}
	return done, nil
}
