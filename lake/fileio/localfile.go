package fileio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/uuid"
)

// localReader is an open file; os.File serves concurrent ReadAt.
type localReader struct {
	*os.File
	size int64
}

// Size implements Reader.
func (r *localReader) Size() int64 { return r.size }

// localWriter writes a temporary file and gives it its name on Close.
type localWriter struct {
	ctx   context.Context //nolint:containedctx // a writer lives within the call that its Create was made for
	store *Local
	path  string
	name  string
	f     *os.File // nil once closed or aborted
}

// Write implements io.Writer.
func (w *localWriter) Write(p []byte) (int, error) {
	if w.f == nil {
		return 0, fmt.Errorf("write %s: %w", w.store.URI(w.path), fs.ErrClosed)
	}
	if err := w.ctx.Err(); err != nil {
		return 0, fmt.Errorf("write %s: %w", w.store.URI(w.path), err)
	}
	n, err := w.f.Write(p)
	if err != nil {
		return n, w.store.wrap("write", w.path, err)
	}
	return n, nil
}

// Close implements Writer: data first, then the name, then the folder that holds the name.
func (w *localWriter) Close() error {
	if w.f == nil {
		return fmt.Errorf("close %s: %w", w.store.URI(w.path), fs.ErrClosed)
	}
	f := w.f
	w.f = nil
	err := errors.Join(w.ctx.Err(), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), w.name)
	}
	if err != nil {
		return errors.Join(w.store.wrap("close", w.path, err), removeTemporary(f.Name()))
	}
	if err := syncFolder(filepath.Dir(w.name)); err != nil {
		return w.store.wrap("flush the folder of", w.path, err)
	}
	return nil
}

// Abort implements Writer.
func (w *localWriter) Abort() error {
	if w.f == nil {
		return nil
	}
	f := w.f
	w.f = nil
	if err := errors.Join(f.Close(), removeTemporary(f.Name())); err != nil {
		return w.store.wrap("abort", w.path, err)
	}
	return nil
}

func removeTemporary(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// createTemporary makes the temporary file of a target, and the target's folder when it is missing.
func createTemporary(target string) (*os.File, error) {
	dir, base := filepath.Split(target)
	tmp := filepath.Join(dir, "."+base+"."+uuid.NewString()+".tmp")
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := makeFolder(filepath.Clean(dir)); err != nil {
		return nil, err
	}
	return os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

// makeFolder makes a folder and those above it, and flushes each new name, so that no file in it can be lost by losing
// the folder.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, folderMode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeFolder(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, folderMode)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make folder %s: %w", dir, err)
	}
	// Also when another made it a moment ago: its flush may not have happened yet.
	return syncFolder(filepath.Dir(dir))
}

// syncFolder flushes a folder's names to the disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP) {
		err = nil // some mounted file systems keep no folders that could be flushed
	}
	return errors.Join(err, d.Close())
}
