package fileio

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// ErrNotExclusive is returned for a store that lets several writers create one file, so that a table on it could lose a commit.
// Another try finds the same.
var ErrNotExclusive = errors.New("the store does not keep several writers from creating one file")

// Prover is a store whose word that it is exclusive has to be tried out, as it depends on the server that it speaks to.
type Prover interface {
	// ProveExclusive lets writers race for files that it removes again. It returns ErrNotExclusive when more than one won, and
	// any other error when it cannot be known.
	ProveExclusive(ctx context.Context) error
}

// ProveExclusive makes sure that a store is exclusive, by trying it out where its word is not enough.
func ProveExclusive(ctx context.Context, s Store) error {
	if !s.Exclusive() {
		return fmt.Errorf("%w: %s", ErrNotExclusive, s.URI(""))
	}
	if p, ok := s.(Prover); ok {
		return p.ProveExclusive(ctx)
	}
	return nil
}

// BulkDeleter is a store that deletes many files in few requests.
type BulkDeleter interface {
	// DeleteAll deletes files, in no order. Missing ones are no error. After an error some may be left.
	DeleteAll(ctx context.Context, paths []string) error
}

// DeleteAll deletes files. A store that is no BulkDeleter deletes so many at once; one at a time goes in the order of the
// paths. Missing files are no error, and one that cannot be deleted does not keep the others: the first such error is
// returned.
func DeleteAll(ctx context.Context, s Store, atOnce int, paths []string) error {
	if b, ok := s.(BulkDeleter); ok {
		return b.DeleteAll(ctx, paths)
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, p := range paths {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error { return s.Delete(ctx, p) })
	}
	return group.Wait()
}
