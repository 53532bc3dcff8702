package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/google/uuid"
)

// cleanTime is how long the end of a file that was given up may take. A cancelled context must not keep it.
const cleanTime = 20 * time.Second

// beside is the path of a new temporary file of a target.
func beside(p string) string {
	return path.Join(path.Dir(p), "."+path.Base(p)+"."+uuid.NewString()+".tmp")
}

// create makes a temporary file, and the folders above it when they are missing.
func (s *Store) create(c *session, temporary string) (*hdfs.FileWriter, error) {
	replicas, block, err := s.shape(c)
	if err != nil {
		return nil, err
	}
	mode := 0o666 &^ s.cluster.site.umask
	f, err := c.CreateFile(s.name(temporary), replicas, block, mode)
	if !missing(err) {
		return f, err
	}
	if err := c.MkdirAll(s.name(path.Dir(temporary)), 0o777&^s.cluster.site.umask); err != nil {
		return nil, err
	}
	return c.CreateFile(s.name(temporary), replicas, block, mode)
}

// shape is the number of replicas and the size of blocks of a new file.
func (s *Store) shape(c *session) (replicas int, block int64, err error) {
	d, err := c.ServerDefaults() // it has them already
	if err != nil {
		return 0, 0, err
	}
	replicas, block = d.Replication, d.BlockSize
	if n := s.cluster.site.replication; n != 0 {
		replicas = n
	}
	if n := s.cluster.site.blockSize; n != 0 {
		block = n
	}
	return replicas, block, nil
}

// write writes at least a byte: of none the library makes a block that is never complete.
func write(f *hdfs.FileWriter, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	_, err := f.Write(data)
	return err
}

// finish closes a file that was written. The name node answers "not yet" while too few data nodes have told it of the last
// block. What a name node did not answer may be asked again too, but not what a data node failed at: the library forgets it,
// and a second Close would call a file whole that is not.
func finish(ctx context.Context, f *hdfs.FileWriter) error {
	began := time.Now()
	for failures := 1; ; failures++ {
		err := run(ctx, f.Close)
		var answered *fs.PathError
		again := errors.As(err, &answered) && (errors.Is(err, hdfs.ErrReplicating) || transient(answered.Err))
		if !again && (err == nil || !unreachable(err)) || time.Since(began) > patience {
			return err
		}
		if waited := wait(ctx, failures); waited != nil {
			return errors.Join(waited, err)
		}
	}
}

// put writes a small file beside its target, whole and closed, under a new name each time that it fails in a way that may pass.
func (s *Store) put(ctx context.Context, target string, data []byte) (*made, error) {
	began := time.Now()
	for failures := 1; ; failures++ {
		m := &made{path: beside(target), size: int64(len(data))}
		err := s.cluster.once(ctx, func(c *session) error {
			f, err := s.create(c, m.path)
			if err != nil {
				return err
			}
			if err := write(f, data); err != nil {
				return errors.Join(err, f.Close())
			}
			return finish(ctx, f)
		})
		if err == nil {
			err = s.look(ctx, m)
		}
		if err == nil {
			return m, nil
		}
		s.forget(ctx, m.path)
		if !transient(err) || ctx.Err() != nil || !s.cluster.patient(began) {
			return nil, err
		}
		if waited := wait(ctx, failures); waited != nil {
			return nil, errors.Join(waited, err)
		}
	}
}

// made is a temporary file that was closed.
type made struct {
	path string
	size int64
	// id is the file's own number (fileId), which it keeps under another name.
	id uint64
}

// look makes sure that a temporary file is there with all its bytes, and notes its number.
func (s *Store) look(ctx context.Context, m *made) error {
	info, err := s.stat(ctx, m.path)
	if err != nil {
		return err
	}
	if n := int64(info.GetLength()); n != m.size {
		return fmt.Errorf("%w: %d bytes were written and the file has %d", errFinal, m.size, n)
	}
	m.id = info.GetFileId()
	return nil
}

// forget removes a temporary file, whether or not its context has ended. One that stays is rubbish that cleaning knows.
func (s *Store) forget(ctx context.Context, temporary string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	_ = s.remove(ctx, temporary)
}
