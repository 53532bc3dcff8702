package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// Unsettled are the runs below a staging root whose end is not recorded yet: under way, waiting for a resume, or lost. Their
// data files may still be committed, however old they are and though nothing in the table names them.
type Unsettled struct {
	// Ledgers of the runs, sorted.
	Ledgers  []Key
	prefixes map[string]bool
}

// ReadUnsettled reads which runs are unsettled, whatever their targets: names of data files are unique, and one table reached
// under two addresses is two targets. A run that has ended is none of them, for a snapshot names what it committed, and the
// rest is of no use.
//
// Of a file that was there before the call, the answer is true: an attempt is registered before its first file. Of later files
// it says nothing.
func ReadUnsettled(ctx context.Context, store fileio.Store) (*Unsettled, error) {
	open, err := marked(ctx, store, marks, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	u := &Unsettled{prefixes: map[string]bool{}}
	for _, o := range open {
		l := Open(store, o.Key)
		result, err := l.Result(ctx)
		if err != nil {
			return nil, fmt.Errorf("read how the run at %s ended: %w", l.URI(), err)
		}
		if result != nil || slices.Contains(u.Ledgers, o.Key) {
			continue
		}
		prefixes, err := l.Prefixes(ctx)
		if err != nil {
			return nil, err
		}
		for p := range prefixes {
			u.prefixes[p] = true
		}
		u.Ledgers = append(u.Ledgers, o.Key)
	}
	slices.SortFunc(u.Ledgers, func(a, b Key) int {
		return cmp.Or(strings.Compare(a.Job, b.Job), strings.Compare(a.Run, b.Run), strings.Compare(a.Table, b.Table))
	})
	return u, nil
}

// Owns tells whether a file is of an unsettled run, by its bare name: a data file, one that is being written, or one beside it.
func (u *Unsettled) Owns(name string) bool {
	name = strings.TrimPrefix(name, ".") // a file in the making: see package fileio
	return len(name) > prefixLen && u.prefixes[name[:prefixLen]]
}

// prefixLen is the length of every attempt's prefix.
const prefixLen = len("data-00000000-0000-0000-0000-000000000000-")
