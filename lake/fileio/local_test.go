package fileio_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
)

func TestLocal(t *testing.T) {
	fileiotest.Run(t, fileiotest.Config{New: func(t *testing.T) fileio.Store {
		s, err := fileio.NewLocal(filepath.Join(t.TempDir(), "not", "yet", "there"))
		require.NoError(t, err)
		return s
	}})
}

func TestLocalIsMadeByItsFirstFile(t *testing.T) {
	root := filepath.Join(t.TempDir(), "lake")
	s, err := fileio.OpenLocal("file://" + root)
	require.NoError(t, err)
	require.NoError(t, s.List(t.Context(), "", func(fileio.Info) error { return nil }))
	require.NoDirExists(t, root)
	require.NoError(t, fileio.WriteFile(t.Context(), s, "a/b", []byte("x")))
	require.DirExists(t, root)
	info, err := os.Stat(filepath.Join(root, "a", "b"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm()|0o044&0o644, "readable by other programs unless the umask forbids")
}

func TestOpenLocal(t *testing.T) {
	for uri, want := range map[string]string{
		"/lake":                     "file:///lake",
		"/lake/":                    "file:///lake",
		"file:/lake":                "file:///lake",
		"file:///lake/a%20b":        "file:///lake/a%20b",
		"file://localhost/lake":     "file:///lake",
		"file:///lake/../elsewhere": "file:///elsewhere",
	} {
		s, err := fileio.OpenLocal(uri)
		require.NoError(t, err, uri)
		require.Equal(t, want, s.URI(""))
	}
	for _, uri := range []string{"", "lake", "./lake", "file:lake", "file://host/lake", "s3://bucket/lake", "/a\x00b"} {
		_, err := fileio.OpenLocal(uri)
		require.Error(t, err, uri)
	}
}

func TestLocalSaysWhatStandsInTheWay(t *testing.T) {
	root := filepath.Join(t.TempDir(), "lake")
	require.NoError(t, os.WriteFile(root, nil, 0o600))
	s, err := fileio.NewLocal(root)
	require.NoError(t, err)
	_, err = s.Create(t.Context(), "a/b")
	require.ErrorContains(t, err, "a file stands where a folder must be made")
	require.ErrorContains(t, err, root)
	require.NotErrorIs(t, err, fileio.ErrNotExist)
	require.ErrorContains(t, s.CreateExclusive(t.Context(), "a/b", nil), root)
}

func TestLocalListsWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	s, err := fileio.NewLocal(dir)
	require.NoError(t, err)
	w, err := s.Create(t.Context(), "t/bucket-0/data-1-0.parquet")
	require.NoError(t, err)
	_, err = w.Write([]byte("half"))
	require.NoError(t, err)
	var left []string
	require.NoError(t, s.List(t.Context(), "t", func(i fileio.Info) error {
		left = append(left, i.Path)
		return nil
	}))
	require.Len(t, left, 1)
	require.Regexp(t, `^t/bucket-0/\.data-1-0\.parquet\.[0-9a-f-]{36}\.tmp$`, left[0])
	require.True(t, fileio.IsTemporary(left[0]))
	require.NoError(t, s.Delete(t.Context(), left[0]))
	require.Error(t, w.Close(), "a file that was cleaned away is not published")
	require.NoFileExists(t, filepath.Join(dir, "t/bucket-0/data-1-0.parquet"))
}

func TestIsTemporary(t *testing.T) {
	require.True(t, fileio.IsTemporary("snapshot/.snapshot-1.4ff0a7a8-0000-4000-8000-000000000000.tmp"))
	require.False(t, fileio.IsTemporary("snapshot/snapshot-1"))
	require.False(t, fileio.IsTemporary("t/x.tmp"))
	require.False(t, fileio.IsTemporary(".hidden/x"))
}
