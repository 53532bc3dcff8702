package hdfs

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/colinmarc/hdfs/v2"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// Store is what lies below a folder of a cluster. See fileio.Store.
type Store struct {
	cluster   *cluster
	authority string
	// root is the clean path, without slashes at its ends.
	root string
}

var (
	_ fileio.Store        = (*Store)(nil)
	_ fileio.FolderLister = (*Store)(nil)
)

// URI implements fileio.Store.
func (s *Store) URI(p string) string { return "hdfs://" + path.Join(s.authority, s.root, p) }

// Exclusive implements fileio.Store: the name node lets one of several renames to one name win.
func (s *Store) Exclusive() bool { return true }

// name is the path of a clean path in the cluster.
func (s *Store) name(p string) string { return "/" + path.Join(s.root, p) }

// file checks a path and the context, and returns the path's shortest form.
func (s *Store) file(ctx context.Context, op, p string) (string, error) {
	clean, err := fileio.CleanFile(p)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", op, s.URI(""), err)
	}
	return clean, nil
}

// Stat implements fileio.Store.
func (s *Store) Stat(ctx context.Context, p string) (fileio.Info, error) {
	clean, err := s.file(ctx, "stat", p)
	if err != nil {
		return fileio.Info{}, err
	}
	info, err := s.stat(ctx, clean)
	if err != nil {
		return fileio.Info{}, s.wrap("stat", clean, err)
	}
	return infoOf(clean, info), nil
}

// stat describes a file; a folder is none.
func (s *Store) stat(ctx context.Context, p string) (*hdfs.FileStatus, error) {
	got := make(chan *hdfs.FileStatus, 1)
	err := s.cluster.do(ctx, func(c *session) error {
		info, err := c.call.stat(s.name(p))
		if err == nil && isFolder(info) {
			err = fs.ErrNotExist
		}
		if err == nil {
			got <- info
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-got, nil
}

func infoOf(p string, e *hdfs.FileStatus) fileio.Info {
	return fileio.Info{Path: p, Size: int64(e.GetLength()), Modified: time.UnixMilli(int64(e.GetModificationTime()))}
}

// List implements fileio.Store. Temporary files are listed too.
func (s *Store) List(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	clean, err := s.folder(ctx, folder)
	if err != nil {
		return err
	}
	return s.list(ctx, clean, fn)
}

func (s *Store) list(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	return s.entries(ctx, folder, func(e *hdfs.FileStatus) error {
		p := path.Join(folder, string(e.GetPath()))
		if isFolder(e) {
			return s.list(ctx, p, fn)
		}
		return fn(infoOf(p, e))
	})
}

// Folders implements fileio.FolderLister.
func (s *Store) Folders(ctx context.Context, folder string) ([]string, error) {
	clean, err := s.folder(ctx, folder)
	if err != nil {
		return nil, err
	}
	var names []string
	err = s.entries(ctx, clean, func(e *hdfs.FileStatus) error {
		if isFolder(e) {
			names = append(names, string(e.GetPath()))
		}
		return nil
	})
	return names, err
}

// isFolder tells folders from files and symbolic links (HdfsFileStatusProto.FileType).
func isFolder(e *hdfs.FileStatus) bool { return e.GetFileType() == 1 }

func (s *Store) folder(ctx context.Context, folder string) (string, error) {
	clean, err := fileio.CleanFolder(folder)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("list %s: %w", s.URI(""), err)
	}
	return clean, nil
}

// entries calls fn for what lies right below a folder, page by page (dfs.ls.limit, 1,000), so that a folder may be larger than
// memory. A missing folder, or a file, has nothing below it.
func (s *Store) entries(ctx context.Context, folder string, fn func(e *hdfs.FileStatus) error) error {
	type answer struct {
		entries []*hdfs.FileStatus
		more    bool
	}
	for after, more := []byte(nil), true; more; {
		got := make(chan answer, 1)
		err := s.cluster.do(ctx, func(c *session) error {
			entries, more, err := c.call.list(s.name(folder), after)
			if err == nil {
				got <- answer{entries, more}
			}
			return err
		})
		if missing(err) {
			return nil
		}
		if err != nil {
			return s.wrap("list", folder, err)
		}
		a := <-got
		for _, e := range a.entries {
			if after = e.GetPath(); len(after) == 0 {
				return nil // a file tells of itself
			}
			if err := fn(e); err != nil {
				return err
			}
		}
		more = a.more && len(a.entries) > 0
	}
	return nil
}

// Delete implements fileio.Store. A folder is no file and is left alone.
func (s *Store) Delete(ctx context.Context, p string) error {
	clean, err := s.file(ctx, "delete", p)
	if err != nil {
		return err
	}
	if err := s.remove(ctx, clean); err != nil {
		return s.wrap("delete", clean, err)
	}
	return nil
}

func (s *Store) remove(ctx context.Context, p string) error {
	err := s.cluster.do(ctx, func(c *session) error {
		info, err := c.call.stat(s.name(p))
		if err != nil || isFolder(info) {
			return err
		}
		return c.Remove(s.name(p))
	})
	if missing(err) {
		return nil
	}
	return err
}
