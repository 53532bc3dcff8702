package upkeep

import (
	"context"
	"fmt"
	"path"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/ledger"
)

// Unsettled protects the files of runs that may yet be committed from being taken for orphans. The ledgers are read when the first
// file is in question: see orphan.Options.Keep for why not before. Where they cannot be read, every file is kept. It is for one
// search.
type Unsettled struct {
	ctx     context.Context //nolint:containedctx // orphan's callback has none, and this lives as long as one call
	staging []fileio.Store

	read bool
	runs []*ledger.Unsettled
	err  error
	kept int
}

// NewUnsettled looks for runs below staging roots.
func NewUnsettled(ctx context.Context, staging ...fileio.Store) *Unsettled {
	return &Unsettled{ctx: ctx, staging: staging}
}

// Keep is for orphan.Options.
func (u *Unsettled) Keep(p string) bool {
	if !u.read {
		u.read = true
		u.load()
	}
	if u.err != nil {
		return true
	}
	for _, r := range u.runs {
		if r.Owns(path.Base(p)) {
			u.kept++
			return true
		}
	}
	return false
}

func (u *Unsettled) load() {
	for _, store := range u.staging {
		r, err := ledger.ReadUnsettled(u.ctx, store)
		if err != nil {
			u.err = fmt.Errorf("look for the files of unsettled runs, so that nothing was removed: %w", err)
			return
		}
		u.runs = append(u.runs, r)
	}
}

// Err tells why everything was kept, nil when it was not.
func (u *Unsettled) Err() error { return u.err }

// Kept is how many files were protected.
func (u *Unsettled) Kept() int { return u.kept }

// Runs names the unsettled runs, as JOB/RUN/TABLE.
func (u *Unsettled) Runs() []string {
	names := []string{}
	for _, r := range u.runs {
		for _, key := range r.Ledgers {
			names = append(names, path.Join(key.Job, key.Run, key.Table))
		}
	}
	return names
}
