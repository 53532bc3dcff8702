package commit

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// A hundred appends by ten committers at once: all are there, and their snapshots are contiguous.
func TestRace(t *testing.T) {
	b := newBed(t, local(t, t.TempDir()), nil)
	const committers, appends = 10, 10
	var group sync.WaitGroup
	errs := make([]error, committers)
	requests := make([][]Request, committers)
	for c := range committers {
		for i := range appends {
			req := b.request(snapshot.Append, int64(i), b.file(t, fmt.Sprintf("f-%d-%d", c, i), 1))
			req.User = fmt.Sprintf("user-%d", c)
			requests[c] = append(requests[c], req)
		}
	}
	for c := range committers {
		group.Go(func() {
			base := snapshot.ID(0)
			for _, req := range requests[c] {
				req.Base = base
				result, err := b.over(b.store).Publish(t.Context(), req)
				if err != nil || result.AlreadyCommitted {
					errs[c] = fmt.Errorf("%+v: %w", result, err)
					return
				}
				base = result.Snapshot
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	list := b.whole(t)
	require.Len(t, list, committers*appends)
	require.Len(t, b.names(t), committers*appends)
	require.Empty(t, b.orphans(t), "losers remove what they wrote in vain")
	hint, err := fileio.ReadFile(t.Context(), b.store, tablePath+"/snapshot/LATEST", 100)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(committers*appends), string(hint))
	metas, err := manifestsOf(t.Context(), b.manifests, list[len(list)-1])
	require.NoError(t, err)
	require.Less(t, len(metas), 64, "small manifests were merged")
}

// The same request from several processes at once is one commit.
func TestRaceOfOneRequest(t *testing.T) {
	b := newBed(t, local(t, t.TempDir()), nil)
	for round := range 10 {
		base := snapshot.ID(round)
		req := b.request(snapshot.Overwrite, int64(round), b.file(t, fmt.Sprint("f", round), 1))
		req.Base = base
		var group sync.WaitGroup
		results := make([]Result, 6)
		errs := make([]error, len(results))
		for i := range results {
			group.Go(func() { results[i], errs[i] = b.over(b.store).Publish(t.Context(), req) })
		}
		group.Wait()
		first := 0
		for i, r := range results {
			require.NoError(t, errs[i])
			require.Equal(t, base+1, r.Snapshot)
			if !r.AlreadyCommitted {
				first++
			}
		}
		require.Equal(t, 1, first)
		require.Equal(t, []string{fmt.Sprint("f", round)}, b.names(t))
	}
	require.Empty(t, b.orphans(t))
}
