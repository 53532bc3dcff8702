package window

import (
	"io"
	"sync"
)

const (
	// Bytes are fetched where fewer are asked for.
	Bytes = 256 << 10
	// kept is the number of windows of a reader; a Parquet reader goes through its columns side by side.
	kept = 32
)

// Fetch reads len(p) bytes at off, all within the file, and returns how many it has.
type Fetch func(p []byte, off int64) (int, error)

// Reader reads a file of a known size. Its methods may be called at the same time.
type Reader struct {
	size  int64
	fetch Fetch

	mu   sync.Mutex
	seen []*window // the one used last first
}

type window struct {
	at   int64
	data []byte
}

// New returns a reader of a file of so many bytes; head is its beginning as far as it was read already.
func New(size int64, head []byte, fetch Fetch) *Reader {
	r := &Reader{size: size, fetch: fetch}
	if len(head) > 0 {
		r.seen = []*window{{data: head}}
	}
	return r
}

// ReadAt implements io.ReaderAt for offsets that are not negative.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) && off < r.size {
		n, err := r.some(p[done:], off)
		done += n
		off += int64(n)
		if err != nil {
			return done, err
		}
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

// some reads at least a byte of those that the file has at off: from a window, or from the store.
func (r *Reader) some(p []byte, off int64) (int, error) {
	if n := r.known(p, off); n > 0 {
		return n, nil
	}
	if len(p) >= Bytes {
		n := min(int64(len(p)), r.size-off)
		return r.fetch(p[:n], off)
	}
	w := &window{at: off, data: make([]byte, min(Bytes, r.size-off))}
	if _, err := r.fetch(w.data, off); err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append([]*window{w}, r.seen[:min(len(r.seen), kept-1)]...)
	return copy(p, w.data), nil
}

// known copies what a window has of the bytes at off.
func (r *Reader) known(p []byte, off int64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, w := range r.seen {
		if off < w.at || off >= w.at+int64(len(w.data)) {
			continue
		}
		copy(r.seen[1:i+1], r.seen[:i])
		r.seen[0] = w
		return copy(p, w.data[off-w.at:])
	}
	return 0
}
