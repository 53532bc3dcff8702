package s3

import (
	"context"
	"sync"
)

const (
	// chunkBytes is the grain of the memory of uploads: a small file takes no more.
	chunkBytes = 256 << 10
	// UploadMemory is what the uploads of a process take when nothing else is said.
	UploadMemory = 64 << 20
)

// Buffers is the memory in which files wait to be sent, shared by all writers of a process. It is handed out in chunks. A
// writer that gets none although no other is about to give any back puts its part on the local disk: many files may be open
// at once, and S3 takes no parts below 5 MiB.
type Buffers struct {
	mu      sync.Mutex
	free    [][]byte
	unmade  int // chunks that may still be made
	sending int // chunks that an upload will give back
	// given is closed and made anew when chunks are given back.
	given chan struct{}
	most  int // the most chunks that were out at once
	out   int
}

// NewBuffers returns buffers of so many bytes in all.
func NewBuffers(bytes int64) *Buffers {
	return &Buffers{unmade: int(max(bytes/chunkBytes, 1)), given: make(chan struct{})}
}

// take returns a chunk, or nil when all are held by parts that are still being filled.
func (b *Buffers) take(ctx context.Context) ([]byte, error) {
	for {
		chunk, given := b.tryTake()
		if chunk != nil || given == nil {
			return chunk, ctx.Err()
		}
		select {
		case <-given:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryTake returns a chunk, or what to wait for.
func (b *Buffers) tryTake() (chunk []byte, given <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch n := len(b.free); {
	case n > 0:
		chunk, b.free = b.free[n-1], b.free[:n-1]
	case b.unmade > 0:
		b.unmade--
		chunk = make([]byte, chunkBytes)
	case b.sending > 0:
		return nil, b.given
	default:
		return nil, nil
	}
	b.out++
	b.most = max(b.most, b.out)
	return chunk, nil
}

// promise says that chunks are on their way out and will be given back.
func (b *Buffers) promise(chunks int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sending += chunks
	b.wake()
}

// give takes chunks back; promised tells that promise was told of them.
func (b *Buffers) give(chunks [][]byte, promised bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, chunks...)
	b.out -= len(chunks)
	if promised {
		b.sending -= len(chunks)
	}
	b.wake()
}

// wake lets everybody who waits look again. The caller holds the lock.
func (b *Buffers) wake() {
	close(b.given)
	b.given = make(chan struct{})
}
