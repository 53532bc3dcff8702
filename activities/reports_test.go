package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// What a process prepared is read from the disk and committed by others that never saw it, each under the same name and number.
func TestMessagesOutliveTheirProcess(t *testing.T) {
	w := newWorld(t)
	staging, warehouse := t.TempDir(), t.TempDir()
	anew := func() {
		var err error
		w.staging, err = fileio.NewLocal(staging)
		require.NoError(t, err)
		w.warehouse, err = fileio.NewLocal(warehouse)
		require.NoError(t, err)
	}
	for i, run := range []string{"r1", "r2"} {
		anew()
		planned := w.begin(orders(appending), run)
		for unit := range planned.Units {
			anew()
			w.writeUnit(run, unit)
		}
		anew()
		claims := 0
		for unit := range planned.Units {
			won, err := w.ledger(run).Winner(t.Context(), unit)
			require.NoError(t, err)
			data, err := w.ledger(run).ReadMessages(t.Context(), won.Message)
			require.NoError(t, err)
			f, err := message.ReadFile(won.Message.Path, data, w.table().Schema().ID)
			require.NoError(t, err)
			for _, m := range f.Messages {
				require.NotEmpty(t, m.Data.NewFiles)
			}
			claims += len(f.Messages)
		}
		require.Equal(t, planned.Units, claims)
		first := w.commitRun(run)
		anew()
		require.Equal(t, first, w.commitRun(run))
		s, err := w.snapshots().Get(t.Context(), snapshot.ID(i+1))
		require.NoError(t, err)
		require.Equal(t, "tributary-shop-"+run, s.CommitUser)
		require.EqualValues(t, 1, s.CommitIdentifier)
	}
	require.Len(t, w.rows(), 20)
}

// The snapshot of a replacement became visible and nobody was told. Made again it is found: one OVERWRITE, the rows once.
func TestReplacementWhoseAnswerIsLost(t *testing.T) {
	for name, shards := range map[string][]memoryShard{"fewer rows": {shard("a", 50, 3)}, "no partition has rows any more": {shard("a", 0, 0)}, "other partitions": {shard("c", 7, 4)}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			job := orders(func(t *testTable) { t.Partition, t.EmptyTarget = []string{"_table"}, true })
			w.run(job, "r1")
			w.source().shards = shards
			w.load(job, "r2")
			lost := w.dying(true, creates("/snapshot-2"))
			_, err := call(t.Context(), lost.commit, activities.CommitInput{TableRun: part("r2")})
			retried(t, err, activities.TypeUnknown)
			for range 2 {
				r := w.commitRun("r2")
				require.Equal(t, "OVERWRITE", r.Kind)
				require.EqualValues(t, 2, r.Snapshot)
			}
			require.Equal(t, snapshot.ID(2), w.latest())
			require.ElementsMatch(t, w.source().lines(), w.rows())
			w.cleanRun("r2")
			w.tidy()
		})
	}
}

// fullDisk takes nothing into data files, and cannot remove what it did not take.
type fullDisk struct {
	fileio.Store
	deletes *int
}

func (f fullDisk) Create(ctx context.Context, p string) (fileio.Writer, error) {
	out, err := f.Store.Create(ctx, p)
	if err == nil && strings.Contains(p, "/bucket-") {
		out = fullWriter{out}
	}
	return out, err
}

func (f fullDisk) Delete(_ context.Context, p string) error {
	*f.deletes++
	return fmt.Errorf("%s: %w", p, errVanished)
}

var errVanished = errors.New("it vanished")

type fullWriter struct{ fileio.Writer }

func (fullWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// Cleaning up after a failure fails too: the first error is told first, by its class, and the unit can be written again.
func TestTheFirstErrorIsTold(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(appending), "r1")
	deletes := 0
	p := w.with(func(s fileio.Store) fileio.Store { return s })
	p.warehouse = fullDisk{w.warehouse, &deletes}
	_, err := call(t.Context(), p.write, unitOf("r1", 0))
	retried(t, err, activities.TypeStorage, syscall.ENOSPC.Error())
	if at := strings.Index(err.Error(), errVanished.Error()); at >= 0 {
		require.Less(t, strings.Index(err.Error(), syscall.ENOSPC.Error()), at)
	}
	require.Positive(t, deletes, "it was tried to clean up")
	for unit := range 6 {
		w.writeUnit("r1", unit)
	}
	w.commitRun("r1")
	w.cleanRun("r1")
	require.ElementsMatch(t, w.source().lines(), w.rows())
	w.tidy()
}
