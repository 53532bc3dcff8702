package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrTooLarge is returned by ReadFile for a file above the limit.
var ErrTooLarge = errors.New("file is too large")

// ReadFile returns a whole file of at most limit bytes. A larger one gives ErrTooLarge and is not read.
func ReadFile(ctx context.Context, s Store, path string, limit int64) (data []byte, err error) {
	r, err := s.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := r.Close(); err == nil && cerr != nil {
			data, err = nil, fmt.Errorf("close %s: %w", s.URI(path), cerr)
		}
	}()
	if r.Size() > limit {
		return nil, fmt.Errorf("read %s: %w: %d bytes, at most %d are expected here", s.URI(path), ErrTooLarge, r.Size(), limit)
	}
	data = make([]byte, r.Size())
	n, err := r.ReadAt(data, 0)
	if err != nil && !(errors.Is(err, io.EOF) && n == len(data)) {
		return nil, fmt.Errorf("read %s: %w", s.URI(path), err)
	}
	return data, nil
}

// WriteFile creates or replaces a file in one step.
func WriteFile(ctx context.Context, s Store, path string, data []byte) error {
	w, err := s.Create(ctx, path)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Close()
}

// FolderLister is a store that can name the folders right below a folder without visiting what they hold.
type FolderLister interface {
	// Folders returns the bare names of the folders right below one, in no order. A missing folder has none.
	Folders(ctx context.Context, folder string) ([]string, error)
}

// Folders returns the bare names of the folders right below one, in no order. A store that is no FolderLister is
// listed in full.
func Folders(ctx context.Context, s Store, folder string) ([]string, error) {
	if l, ok := s.(FolderLister); ok {
		return l.Folders(ctx, folder)
	}
	clean, err := CleanFolder(folder)
	if err != nil {
		return nil, err
	}
	prefix := clean + "/"
	if clean == "" {
		prefix = ""
	}
	seen := map[string]bool{}
	var names []string
	err = s.List(ctx, folder, func(info Info) error {
		name, _, below := strings.Cut(strings.TrimPrefix(info.Path, prefix), "/")
		if below && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		return nil
	})
	return names, err
}
