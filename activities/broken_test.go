package activities_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
)

// forgetful is a warehouse in which a process does not recognize the commits that others made for its run: what a build does
// that leaves out the look for its own commit.
type forgetful struct {
	fileio.Store
	made map[string]bool
}

func (f *forgetful) CreateExclusive(ctx context.Context, p string, data []byte) error {
	f.made[p] = true
	return f.Store.CreateExclusive(ctx, p, data)
}

func (f *forgetful) Open(ctx context.Context, p string) (fileio.Reader, error) {
	r, err := f.Store.Open(ctx, p)
	if err != nil || !strings.HasPrefix(path.Base(p), "snapshot-") || f.made[p] {
		return r, err
	}
	data, err := io.ReadAll(io.NewSectionReader(r, 0, 1<<20))
	if err != nil {
		return nil, err
	}
	data = bytes.ReplaceAll(data, []byte("tributary-shop-r1"), []byte("somebody-or-other"))
	return reader{bytes.NewReader(data), r}, nil
}

type reader struct {
	*bytes.Reader
	io.Closer
}

// deaf is a staging root in which a process takes its own decision for the one that stands: what a build does that gives a run
// up because its commit returned an error.
type deaf struct{ fileio.Store }

func (d deaf) decision(p string) bool { return path.Base(p) == "decision-1" }

func (d deaf) CreateExclusive(ctx context.Context, p string, data []byte) error {
	if d.decision(p) {
		return nil
	}
	return d.Store.CreateExclusive(ctx, p, data)
}

func (d deaf) Open(ctx context.Context, p string) (fileio.Reader, error) {
	if d.decision(p) {
		return nil, fileio.ErrNotExist
	}
	return d.Store.Open(ctx, p)
}

// witness takes down what a check finds wrong in place of failing the test.
type witness struct {
	testing.TB
	found string
}

func (w *witness) Helper()      {}
func (w *witness) Failed() bool { return w.found != "" }
func (w *witness) FailNow()     { runtime.Goexit() }

func (w *witness) Errorf(format string, args ...any) {
	if w.found == "" {
		w.found = fmt.Sprintf(format, args...)
	}
}

func (w *witness) Fatalf(format string, args ...any) {
	w.Errorf(format, args...)
	w.FailNow()
}

func (w *witness) Fatal(args ...any) { w.Fatalf("%s", fmt.Sprint(args...)) }

// TestFaultSweepCatchesBrokenBuilds sweeps with builds of which one rule was taken out: the sweep must fail for each.
func TestFaultSweepCatchesBrokenBuilds(t *testing.T) {
	base := newBase(t)
	for name, c := range map[string]struct {
		overwrite bool
		ending    string
		build     func(p process) process
	}{
		"does not look for its own commit": {false, "tried again", func(p process) process {
			p.warehouse = &forgetful{p.warehouse, map[string]bool{}}
			return p
		}},
		"aborts after an unknown outcome": {true, "given up", func(p process) process {
			p.warehouse, p.staging = &forgetful{p.warehouse, map[string]bool{}}, deaf{p.staging}
			return p
		}},
		"fences without looking": {true, "fenced off", func(p process) process {
			p.warehouse = &forgetful{p.warehouse, map[string]bool{}}
			return p
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			choose, end := faults()["is done and all later fail"], endings()[c.ending]
			point, found := 100, "" // what comes before has nothing to do with the commit
			for broke := true; broke && found == ""; point++ {
				synctest.Test(t, func(t *testing.T) {
					w := &witness{TB: t}
					done := make(chan struct{})
					go func() {
						defer close(done)
						s := newSweep(w, base, c.overwrite)
						later := c.build(*s.process)
						s.later = &later
						broke = s.once(func(n int) faultio.Fault { return choose(point, n) }, end)
					}()
					<-done
					found = w.found
				})
			}
			require.NotEmpty(t, found, "%d operations, and nothing was found", point)
			t.Logf("operation %d: %s", point-1, strings.Join(strings.Fields(found), " "))
		})
	}
}
