package snapshot

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
)

func TestListPending(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "db.db", "t", "snapshot")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "snapshot-9"), 0o755))
	const uuid = "1c55d7a4-2f30-4c0e-9f0b-6a6a3a1d2f11"
	for _, name := range []string{
		"snapshot-12", "snapshot-3", "LATEST", "snapshot-04", "snapshot-0", ".snapshot-13." + uuid + ".tmp", ".snapshot-14." + uuid + ".tmp",
		".LATEST." + uuid + ".tmp", ".snapshot-x." + uuid + ".tmp", ".snapshot-15." + uuid, "snapshot-16." + uuid + ".tmp",
		filepath.Join("snapshot-9", ".snapshot-17."+uuid+".tmp"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(folder, ".snapshot-14."+uuid+".tmp"), old, old))
	store, err := fileio.NewLocal(root)
	require.NoError(t, err)
	ids, pending, err := NewManager(store, "db.db/t").ListPending(t.Context())
	require.NoError(t, err)
	require.Equal(t, []ID{3, 12}, ids)
	require.Equal(t, []ID{13}, pending)
}
