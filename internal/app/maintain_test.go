package app

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
)

// bench is a warehouse with a table that Java made, and the ledger of a run that writes to it.
type bench struct {
	t         *testing.T
	dir       string
	warehouse fileio.Store
	staging   fileio.Store
	schema    *schema.Table
	ledger    *ledger.Ledger
}

const (
	benchName  = "golden.append_tags"
	benchTable = "golden.db/append_tags"
)

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	require.NoError(t, os.CopyFS(filepath.Join(b.dir, benchTable), os.DirFS(filepath.Join("../../lake/testdata", benchTable))))
	var err error
	b.warehouse, err = fileio.NewLocal(b.dir)
	require.NoError(t, err)
	b.staging, err = fileio.NewLocal(b.stagingURI())
	require.NoError(t, err)
	b.schema, err = snapshot.Schemas{Store: b.warehouse, Table: benchTable}.Latest(t.Context())
	require.NoError(t, err)
	return b
}

func (b *bench) stagingURI() string { return filepath.Join(b.dir, "_tributary") }

// register begins a run and one attempt of it.
func (b *bench) register() ledger.Attempt {
	b.t.Helper()
	ctx := context.Background()
	key := ledger.Key{Job: "j", Run: "r", Table: "append_tags"}
	require.NoError(b.t, ledger.Mark(ctx, b.staging, "target", key))
	b.ledger = ledger.Open(b.staging, key)
	a, err := b.ledger.Register(ctx, 0)
	require.NoError(b.t, err)
	return a
}

// write makes an attempt's file, two days ago.
func (b *bench) write(a ledger.Attempt) []*message.Commit {
	b.t.Helper()
	ctx := context.Background()
	w, err := lake.NewTable(b.warehouse, benchTable, b.schema).NewWriter(lake.WriterOptions{Prefix: a.Prefix})
	require.NoError(b.t, err)
	batch := row.NewBatch(row.Types(b.schema.Fields))
	batch.Columns[0].Append(row.Value{I64: 100})
	batch.Columns[1].Append(row.Value{B: []byte("late")})
	batch.Rows = 1
	require.NoError(b.t, w.Write(ctx, batch))
	messages, err := w.Close(ctx)
	require.NoError(b.t, err)
	b.age(b.file(messages))
	return messages
}

func (b *bench) file(messages []*message.Commit) string {
	return path.Join(benchTable, "bucket-0", messages[0].Data.NewFiles[0].Name)
}

func (b *bench) age(file string) {
	b.t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	require.NoError(b.t, os.Chtimes(filepath.Join(b.dir, file), old, old))
}

// stray makes a file that nothing names, two days ago.
func (b *bench) stray() string {
	b.t.Helper()
	file := benchTable + "/bucket-0/data-stray-0.parquet"
	require.NoError(b.t, os.WriteFile(filepath.Join(b.dir, file), []byte("x"), 0o600))
	b.age(file)
	return file
}

// settle commits the run's messages, records the end and forgets the run.
func (b *bench) settle(messages []*message.Commit) {
	b.t.Helper()
	ctx := context.Background()
	latest, err := snapshot.NewManager(b.warehouse, benchTable).LatestID(ctx)
	require.NoError(b.t, err)
	_, err = commit.New(b.warehouse, benchTable).Publish(ctx, commit.Request{
		User: "j-r", Identifier: 1, Kind: snapshot.Append, Messages: messages, Planned: b.schema, Base: latest,
	})
	require.NoError(b.t, err)
	_, err = b.ledger.Finish(ctx, ledger.Result{Outcome: ledger.Committed, Snapshot: int64(latest) + 1})
	require.NoError(b.t, err)
	require.NoError(b.t, b.ledger.Remove(ctx))
	require.NoError(b.t, ledger.Unmark(ctx, b.staging, "target", ledger.Key{Job: "j", Run: "r", Table: "append_tags"}))
}

// lake is the warehouse through a store that tells of each operation before it is done.
func (b *bench) lake(before func(faultio.Op)) *Lake {
	store := faultio.New(b.warehouse, func(op faultio.Op) faultio.Fault {
		before(op)
		return faultio.None
	})
	return &Lake{store: store, catalog: catalog.NewFilesystem(store)}
}

func (b *bench) remove(before func(faultio.Op)) (*Orphans, error) {
	return b.lake(before).Orphans(b.t.Context(), benchName, OrphanOptions{Staging: []string{b.stagingURI()}, Remove: true})
}

func names(o *Orphans) []string {
	list := []string{}
	for _, f := range o.Files {
		list = append(list, path.Base(f.Path))
	}
	return list
}

func nothing(faultio.Op) {}

// A run that died in Write has files of two days ago that no snapshot names. They stay until it is settled.
func TestOrphansKeepsTheFilesOfUnsettledRuns(t *testing.T) {
	b := newBench(t)
	messages := b.write(b.register())
	stray := b.stray()
	temporary := path.Join(path.Dir(stray), "."+path.Base(b.file(messages))+".5a0d9d3c-93b7-4f3e-8d6c-0c4d2b1a0f9e.tmp")
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, temporary), []byte("x"), 0o600))
	b.age(temporary)

	shown, err := b.lake(nothing).Orphans(t.Context(), benchName, OrphanOptions{Staging: []string{b.stagingURI()}})
	require.NoError(t, err)
	require.Equal(t, []string{"data-stray-0.parquet"}, names(shown))
	require.FileExists(t, filepath.Join(b.dir, stray), "only shown")
	require.False(t, shown.Removed)

	r, err := b.remove(nothing)
	require.NoError(t, err)
	require.Equal(t, shown.Files, r.Files)
	require.Equal(t, 2, r.Kept)
	require.Equal(t, []string{"j/r/append_tags"}, r.Runs)
	require.NoFileExists(t, filepath.Join(b.dir, stray))
	require.FileExists(t, filepath.Join(b.dir, b.file(messages)))
	require.FileExists(t, filepath.Join(b.dir, temporary))

	_, err = b.ledger.Finish(t.Context(), ledger.Result{Outcome: ledger.Aborted})
	require.NoError(t, err)
	r, err = b.remove(nothing)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{path.Base(b.file(messages)), path.Base(temporary)}, names(r), "nobody has a use for them now")
	require.NoFileExists(t, filepath.Join(b.dir, b.file(messages)))
	require.NoFileExists(t, filepath.Join(b.dir, temporary))
}

// A ledger under another root than the one that is looked at protects nothing: this is what --staging is for.
func TestOrphansLooksBelowEveryStagingRoot(t *testing.T) {
	b := newBench(t)
	messages := b.write(b.register())
	find := func(roots ...string) []string {
		r, err := b.lake(nothing).Orphans(t.Context(), benchName, OrphanOptions{Staging: roots})
		require.NoError(t, err)
		return names(r)
	}
	require.Len(t, find(t.TempDir()), 1)
	require.Empty(t, find(t.TempDir(), b.stagingURI()))
	require.FileExists(t, filepath.Join(b.dir, b.file(messages)))
}

// An attempt is registered while the search runs and its file is found by it, whatever its age.
func TestOrphansKeepsWhatIsRegisteredMeanwhile(t *testing.T) {
	struck := 0
	for n := 0; ; n++ {
		b := newBench(t)
		b.stray()
		var came atomic.Bool
		var messages []*message.Commit
		r, err := b.remove(func(op faultio.Op) {
			if op.N == n && op.Kind != faultio.Delete && came.CompareAndSwap(false, true) {
				messages = b.write(b.register())
			}
		})
		require.NoError(t, err)
		require.Equal(t, []string{"data-stray-0.parquet"}, names(r))
		if !came.Load() {
			require.Greater(t, n, 10)
			require.NotZero(t, struck, "never was it found and kept")
			return
		}
		require.FileExists(t, filepath.Join(b.dir, b.file(messages)))
		struck += r.Kept
	}
}

// A run is committed, settled and forgotten while the search runs: its file is then named by a snapshot, which must have
// been read after the ledger was looked for. So must it be when all snapshots but that expire at once.
func TestOrphansKeepsWhatIsSettledMeanwhile(t *testing.T) {
	for _, expires := range []bool{false, true} {
		t.Run(fmt.Sprintf("expires %t", expires), func(t *testing.T) {
			for n := 0; ; n++ {
				b := newBench(t)
				b.stray()
				messages := b.write(b.register())
				var came, deleting atomic.Bool
				_, err := b.remove(func(op faultio.Op) {
					if op.Kind == faultio.Delete {
						deleting.Store(true)
					}
					if op.N != n || deleting.Load() || !came.CompareAndSwap(false, true) {
						return
					}
					b.settle(messages)
					if expires {
						_, err := expire.Expire(context.Background(), b.warehouse, benchTable, expire.Options{RetainMin: 1, RetainMax: 1})
						require.NoError(t, err)
					}
				})
				require.NoError(t, err)
				require.FileExists(t, filepath.Join(b.dir, b.file(messages)), "n %d", n)
				if !came.Load() {
					require.Greater(t, n, 10)
					return
				}
			}
		})
	}
}

// Ledgers that cannot be read protect everything.
func TestOrphansRemovesNothingWhereLedgersCannotBeRead(t *testing.T) {
	b := newBench(t)
	stray := b.stray()
	b.register()
	mark := filepath.Join(b.stagingURI(), "_open", "target", "j", "r", "append_tags")
	require.NoError(t, os.WriteFile(mark, []byte("{"), 0o600))
	_, err := b.remove(nothing)
	require.ErrorIs(t, err, ledger.ErrCorrupt)
	require.ErrorContains(t, err, "nothing was removed")
	require.FileExists(t, filepath.Join(b.dir, stray))
	_, err = b.lake(nothing).Orphans(t.Context(), benchName, OrphanOptions{Staging: []string{"relative"}})
	require.ErrorContains(t, err, "relative")
}

// Where it cannot be told whether a compaction is committed, the error says what to look for.
func TestCompactOfUnknownOutcome(t *testing.T) {
	b := newBench(t)
	const table = "golden.db/append_partitioned" // two files of one partition are to become one
	require.NoError(t, os.CopyFS(filepath.Join(b.dir, table), os.DirFS(filepath.Join("../../lake/testdata", table))))
	published := false
	broken := faultio.New(b.warehouse, func(op faultio.Op) faultio.Fault {
		if strings.HasSuffix(op.Path, "append_partitioned/snapshot/snapshot-3") && op.Kind == faultio.CreateExclusive {
			published = true
		}
		if published {
			return faultio.FailBefore
		}
		return faultio.None
	})
	l := &Lake{store: broken, catalog: catalog.NewFilesystem(broken)}
	_, err := l.Compact(t.Context(), "golden.append_partitioned", true)
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorContains(t, err, "look for a snapshot of user tributary-compact-")
}
