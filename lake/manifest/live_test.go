package manifest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
)

// manyManifests writes manifests of some entries each.
func manyManifests(t *testing.T, manifests, entries int) (Folder, []FileMeta) {
	t.Helper()
	f := In(fileiotest.NewMemory(), "t")
	var metas []FileMeta
	for m := range manifests {
		list := make([]Entry, entries)
		for i := range list {
			none := make([]byte, 12)
			list[i] = Entry{Partition: none, File: DataFile{
				Name: fmt.Sprintf("f-%d-%d", m, i), MinKey: none, MaxKey: none, KeyStats: EmptyStats(), ValueStats: EmptyStats(), ExtraFiles: []string{},
			}}
		}
		meta, err := f.WriteManifest(t.Context(), fmt.Sprintf("manifest-%d", m), nil, list)
		require.NoError(t, err)
		metas = append(metas, meta)
	}
	return f, metas
}

// Entries come in the order of manifests, of which more are read than are held at a time.
func TestLiveKeepsTheOrder(t *testing.T) {
	f, metas := manyManifests(t, 9, 2*chunk+1)
	var names []string
	require.NoError(t, f.Live(t.Context(), metas, Filter{}, func(e *Entry) error {
		names = append(names, e.File.Name)
		return nil
	}))
	require.Len(t, names, 9*(2*chunk+1))
	for i, name := range names {
		require.Equal(t, fmt.Sprintf("f-%d-%d", i/(2*chunk+1), i%(2*chunk+1)), name)
	}
}

// The caller's error, and a manifest that is missing, end the reading of all.
func TestLiveEndsAtAnError(t *testing.T) {
	f, metas := manyManifests(t, 9, 2*chunk+1)
	enough, seen := errors.New("enough"), 0
	err := f.Live(t.Context(), metas, Filter{}, func(*Entry) error {
		if seen++; seen == 5 {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 5, seen)
	for _, gone := range []int{0, 4, 8} {
		require.NoError(t, f.Delete(t.Context(), metas[gone].Name))
		err = f.Live(t.Context(), metas, Filter{}, func(*Entry) error { return nil })
		require.ErrorIs(t, err, fileio.ErrNotExist)
	}
}
