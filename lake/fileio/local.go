package fileio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	fileMode   = 0o644
	folderMode = 0o755
)

// Local is the store on the local file system, or on one that is mounted.
type Local struct {
	root string
}

// NewLocal returns a store below an absolute path. Nothing is made or checked until the first use: the root's folder
// appears with the first file.
func NewLocal(root string) (*Local, error) {
	if !filepath.IsAbs(root) {
		return nil, fmt.Errorf("local store %q: the path must be absolute", root)
	}
	if strings.IndexByte(root, 0) >= 0 {
		return nil, fmt.Errorf("local store %q: %w: it holds a NUL byte", root, ErrPath)
	}
	return &Local{root: filepath.Clean(root)}, nil
}

// OpenLocal returns a store for an absolute path or a file: URI (file:///lake, file:/lake, file://localhost/lake).
// As in Paimon's paths, percent signs stand for themselves.
func OpenLocal(uri string) (*Local, error) {
	p := uri
	if rest, ok := strings.CutPrefix(uri, "file:"); ok {
		p = rest
		if authority, ok := strings.CutPrefix(rest, "//"); ok {
			host, below, _ := strings.Cut(authority, "/")
			if host != "" && host != "localhost" {
				return nil, fmt.Errorf("local store %q: host %q is not this machine; write file:///<path>", uri, host)
			}
			p = "/" + below
		}
	}
	if !filepath.IsAbs(p) {
		return nil, fmt.Errorf("local store %q: want an absolute path or file:///<path>", uri)
	}
	return NewLocal(p)
}

// URI implements Store.
func (l *Local) URI(p string) string {
	return "file://" + path.Join(filepath.ToSlash(l.root), p)
}

// Exclusive implements Store: a hard link is made by exactly one of several racing writers.
func (l *Local) Exclusive() bool { return true }

// Open implements Store.
func (l *Local) Open(ctx context.Context, p string) (Reader, error) {
	name, err := l.file(ctx, "open", p)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, l.wrap("open", p, err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(l.wrap("open", p, err), f.Close())
	}
	return &localReader{File: f, size: info.Size()}, nil
}

// Create implements Store.
func (l *Local) Create(ctx context.Context, p string) (Writer, error) {
	name, err := l.file(ctx, "create", p)
	if err != nil {
		return nil, err
	}
	f, err := createTemporary(name)
	if err != nil {
		return nil, l.wrap("create", p, err)
	}
	return &localWriter{ctx: ctx, store: l, path: p, name: name, f: f}, nil
}

// CreateExclusive implements Store. The final name comes into being by link(2), complete and flushed; O_EXCL on it
// would show a half-written file to readers, and leave one after a crash.
func (l *Local) CreateExclusive(ctx context.Context, p string, data []byte) (err error) {
	name, err := l.file(ctx, "create", p)
	if err != nil {
		return err
	}
	f, err := createTemporary(name)
	if err != nil {
		return l.wrap("create", p, err)
	}
	// The temporary name is only a name: losing track of it costs nothing but a file that cleaning removes.
	defer func() { _ = os.Remove(f.Name()) }()
	if _, err := f.Write(data); err != nil {
		return errors.Join(l.wrap("write", p, err), f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return l.wrap("write", p, err)
	}
	if err := os.Link(f.Name(), name); err != nil {
		return l.settleLink(p, name, data, err)
	}
	if err := syncFolder(filepath.Dir(name)); err != nil {
		return l.wrap("flush the folder of", p, err)
	}
	return nil
}

// settleLink decides what a failed link means: on NFS even a link that was made may be answered with an error, so the
// file that is there is the only witness.
func (l *Local) settleLink(p, name string, data []byte, cause error) error {
	if errors.Is(cause, syscall.EPERM) || errors.Is(cause, syscall.EOPNOTSUPP) {
		return fmt.Errorf("create %s: %w; the file system has no hard links, which a table needs to commit safely", l.URI(p), cause)
	}
	there, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l.wrap("create", p, cause)
	case err != nil:
		return l.wrap("create", p, errors.Join(cause, err))
	case !bytes.Equal(there, data):
		return fmt.Errorf("create %s: %w", l.URI(p), ErrExist)
	}
	if err := syncFolder(filepath.Dir(name)); err != nil {
		return l.wrap("flush the folder of", p, err)
	}
	return nil
}

// Stat implements Store.
func (l *Local) Stat(ctx context.Context, p string) (Info, error) {
	name, err := l.file(ctx, "stat", p)
	if err != nil {
		return Info{}, err
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Info{}, l.wrap("stat", p, err)
	}
	clean, err := CleanFile(p)
	return Info{Path: clean, Size: info.Size(), Modified: info.ModTime()}, err
}

// List implements Store. Temporary files are listed too.
func (l *Local) List(ctx context.Context, folder string, fn func(Info) error) error {
	clean, err := CleanFolder(folder)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	return l.list(ctx, clean, fn)
}

func (l *Local) list(ctx context.Context, folder string, fn func(Info) error) error {
	entries, err := l.entries(ctx, folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := path.Join(folder, e.Name())
		if e.IsDir() {
			if err := l.list(ctx, p, fn); err != nil {
				return err
			}
			continue
		}
		info, err := os.Stat(l.name(p))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since the folder was read
		}
		if err != nil {
			return l.wrap("list", p, err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if err := fn(Info{Path: p, Size: info.Size(), Modified: info.ModTime()}); err != nil {
			return err
		}
	}
	return nil
}

// Folders implements FolderLister.
func (l *Local) Folders(ctx context.Context, folder string) ([]string, error) {
	clean, err := CleanFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	entries, err := l.entries(ctx, clean)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
			continue
		}
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if info, err := os.Stat(l.name(path.Join(clean, e.Name()))); err == nil && info.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (l *Local) entries(ctx context.Context, folder string) ([]fs.DirEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list %s: %w", l.URI(folder), err)
	}
	entries, err := os.ReadDir(l.name(folder))
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, l.wrap("list", folder, err)
	}
	return entries, nil
}

// Delete implements Store. A folder is no file and is left alone.
func (l *Local) Delete(ctx context.Context, p string) error {
	name, err := l.file(ctx, "delete", p)
	if err != nil {
		return err
	}
	info, err := os.Lstat(name)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		err = os.Remove(name)
	}
	if err == nil || absent(err) {
		return nil
	}
	return l.wrap("delete", p, err)
}

func (l *Local) name(p string) string { return filepath.Join(l.root, filepath.FromSlash(p)) }

// file checks a path and the context, and returns the name for the operating system.
func (l *Local) file(ctx context.Context, op, p string) (string, error) {
	clean, err := CleanFile(p)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", op, l.URI(""), err)
	}
	return l.name(clean), nil
}

// wrap names the operation and the file, and turns the operating system's words into the store's.
func (l *Local) wrap(op, p string, err error) error {
	switch {
	case absent(err) && (op == "open" || op == "stat"):
		return fmt.Errorf("%s %s: %w", op, l.URI(p), ErrNotExist)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s %s: %w; a file stands where a folder must be made", op, l.URI(p), err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s %s: %w; give this process (uid %d) access to %s", op, l.URI(p), err, os.Geteuid(), l.root)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s %s: %w; free space below %s", op, l.URI(p), err, l.root)
	}
	return fmt.Errorf("%s %s: %w", op, l.URI(p), err)
}

// absent tells whether an error means that there is no such file. A file in the place of a folder counts: object
// stores know no difference.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
