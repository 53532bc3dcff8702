package orphan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

var (
	// ErrTooYoung is returned for a bound that would take files which a commit may still name.
	ErrTooYoung = errors.New("files younger than a day may belong to a commit that is still to come")
	// ErrUnreadable is returned when metadata of a snapshot or tag is missing. Nothing was removed. If an expiry is under
	// way, or was cut off, finish it and call again; else the table is damaged, and every file may be the one that helps.
	ErrUnreadable = errors.New("metadata of a snapshot is missing")
)

const (
	// youngest is the age below which a file is no orphan unless Options.Force says so; Paimon's default.
	youngest = 24 * time.Hour
	// atOnce is the number of files that are read or removed at the same time.
	atOnce = 8
)

// Options say what is taken for an orphan.
type Options struct {
	// OlderThan is the moment before which a file was last changed. The zero time stands for a day ago; a later moment is
	// ErrTooYoung.
	OlderThan time.Time
	// Force allows any OlderThan. It is for tables to which nobody writes.
	Force bool
	// Keep protects files by their paths in the table's store. It may be nil. It is asked, by one goroutine, when all files
	// are listed and before anything is read that names files: a file is then either known to whoever waits for its commit,
	// or was committed before and is named, or given up.
	Keep func(path string) bool
}

// bound is the moment before which files are old enough.
func (o Options) bound(now time.Time) (time.Time, error) {
	day := now.Add(-youngest)
	switch {
	case o.OlderThan.IsZero():
		return day, nil
	case o.OlderThan.After(day) && !o.Force:
		return day, fmt.Errorf("%w: older than %s is asked for", ErrTooYoung, o.OlderThan.Format(time.RFC3339))
	}
	return o.OlderThan, nil
}

// Find returns the orphans of a table, sorted by path. It removes nothing. Memory is in proportion to the number of files
// that are old enough.
func Find(ctx context.Context, store fileio.Store, path string, o Options) ([]fileio.Info, error) {
	list, err := find(ctx, store, path, o)
	if err != nil {
		return nil, fmt.Errorf("orphan files of %s: %w", store.URI(path), err)
	}
	return list, nil
}

// Remove removes the orphans of a table and returns them. After an error some may be gone; call again.
func Remove(ctx context.Context, store fileio.Store, path string, o Options) ([]fileio.Info, error) {
	list, err := Find(ctx, store, path, o)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(list))
	for i := range list {
		paths[i] = list[i].Path
	}
	if err := fileio.DeleteAll(ctx, store, atOnce, paths); err != nil {
		return nil, fmt.Errorf("remove orphan files of %s: %w", store.URI(path), err)
	}
	return list, nil
}

func find(ctx context.Context, store fileio.Store, path string, o Options) ([]fileio.Info, error) {
	bound, err := o.bound(time.Now())
	if err != nil {
		return nil, err
	}
	latest, err := snapshot.Schemas{Store: store, Table: path}.Latest(ctx)
	if err != nil {
		return nil, err
	}
	// The files first, then what names them. The other way round, a file whose commit comes in between would be found and
	// named by nothing that was read. A commit that comes later still names files that are either younger than the bound,
	// or kept by who knows of them.
	c, err := list(ctx, store, path, len(latest.PartitionKeys), func(i fileio.Info) bool { return i.Modified.Before(bound) })
	if err != nil {
		return nil, err
	}
	if o.Keep != nil {
		c.keep(o.Keep)
	}
	if len(c.named) > 0 {
		s := newSearch(store, path, c)
		if err := s.run(ctx); err != nil {
			return nil, err
		}
	}
	found := c.junk
	for _, infos := range c.named {
		found = append(found, infos...)
	}
	slices.SortFunc(found, func(a, b fileio.Info) int { return cmp.Compare(a.Path, b.Path) })
	return found, nil
}
