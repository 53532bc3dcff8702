package fileiotest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// Config tells Run what to test.
type Config struct {
	// New returns an empty store of its own for one test.
	New func(t *testing.T) fileio.Store
	// Rounds of the race for one name; 50 when 0.
	Rounds int
}

// Run runs the suite.
func Run(t *testing.T, c Config) {
	if c.Rounds == 0 {
		c.Rounds = 50
	}
	for name, test := range map[string]func(t *testing.T, s fileio.Store){
		"WriteAndRead":             writeAndRead,
		"Replace":                  replace,
		"InvisibleUntilClose":      invisibleUntilClose,
		"AbortLeavesNothing":       abortLeavesNothing,
		"CancelledWriteIsNotSeen":  cancelledWrite,
		"WriterAfterItsEnd":        writerAfterItsEnd,
		"Missing":                  missing,
		"FolderIsNoFile":           folderIsNoFile,
		"ListDepth":                listDepth,
		"ListStops":                listStops,
		"ListIsOfFoldersNotPrefix": listNotPrefix,
		"Folders":                  folders,
		"Delete":                   deleteFile,
		"Exclusive":                exclusive,
		"PathsStayInside":          pathsStayInside,
		"OddNames":                 oddNames,
		"ReadAtOnce":               readAtOnce,
		"URI":                      uris,
	} {
		t.Run(name, func(t *testing.T) { test(t, c.New(t)) })
	}
	t.Run("Race", func(t *testing.T) { race(t, c.New(t), c.Rounds) })
}

func read(t *testing.T, s fileio.Store, path string) string {
	t.Helper()
	data, err := fileio.ReadFile(t.Context(), s, path, 1<<26)
	require.NoError(t, err)
	return string(data)
}

func write(t *testing.T, s fileio.Store, path, data string) {
	t.Helper()
	require.NoError(t, fileio.WriteFile(t.Context(), s, path, []byte(data)))
}

// list returns the paths below a folder, sorted.
func list(t *testing.T, s fileio.Store, folder string) []string {
	t.Helper()
	paths := []string{}
	require.NoError(t, s.List(t.Context(), folder, func(i fileio.Info) error {
		paths = append(paths, i.Path)
		return nil
	}))
	sort.Strings(paths)
	return paths
}

func writeAndRead(t *testing.T, s fileio.Store) {
	big := strings.Repeat("0123456789abcdef", 1<<20) // 16 MiB in pieces of odd size
	w, err := s.Create(t.Context(), "a/b/c.parquet")
	require.NoError(t, err)
	for rest := big; rest != ""; {
		n := min(len(rest), 700_001)
		wrote, err := io.WriteString(w, rest[:n])
		require.NoError(t, err)
		require.Equal(t, n, wrote)
		rest = rest[n:]
	}
	require.NoError(t, w.Close())

	require.Equal(t, big, read(t, s, "a/b/c.parquet"))
	info, err := s.Stat(t.Context(), "a//b/./c.parquet")
	require.NoError(t, err)
	require.Equal(t, "a/b/c.parquet", info.Path)
	require.Equal(t, int64(len(big)), info.Size)
	require.False(t, info.Modified.IsZero())

	write(t, s, "empty", "")
	require.Empty(t, read(t, s, "empty"))
	_, err = fileio.ReadFile(t.Context(), s, "a/b/c.parquet", 1000)
	require.ErrorIs(t, err, fileio.ErrTooLarge)
}

func replace(t *testing.T, s fileio.Store) {
	write(t, s, "f", "a long old text")
	write(t, s, "f", "new")
	require.Equal(t, "new", read(t, s, "f"))
	require.Equal(t, []string{"f"}, list(t, s, ""))
}

// visible returns the files that are not temporary.
func visible(t *testing.T, s fileio.Store) []string {
	t.Helper()
	var paths []string
	for _, p := range list(t, s, "") {
		if !fileio.IsTemporary(p) {
			paths = append(paths, p)
		}
	}
	return paths
}

func invisibleUntilClose(t *testing.T, s fileio.Store) {
	w, err := s.Create(t.Context(), "d/f")
	require.NoError(t, err)
	_, err = w.Write([]byte("half"))
	require.NoError(t, err)
	_, err = s.Stat(t.Context(), "d/f")
	require.ErrorIs(t, err, fileio.ErrNotExist)
	_, err = s.Open(t.Context(), "d/f")
	require.ErrorIs(t, err, fileio.ErrNotExist)
	require.Empty(t, visible(t, s))
	require.NoError(t, w.Close())
	require.Equal(t, "half", read(t, s, "d/f"))
}

func abortLeavesNothing(t *testing.T, s fileio.Store) {
	write(t, s, "d/old", "old")
	for _, path := range []string{"d/new", "d/old"} {
		w, err := s.Create(t.Context(), path)
		require.NoError(t, err)
		_, err = w.Write([]byte("given up"))
		require.NoError(t, err)
		require.NoError(t, w.Abort())
		require.NoError(t, w.Abort(), "a second Abort does nothing")
	}
	require.Equal(t, []string{"d/old"}, list(t, s, ""), "not even a temporary file")
	require.Equal(t, "old", read(t, s, "d/old"))
}

func cancelledWrite(t *testing.T, s fileio.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	w, err := s.Create(ctx, "f")
	require.NoError(t, err)
	_, err = w.Write([]byte("text"))
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, w.Close(), context.Canceled)
	require.Empty(t, list(t, s, ""))

	_, err = s.Create(ctx, "f")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, s.CreateExclusive(ctx, "f", []byte("x")), context.Canceled)
	require.Empty(t, list(t, s, ""))
}

func writerAfterItsEnd(t *testing.T, s fileio.Store) {
	w, err := s.Create(t.Context(), "f")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, w.Abort(), "Abort after Close does nothing")
	require.Equal(t, []string{"f"}, list(t, s, ""))
	_, err = w.Write([]byte("late"))
	require.Error(t, err)
	require.Empty(t, read(t, s, "f"))
}

func missing(t *testing.T, s fileio.Store) {
	_, err := s.Open(t.Context(), "no/such")
	require.ErrorIs(t, err, fileio.ErrNotExist)
	require.Contains(t, err.Error(), "no/such")
	_, err = s.Stat(t.Context(), "no/such")
	require.ErrorIs(t, err, fileio.ErrNotExist)
	require.NoError(t, s.Delete(t.Context(), "no/such"))
	require.Empty(t, list(t, s, "no"))
	require.Empty(t, list(t, s, ""))
	write(t, s, "file", "x")
	_, err = s.Stat(t.Context(), "file/below")
	require.ErrorIs(t, err, fileio.ErrNotExist)
	require.NoError(t, s.Delete(t.Context(), "file/below"))
}

func folderIsNoFile(t *testing.T, s fileio.Store) {
	write(t, s, "d/f", "x")
	_, err := s.Stat(t.Context(), "d")
	require.ErrorIs(t, err, fileio.ErrNotExist)
	_, err = s.Open(t.Context(), "d")
	require.ErrorIs(t, err, fileio.ErrNotExist)
	require.NoError(t, s.Delete(t.Context(), "d"))
	require.Equal(t, "x", read(t, s, "d/f"))
}

func listDepth(t *testing.T, s fileio.Store) {
	want := []string{"t/a", "t/b=1/bucket-0/x", "t/b=1/bucket-0/y", "t/b=2/c=3/d/e/f"}
	for _, p := range append(want, "u/z", "top") {
		write(t, s, p, p)
	}
	require.Equal(t, want, list(t, s, "t"))
	require.Equal(t, want, list(t, s, "t/"))
	require.Equal(t, want, list(t, s, "./t"))
	require.Equal(t, []string{"t/b=1/bucket-0/x", "t/b=1/bucket-0/y"}, list(t, s, "t/b=1"))
	require.Len(t, list(t, s, ""), 6)
	require.NoError(t, s.List(t.Context(), "t", func(i fileio.Info) error {
		require.Equal(t, int64(len(i.Path)), i.Size)
		return nil
	}))
}

func listStops(t *testing.T, s fileio.Store) {
	for i := range 5 {
		write(t, s, fmt.Sprintf("d/%d", i), "x")
	}
	stop := errors.New("enough")
	seen := 0
	require.ErrorIs(t, s.List(t.Context(), "d", func(fileio.Info) error {
		seen++
		if seen == 3 {
			return stop
		}
		return nil
	}), stop)
	require.Equal(t, 3, seen)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.List(ctx, "d", func(fileio.Info) error { return nil }), context.Canceled)
}

func listNotPrefix(t *testing.T, s fileio.Store) {
	write(t, s, "tab/f", "x")
	write(t, s, "table/f", "x")
	require.Equal(t, []string{"tab/f"}, list(t, s, "tab"))
	require.Empty(t, list(t, s, "tab/f"), "a file is no folder")
}

func folders(t *testing.T, s fileio.Store) {
	for _, p := range []string{"db/t1/schema/schema-0", "db/t1/x", "db/t2/y", "db/file"} {
		write(t, s, p, "x")
	}
	names, err := fileio.Folders(t.Context(), s, "db")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"t1", "t2"}, names)
	names, err = fileio.Folders(t.Context(), s, "")
	require.NoError(t, err)
	require.Equal(t, []string{"db"}, names)
	names, err = fileio.Folders(t.Context(), s, "none")
	require.NoError(t, err)
	require.Empty(t, names)
}

func deleteFile(t *testing.T, s fileio.Store) {
	write(t, s, "d/f", "x")
	write(t, s, "d/g", "y")
	require.NoError(t, s.Delete(t.Context(), "d/f"))
	require.NoError(t, s.Delete(t.Context(), "d/f"), "a missing file is no error")
	require.Equal(t, []string{"d/g"}, list(t, s, ""))
}

func exclusive(t *testing.T, s fileio.Store) {
	require.NoError(t, s.CreateExclusive(t.Context(), "snapshot/snapshot-1", []byte("mine")))
	require.NoError(t, s.CreateExclusive(t.Context(), "snapshot/snapshot-1", []byte("mine")), "the same bytes again: the first reply was lost")
	for _, other := range []string{"theirs", "min", "minee", ""} {
		require.ErrorIs(t, s.CreateExclusive(t.Context(), "snapshot/snapshot-1", []byte(other)), fileio.ErrExist)
	}
	require.Equal(t, "mine", read(t, s, "snapshot/snapshot-1"))
	require.Equal(t, []string{"snapshot/snapshot-1"}, list(t, s, ""), "a loser leaves nothing")
}

func pathsStayInside(t *testing.T, s fileio.Store) {
	write(t, s, "inside", "x")
	before := list(t, s, "")
	for _, p := range []string{"../out", "a/../../out", "a/..", "..", "/etc/passwd", "a\x00b", "", ".", "a/", "/"} {
		_, err := s.Open(t.Context(), p)
		require.ErrorIs(t, err, fileio.ErrPath, "open %q", p)
		_, err = s.Create(t.Context(), p)
		require.ErrorIs(t, err, fileio.ErrPath, "create %q", p)
		_, err = s.Stat(t.Context(), p)
		require.ErrorIs(t, err, fileio.ErrPath, "stat %q", p)
		require.ErrorIs(t, s.CreateExclusive(t.Context(), p, nil), fileio.ErrPath, "create %q", p)
		require.ErrorIs(t, s.Delete(t.Context(), p), fileio.ErrPath, "delete %q", p)
	}
	for _, p := range []string{"..", "a/../..", "/", "\x00"} {
		require.ErrorIs(t, s.List(t.Context(), p, func(fileio.Info) error { return nil }), fileio.ErrPath, "list %q", p)
		_, err := fileio.Folders(t.Context(), s, p)
		require.ErrorIs(t, err, fileio.ErrPath, "folders %q", p)
	}
	require.Equal(t, before, list(t, s, ""))
}

// oddNames are what Paimon's partition folders may hold.
func oddNames(t *testing.T, s fileio.Store) {
	names := []string{"p=..", "p=a%2Fb c%3Aé", "p=__DEFAULT_PARTITION__", "p=a+b&c;d~e<f>`!@()", "...", ".hidden", "p=日本", "%41"}
	for _, n := range names {
		write(t, s, "t/"+n+"/f", n)
	}
	for _, n := range names {
		require.Equal(t, n, read(t, s, "t/"+n+"/f"))
		require.Equal(t, []string{"t/" + n + "/f"}, list(t, s, "t/"+n))
	}
	require.Len(t, list(t, s, "t"), len(names))
}

func readAtOnce(t *testing.T, s fileio.Store) {
	text := strings.Repeat("abcdefghij", 1000)
	write(t, s, "f", text)
	r, err := s.Open(t.Context(), "f")
	require.NoError(t, err)
	require.Equal(t, int64(len(text)), r.Size())
	var group sync.WaitGroup
	errs := make([]error, 8)
	for g := range errs {
		group.Go(func() {
			buf := make([]byte, 100)
			for off := g; off+100 <= len(text); off += 777 {
				if n, err := r.ReadAt(buf, int64(off)); n != 100 || string(buf) != text[off:off+100] {
					errs[g] = fmt.Errorf("%d bytes at %d: %w", n, off, err)
				}
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	n, err := r.ReadAt(make([]byte, 20), int64(len(text))-10)
	require.Equal(t, 10, n)
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, r.Close())
}

func uris(t *testing.T, s fileio.Store) {
	root := s.URI("")
	require.Regexp(t, `^[a-z0-9]+://`, root)
	require.False(t, strings.HasSuffix(root, "/"), root)
	require.Equal(t, root+"/ods.db/t/p=a%2Fb c/f", s.URI("ods.db/t/p=a%2Fb c/f"))
}

// race lets 8 writers with different bytes go for one name at one moment.
func race(t *testing.T, s fileio.Store, rounds int) {
	require.True(t, s.Exclusive())
	const writers = 8
	for round := range rounds {
		path := fmt.Sprintf("r%d/snapshot-1", round)
		start := make(chan struct{})
		var group sync.WaitGroup
		errs := make([]error, writers)
		for w := range writers {
			group.Go(func() {
				<-start
				errs[w] = s.CreateExclusive(t.Context(), path, fmt.Appendf(nil, "writer %d", w))
			})
		}
		close(start)
		group.Wait()
		winner := -1
		for w, err := range errs {
			if err == nil {
				require.Equal(t, -1, winner, "round %d: writers %d and %d both won", round, winner, w)
				winner = w
				continue
			}
			require.ErrorIs(t, err, fileio.ErrExist)
		}
		require.NotEqual(t, -1, winner, "round %d: nobody won", round)
		require.Equal(t, fmt.Sprintf("writer %d", winner), read(t, s, path))
		require.Equal(t, []string{path}, list(t, s, fmt.Sprintf("r%d", round)), "losers leave nothing")
	}
}
