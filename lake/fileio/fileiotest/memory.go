package fileiotest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// Memory is a store that lives in memory, for tests that would wait for disks. It passes the suite.
type Memory struct {
	mu    sync.Mutex
	files map[string]memoryFile
}

type memoryFile struct {
	data     []byte
	modified time.Time
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{files: map[string]memoryFile{}} }

// URI implements fileio.Store.
func (m *Memory) URI(path string) string { return strings.TrimSuffix("memory://store/"+path, "/") }

// Exclusive implements fileio.Store.
func (m *Memory) Exclusive() bool { return true }

// Open implements fileio.Store.
func (m *Memory) Open(ctx context.Context, path string) (fileio.Reader, error) {
	f, _, err := m.find(ctx, path)
	if err != nil {
		return nil, err
	}
	return memoryReader{bytes.NewReader(f.data)}, nil
}

type memoryReader struct{ *bytes.Reader }

func (memoryReader) Close() error { return nil }

func (m *Memory) find(ctx context.Context, path string) (memoryFile, string, error) {
	clean, err := check(ctx, path)
	if err != nil {
		return memoryFile{}, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.files[clean]
	if !ok {
		return f, clean, fmt.Errorf("%s: %w", m.URI(clean), fileio.ErrNotExist)
	}
	return f, clean, nil
}

func check(ctx context.Context, path string) (string, error) {
	clean, err := fileio.CleanFile(path)
	if err == nil {
		err = ctx.Err()
	}
	return clean, err
}

func (m *Memory) put(path string, data []byte) {
	m.files[path] = memoryFile{data: data, modified: time.Now()}
}

// Create implements fileio.Store.
func (m *Memory) Create(ctx context.Context, path string) (fileio.Writer, error) {
	clean, err := check(ctx, path)
	if err != nil {
		return nil, err
	}
	return &memoryWriter{store: m, path: clean, open: true, done: ctx.Err}, nil
}

type memoryWriter struct {
	store *Memory
	path  string
	data  []byte
	open  bool
	done  func() error
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	if !w.open {
		return 0, fs.ErrClosed
	}
	if err := w.done(); err != nil {
		return 0, err
	}
	w.data = append(w.data, p...)
	return len(p), nil
}

func (w *memoryWriter) Close() error {
	if !w.open {
		return fs.ErrClosed
	}
	w.open = false
	if err := w.done(); err != nil {
		return err
	}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.store.put(w.path, w.data)
	return nil
}

func (w *memoryWriter) Abort() error {
	w.open = false
	return nil
}

// CreateExclusive implements fileio.Store.
func (m *Memory) CreateExclusive(ctx context.Context, path string, data []byte) error {
	clean, err := check(ctx, path)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	f, taken := m.files[clean]
	if taken && !bytes.Equal(f.data, data) {
		return fmt.Errorf("%s: %w", m.URI(clean), fileio.ErrExist)
	}
	if !taken {
		m.put(clean, bytes.Clone(data))
	}
	return nil
}

// Stat implements fileio.Store.
func (m *Memory) Stat(ctx context.Context, path string) (fileio.Info, error) {
	f, clean, err := m.find(ctx, path)
	if err != nil {
		return fileio.Info{}, err
	}
	return fileio.Info{Path: clean, Size: int64(len(f.data)), Modified: f.modified}, nil
}

// List implements fileio.Store.
func (m *Memory) List(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	clean, err := fileio.CleanFolder(folder)
	if err != nil {
		return err
	}
	prefix := clean + "/"
	if clean == "" {
		prefix = ""
	}
	m.mu.Lock()
	files := maps.Clone(m.files)
	m.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !strings.HasPrefix(path, prefix) {
			continue
		}
		f := files[path]
		if err := fn(fileio.Info{Path: path, Size: int64(len(f.data)), Modified: f.modified}); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements fileio.Store.
func (m *Memory) Delete(ctx context.Context, path string) error {
	clean, err := check(ctx, path)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, clean)
	return nil
}
