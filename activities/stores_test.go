package activities_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// once calls do the first time that a path is about to be created, as if the process had stalled before it.
func once(at func(path string) bool, do func()) func(fileio.Store) fileio.Store {
	var done atomic.Bool
	return func(s fileio.Store) fileio.Store {
		return faultio.New(s, func(op faultio.Op) faultio.Fault {
			creates := op.Kind == faultio.Create || op.Kind == faultio.CreateExclusive
			if creates && at(op.Path) && done.CompareAndSwap(false, true) {
				do()
			}
			return faultio.None
		})
	}
}

// faulty is a process whose stores fail as choose says, which sees one operation after another.
func (w *world) faulty(choose func(faultio.Op) faultio.Fault) *process {
	var mu sync.Mutex
	return w.with(func(s fileio.Store) fileio.Store {
		return faultio.New(s, func(op faultio.Op) faultio.Fault {
			mu.Lock()
			defer mu.Unlock()
			return choose(op)
		})
	})
}

// dying is a process whose stores fail from the first operation on that at picks; after lets that one still be done.
func (w *world) dying(after bool, at func(faultio.Op) bool) *process {
	dead := false
	return w.faulty(func(op faultio.Op) faultio.Fault {
		if dead {
			return faultio.FailBefore
		}
		if dead = at(op); !dead {
			return faultio.None
		}
		if after {
			return faultio.FailAfter
		}
		return faultio.FailBefore
	})
}

// creates picks the operation that makes the file whose path ends so.
func creates(suffix string) func(faultio.Op) bool {
	return func(op faultio.Op) bool {
		return (op.Kind == faultio.CreateExclusive || op.Kind == faultio.Create) && strings.HasSuffix(op.Path, suffix)
	}
}

// failing lets every creation of a file fail with an error of the operating system.
type failing struct {
	fileio.Store
	err error
}

func (f failing) Create(context.Context, string) (fileio.Writer, error) { return nil, f.err }

func (f failing) CreateExclusive(context.Context, string, []byte) error { return f.err }

// foreign lets another writer append one row to the target.
func (w *world) foreign() snapshot.ID {
	w.t.Helper()
	table := w.table()
	out, err := table.NewWriter(lake.WriterOptions{Prefix: fmt.Sprintf("data-foreign-%d-", w.latest())})
	require.NoError(w.t, err)
	b := row.NewBatch(row.Types(table.Schema().Fields))
	b.Columns[0].I64 = append(b.Columns[0].I64, 1)
	b.Columns[1].AppendBytes([]byte("x"))
	b.Columns[2].AppendBytes([]byte("foreign"))
	b.Columns[3].AppendBytes([]byte("foreign"))
	b.Rows = 1
	require.NoError(w.t, out.Write(w.t.Context(), b))
	messages, err := out.Close(w.t.Context())
	require.NoError(w.t, err)
	result, err := table.Committer().Publish(w.t.Context(), commit.Request{
		User: "foreign", Identifier: int64(w.latest()), Kind: snapshot.Append, Messages: messages, Planned: table.Schema(), Base: w.latest(),
	})
	require.NoError(w.t, err)
	return result.Snapshot
}

// aged lets files look two hours older than they are.
type aged struct{ fileio.Store }

func (a aged) List(ctx context.Context, folder string, fn func(fileio.Info) error) error {
	return a.Store.List(ctx, folder, func(i fileio.Info) error {
		i.Modified = i.Modified.Add(-2 * time.Hour)
		return fn(i)
	})
}
