package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
)

// ErrRow is returned for a row that does not fit into the memory of its job or worker, however long it waits.
var ErrRow = errors.New("a row is too large for the memory of the run")

const (
	// least is what a share is good for: one that would get less waits until others have left.
	least = 16 << 20
	// pinched is what shares keep while one of them takes memory for a row.
	pinched = 4 << 20
	// ordinary is how much of the memory the shares have together, in hundredths. The rest is for garbage that was not
	// collected yet, and for what nobody counts.
	ordinary = 60
	// forRows is how much of it rows may take, in hundredths: the pinched shares have the rest.
	forRows = 80
)

// Budget is the memory of one worker. It may be used from several goroutines.
type Budget struct {
	worker int64
	limit  func(bytes int64)

	mu     sync.Mutex
	jobs   map[string]*job
	shares map[*Share]bool
	// taken is for rows. growing is the share with a row of a length that is not known yet: only one may have such a row,
	// or two could wait for each other half way.
	taken   int64
	growing *Share
	// line are those that wait to take, the first first.
	line []*Share
	// turn counts the changes of the limit.
	turn int64
	// changed is closed, and made anew, when those who wait should look again.
	changed chan struct{}
}

// job is one that is at work.
type job struct {
	memory int64
	shares int
}

// New makes the budget of a worker that may use so many bytes. limit, unless nil, is told how many may be in use whenever
// that changes; while no job is at work they are all.
func New(bytes int64, limit func(bytes int64)) *Budget {
	if limit == nil {
		limit = func(int64) {}
	}
	limit(bytes)
	return &Budget{worker: bytes, limit: limit, jobs: map[string]*job{}, shares: map[*Share]bool{}, changed: make(chan struct{})}
}

// Share is the part of one reader and its writer. Its methods may be called from several goroutines.
type Share struct {
	budget  *Budget
	job     string
	pressed chan struct{}
	// asked is the turn whose limit the share knows, kept the one whose limit it has said to keep.
	asked, kept int64
	taken       int64
	// row is what was taken for the row that is growing.
	row int64
}

// Join takes part in the name of a job that may use so many bytes of each worker. It waits until the part is worth having.
// The caller leaves in the end.
func (b *Budget) Join(ctx context.Context, name string, memory int64) (*Share, error) {
	s := &Share{budget: b, job: name, pressed: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.wait(ctx, func() bool {
		n := int64(len(b.shares))
		return n == 0 || b.total(name, memory)*ordinary/100/(n+1) >= least
	})
	if err != nil {
		return nil, err
	}
	if b.jobs[name] == nil {
		b.jobs[name] = &job{memory: memory}
	}
	b.jobs[name].shares++
	b.shares[s] = true
	b.shift()
	return s, nil
}

// Leave ends the share and gives back what it has taken.
func (s *Share) Leave() {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.shares[s] {
		return
	}
	delete(b.shares, s)
	if j := b.jobs[s.job]; j.shares == 1 {
		delete(b.jobs, s.job)
	} else {
		j.shares--
	}
	b.taken -= s.taken
	if b.growing == s {
		b.growing = nil
	}
	b.shift()
}

// wait waits until ok. The mutex is held, except while waiting.
func (b *Budget) wait(ctx context.Context, ok func() bool) error {
	for !ok() {
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// wake lets those who wait look again.
func (b *Budget) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// shift makes a new limit known.
func (b *Budget) shift() {
	b.turn++
	b.limit(b.total("", 0))
	for s := range b.shares {
		select {
		case s.pressed <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
	b.wake()
}

// total is what all that is at work may use, with one more job.
func (b *Budget) total(name string, memory int64) int64 {
	if b.jobs[name] != nil {
		memory = 0
	}
	for _, j := range b.jobs {
		memory += j.memory
	}
	if memory == 0 {
		return b.worker
	}
	return min(memory, b.worker)
}

// Limit is how many bytes the share may hold now. It changes when [Share.Pressed] says so; the share then gives back what
// it has above it and calls [Share.Keeps].
func (s *Share) Limit() int64 {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	s.asked = b.turn
	n := int64(max(1, len(b.shares)))
	all := b.total("", 0) * ordinary / 100
	if b.taken == 0 {
		return all / n
	}
	return max(pinched, (all-b.taken)/n)
}

// Pressed gives a value when the limit may have changed.
func (s *Share) Pressed() <-chan struct{} { return s.pressed }

// Keeps tells that the share holds no more than the limit that it asked for last.
func (s *Share) Keeps() {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.kept < s.asked {
		s.kept = s.asked
		b.wake()
	}
}

// Fixed tells that the share does not follow its limit, so that nobody waits for it.
func (s *Share) Fixed() {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	s.kept = math.MaxInt64
	b.wake()
}

// Take takes bytes for a row, and waits until rows before it are gone and all shares keep to what is then left for them. With
// more, the length of the row is not known yet: Take is called again, for what the row needs beyond the former calls, and in
// the end without. A row that can never have so much is ErrRow.
func (s *Share) Take(ctx context.Context, bytes int64, more bool) error {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	s.row += bytes
	if most := b.total("", 0) * forRows / 100; s.row > most {
		return fmt.Errorf("%w: with its copies it takes %d MiB or more, rows may take %d: %s", ErrRow, s.row>>20, most>>20, b.advice(s))
	}
	if err := b.queue(ctx, s, bytes, more); err != nil {
		return err
	}
	b.taken += bytes
	s.taken += bytes
	if more {
		b.growing = s
	} else {
		s.row = 0
		if b.growing == s {
			b.growing = nil
		}
	}
	b.shift()
	turn := b.turn
	return b.wait(ctx, func() bool {
		for o := range b.shares {
			if o.kept < turn {
				return false
			}
		}
		return true
	})
}

// queue waits for the turn to take. A row that is growing has it already.
func (b *Budget) queue(ctx context.Context, s *Share, bytes int64, more bool) error {
	fits := func() bool { return b.taken+bytes <= b.total("", 0)*forRows/100 }
	if b.growing == s {
		return b.wait(ctx, fits)
	}
	b.line = append(b.line, s)
	err := b.wait(ctx, func() bool { return b.line[0] == s && (b.growing == nil || !more) && fits() })
	b.line = slices.DeleteFunc(b.line, func(o *Share) bool { return o == s })
	b.wake()
	return err
}

// advice says what to raise.
func (b *Budget) advice(s *Share) string {
	if b.worker < b.jobs[s.job].memory {
		return "raise the worker's --memory"
	}
	return "raise run.memory of the job, and --memory of its workers if that is less"
}

// Give gives back bytes that were taken.
func (s *Share) Give(bytes int64) {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes = min(bytes, s.taken)
	s.taken -= bytes
	b.taken -= bytes
	b.shift()
}
