package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// spill is a worker's folder for rows that do not fit into memory.
type spill struct {
	path string
	lock *os.File
	next atomic.Int64
}

const (
	spillPattern = "tributary-spill-*"
	spillLock    = "lock"
)

// openSpill makes a folder below another one, empty for the system's, and removes those of workers that did not live to do so.
func openSpill(below string) (*spill, error) {
	if below == "" {
		below = os.TempDir()
	}
	below, err := filepath.Abs(below)
	if err != nil {
		return nil, fmt.Errorf("folder for rows that do not fit into memory: %w", err)
	}
	if err := removeSpills(below); err != nil {
		return nil, fmt.Errorf("remove spilled rows of workers that have ended: %w", err)
	}
	s := &spill{}
	if s.path, err = os.MkdirTemp(below, spillPattern); err == nil {
		s.lock, err = lockNew(s.path)
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for rows that do not fit into memory: %w: choose another one with --spill", err)
	}
	return s, nil
}

// lockNew locks a folder as long as the process lives. The lock appears locked.
func lockNew(folder string) (*os.File, error) {
	f, err := os.CreateTemp(folder, "new-")
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, os.Rename(f.Name(), filepath.Join(folder, spillLock))
}

// removeSpills removes folders whose locks nobody holds.
func removeSpills(below string) error {
	found, err := filepath.Glob(filepath.Join(below, spillPattern))
	if err != nil {
		return err
	}
	var errs []error
	for _, folder := range found {
		f, err := os.OpenFile(filepath.Join(folder, spillLock), os.O_RDWR, 0)
		if err != nil {
			continue // being made or removed, or another account's
		}
		if lock(f) == nil {
			errs = append(errs, os.RemoveAll(folder))
		}
		_ = f.Close() // nothing was written to it
	}
	return errors.Join(errs...)
}

// folder gives an empty folder, which is made when it is written to.
func (s *spill) folder() (fileio.Store, func() error, error) {
	path := filepath.Join(s.path, strconv.FormatInt(s.next.Add(1), 10))
	store, err := fileio.NewLocal(path)
	return store, func() error { return os.RemoveAll(path) }, err
}

func (s *spill) close() error { return errors.Join(os.RemoveAll(s.path), s.lock.Close()) }
