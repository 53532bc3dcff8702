package mergetree

import (
	"context"
	"errors"
	"path"
)

// mostAtOnce bounds the number of files that are open at once.
const mostAtOnce = 256

// fits tells whether runs can be merged at once within the memory: a block of each as it is in memory, with its keys, and what
// all share.
func (s *Sorter) fits(runs []spilled) bool {
	if len(runs) <= 2 {
		return true
	}
	if len(runs) > mostAtOnce {
		return false
	}
	need, largest := 4*blockBytes(s.opts.Memory), 0
	for _, r := range runs {
		need += 2 * r.run.Block
		largest = max(largest, r.run.Block)
	}
	return need+2*largest <= s.opts.Memory
}

// pass merges neighbouring runs, as many at once as fit, until what is left fits.
func (s *Sorter) pass(ctx context.Context) error {
	var merged []spilled
	for i := 0; i < len(s.runs); {
		if s.fits(append(merged[:len(merged):len(merged)], s.runs[i:]...)) {
			s.runs = append(merged, s.runs[i:]...)
			return nil
		}
		to := min(i+2, len(s.runs))
		for to < len(s.runs) && s.fits(s.runs[i:to+1]) {
			to++
		}
		group := s.runs[i:to]
		i = to
		if len(group) == 1 {
			merged = append(merged, group...)
			continue
		}
		src, err := s.merge(ctx, group, s.passing())
		if err != nil {
			return err
		}
		run, err := s.writeRun(ctx, src)
		if err != nil {
			return err
		}
		merged = append(merged, run)
		s.remove(ctx, group)
	}
	s.runs = merged
	return nil
}

// merge opens runs and merges them.
func (s *Sorter) merge(ctx context.Context, runs []spilled, o MergeOptions) (Source, error) {
	var sources []Source
	for _, r := range runs {
		if r.segments != nil {
			sources = append(sources, openSegments(s.spec, r.store, r.segments, r.keys, &s.scratch, &s.rows))
			continue
		}
		src, err := openRun(ctx, s.spec, r.store, r.run, &s.scratch)
		if err != nil {
			return nil, errors.Join(err, Merge(s.spec, sources, o).Close())
		}
		sources = append(sources, src)
	}
	return Merge(s.spec, sources, o), nil
}

// remove gives the store back what merged runs took. One that stays is tried again by Close, which reports it.
func (s *Sorter) remove(ctx context.Context, runs []spilled) {
	gone := map[string]bool{}
	for _, r := range runs {
		if r.name != "" && r.store.Delete(ctx, path.Join(s.opts.Folder, r.name)) == nil {
			gone[r.name] = true
		}
	}
	var left []string
	for _, name := range s.names {
		if !gone[name] {
			left = append(left, name)
		}
	}
	s.names = left
}
