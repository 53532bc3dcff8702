package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/internal/testenv/s3proxy"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/s3"
)

// One request of twenty fails in one of five ways, whatever it is for; files are written, raced for, read, listed and removed all
// the same, and nothing is left or lost.
func TestEverythingCompletesUnderFaults(t *testing.T) {
	server := theServer(t)
	proxy := s3proxy.NewProxy(t, server.Endpoint)
	bucket := server.Bucket(t)
	s := newStore(t, newClient(t, proxy.Endpoint), "s3://"+bucket+"/lake")
	proxy.Choose(s3proxy.Random(7, 0.05))

	sizes := []int{0, 1, 1000, 300_000, 8 << 20, 8<<20 + 1, 21_000_000}
	content := func(i int) []byte {
		data := make([]byte, sizes[i%len(sizes)])
		_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(data)
		return data
	}
	const files = 42
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for i := range files {
		group.Go(func() error {
			data := content(i)
			path := fmt.Sprintf("t/bucket-%d/f%d", i%3, i)
			if err := fileio.WriteFile(ctx, s, path, data); err != nil {
				return err
			}
			back, err := fileio.ReadFile(ctx, s, path, 1<<30)
			if err == nil && !bytes.Equal(data, back) {
				err = fmt.Errorf("%s: %d bytes came back as %d others", path, len(data), len(back))
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	raceUnderFaults(t, s)

	// A lost reply leaves an upload that its writer does not know of. It is listed, and deleted as files are.
	paths := list(t, s, "t")
	unended := func(path string) bool { return strings.HasSuffix(path, ".tmp") }
	require.Len(t, slices.DeleteFunc(slices.Clone(paths), unended), files)
	require.NoError(t, s.DeleteAll(t.Context(), paths))
	require.Empty(t, list(t, s, "t"))
	require.Greater(t, proxy.Requests.Load(), int64(500))
}

// raceUnderFaults lets four writers go for a name: one wins whatever is answered.
func raceUnderFaults(t *testing.T, s fileio.Store) {
	t.Helper()
	for round := range 40 {
		path := fmt.Sprintf("race/%d", round)
		var group sync.WaitGroup
		errs := make([]error, 4)
		for w := range errs {
			group.Go(func() { errs[w] = s.CreateExclusive(t.Context(), path, fmt.Appendf(nil, "writer %d", w)) })
		}
		group.Wait()
		data, err := fileio.ReadFile(t.Context(), s, path, 100)
		require.NoError(t, err)
		for w, err := range errs {
			if string(data) == fmt.Sprintf("writer %d", w) {
				require.NoError(t, err, "round %d: writer %d won", round, w)
			} else {
				require.ErrorIs(t, err, fileio.ErrExist, "round %d: writer %d", round, w)
			}
		}
	}
}

func list(t *testing.T, s fileio.Store, folder string) []string {
	t.Helper()
	var paths []string
	require.NoError(t, s.List(t.Context(), folder, func(i fileio.Info) error {
		paths = append(paths, i.Path)
		return nil
	}))
	return paths
}

// once lets a fault befall the first requests that are meant.
func once(times int64, fault s3proxy.Fault, meant func(*http.Request) bool) func(*http.Request) s3proxy.Fault {
	var n atomic.Int64
	return func(r *http.Request) s3proxy.Fault {
		if meant(r) && n.Add(1) <= times {
			return fault
		}
		return s3proxy.None
	}
}

func method(name, query string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == name && strings.Contains(r.URL.RawQuery, query) }
}

// The answer to the last request of an upload is lost as often as it is tried: the file is there, and that is what counts.
func TestCompletedWithoutAnAnswer(t *testing.T) {
	server := theServer(t)
	proxy := s3proxy.NewProxy(t, server.Endpoint)
	s := newStore(t, newClient(t, proxy.Endpoint), "s3://"+server.Bucket(t))
	for _, times := range []int64{1, 3} {
		proxy.Choose(once(times, s3proxy.LostReply, method(http.MethodPost, "uploadId=")))
		data := bytes.Repeat([]byte("0123456789"), 1_000_000)
		require.NoError(t, fileio.WriteFile(t.Context(), s, "f", data))
		back, err := fileio.ReadFile(t.Context(), s, "f", 1<<30)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, back))
	}
	require.Equal(t, []string{"f"}, list(t, s, ""))
}

// A conflict answers requests that meet. Nobody has won then, so it is tried again.
func TestConflictIsTriedAgain(t *testing.T) {
	server := theServer(t)
	proxy := s3proxy.NewProxy(t, server.Endpoint)
	s := newStore(t, newClient(t, proxy.Endpoint), "s3://"+server.Bucket(t))
	proxy.Choose(once(3, s3proxy.Conflict, method(http.MethodPut, "")))
	require.NoError(t, s.CreateExclusive(t.Context(), "snapshot-1", []byte("mine")))
	require.ErrorIs(t, s.CreateExclusive(t.Context(), "snapshot-1", []byte("theirs")), fileio.ErrExist)
}

// Bytes that come back are of one version of a file, or none come.
func TestReplacedWhileRead(t *testing.T) {
	server := theServer(t)
	s := newStore(t, newClient(t, server.Endpoint), "s3://"+server.Bucket(t))
	require.NoError(t, fileio.WriteFile(t.Context(), s, "f", bytes.Repeat([]byte("a"), 1<<20)))
	r, err := s.Open(t.Context(), "f")
	require.NoError(t, err)
	require.NoError(t, fileio.WriteFile(t.Context(), s, "f", bytes.Repeat([]byte("b"), 1<<20)))
	_, err = r.ReadAt(make([]byte, 10), 1<<19)
	require.ErrorContains(t, err, "another file took its place while it was read")
}

// A part that cannot be sent fails the file, with the reason, and what was sent is removed.
func TestFailedUploadIsAborted(t *testing.T) {
	server := theServer(t)
	proxy := s3proxy.NewProxy(t, server.Endpoint)
	s := newStore(t, newClient(t, proxy.Endpoint), "s3://"+server.Bucket(t))
	proxy.Choose(once(math.MaxInt64, s3proxy.Expired, method(http.MethodPut, "partNumber=2&")))
	err := fileio.WriteFile(t.Context(), s, "f", make([]byte, 30<<20))
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "the credentials have expired: renew them")
	require.Empty(t, list(t, s, ""))
}

// Keys that expire in the middle are told by name, and what was renewed is taken up.
func TestExpiredKeys(t *testing.T) {
	server := theServer(t)
	proxy := s3proxy.NewProxy(t, server.Endpoint)
	s := newStore(t, newClient(t, proxy.Endpoint), "s3://"+server.Bucket(t))
	require.NoError(t, s.CreateExclusive(t.Context(), "a", []byte("x")))
	proxy.Choose(func(*http.Request) s3proxy.Fault { return s3proxy.Expired })
	for name, do := range map[string]func() error{
		"create": func() error { return s.CreateExclusive(t.Context(), "b", []byte("x")) },
		"open":   func() error { _, err := s.Open(t.Context(), "a"); return err },
		"write":  func() error { return fileio.WriteFile(t.Context(), s, "c", []byte("x")) },
		"list":   func() error { return s.List(t.Context(), "", func(fileio.Info) error { return nil }) },
		"delete": func() error { return s.Delete(t.Context(), "a") },
		"prove":  func() error { return s.ProveExclusive(t.Context()) },
	} {
		err := do()
		require.ErrorIs(t, err, fs.ErrPermission, name)
		require.ErrorContains(t, err, "the credentials have expired: renew them where the worker gets them from", name)
		require.NotErrorIs(t, err, fileio.ErrExist)
		require.NotErrorIs(t, err, fileio.ErrNotExclusive)
	}
}

// A server that answers, and refuses these keys, this bucket, or is not there.
func TestWhatIsWrongIsSaid(t *testing.T) {
	server := theServer(t)
	bucket := server.Bucket(t)
	wrong := func(ctx context.Context) (s3.Keys, error) { return s3.Keys{ID: testenv.S3User, Secret: "wrong"}, nil }
	none := errors.New("the environment variable is not set")
	for name, c := range map[string]struct {
		keys func(context.Context) (s3.Keys, error)
		uri  string
		want string
	}{
		"secret":  {wrong, "s3://" + bucket, "the credentials were refused"},
		"no keys": {func(context.Context) (s3.Keys, error) { return s3.Keys{}, none }, "s3://" + bucket, "the environment variable is not set"},
		"bucket":  {keys, "s3://there-is-none", "there is no bucket there-is-none at this endpoint"},
	} {
		s := newStore(t, newClient(t, server.Endpoint, func(o *s3.Config) { o.Keys = c.keys }), c.uri)
		require.ErrorContains(t, s.CreateExclusive(t.Context(), "f", nil), c.want, name)
		require.ErrorContains(t, s.ProveExclusive(t.Context()), c.want, name)
		_, err := s.Open(t.Context(), "f")
		require.ErrorContains(t, err, c.want, name)
	}
}

// An upload that its writer did not live to end is listed as a temporary file, and gone when that is deleted.
func TestUploadsLeftBehind(t *testing.T) {
	server := theServer(t)
	s := newStore(t, newClient(t, server.Endpoint), "s3://"+server.Bucket(t)+"/lake")
	ctx, die := context.WithCancel(t.Context())
	w, err := s.Create(ctx, "ods.db/t/bucket-0/data-1-0.parquet")
	require.NoError(t, err)
	_, err = w.Write(make([]byte, 17<<20))
	require.NoError(t, err)
	die()
	left := list(t, s, "ods.db/t")
	if *onMinIO {
		// It shows uploads to those alone who know the file's whole name, and removes them itself after a day.
		require.Empty(t, left)
		return
	}
	require.Len(t, left, 1)
	require.Regexp(t, `^ods\.db/t/bucket-0/\.data-1-0\.parquet\.upload-[0-9A-Za-z_-]+\.tmp$`, left[0])
	require.True(t, fileio.IsTemporary(left[0]))
	require.Empty(t, list(t, s, "ods.db/other"))
	require.NoError(t, s.DeleteAll(t.Context(), left))
	require.NoError(t, s.Delete(t.Context(), left[0]), "again is no error")
	require.Empty(t, list(t, s, ""))
	require.ErrorIs(t, w.Close(), context.Canceled)
}

func TestProof(t *testing.T) {
	server := theServer(t)
	good := newStore(t, newClient(t, server.Endpoint), "s3://"+server.Bucket(t))
	require.NoError(t, fileio.ProveExclusive(t.Context(), good))
	require.True(t, good.Exclusive())
	require.Empty(t, list(t, good, ""), "nothing is left")

	proxy := s3proxy.NewProxy(t, server.Endpoint)
	proxy.Unconditional(testenv.S3User, testenv.S3Password)
	bad := newStore(t, newClient(t, proxy.Endpoint), "s3://"+server.Bucket(t))
	require.ErrorIs(t, fileio.ProveExclusive(t.Context(), bad), fileio.ErrNotExclusive)
	require.False(t, bad.Exclusive())
	require.Empty(t, list(t, bad, ""), "nothing is left")
	require.ErrorIs(t, fileio.ProveExclusive(t.Context(), bad), fileio.ErrNotExclusive)
}

// A store that keeps the condition for one request after the other, and not for those that come together.
func TestProofBySeveralWriters(t *testing.T) {
	server := theServer(t)
	proxy := s3proxy.NewProxy(t, server.Endpoint)
	proxy.Unconditional(testenv.S3User, testenv.S3Password)
	strip, n := proxy.Change, atomic.Int64{}
	proxy.Change = func(r *http.Request) error {
		if r.Header.Get("If-None-Match") == "" || n.Add(1) > 2 {
			return nil
		}
		return strip(r)
	}
	s := newStore(t, newClient(t, proxy.Endpoint), "s3://"+server.Bucket(t))
	err := fileio.ProveExclusive(t.Context(), s)
	require.ErrorIs(t, err, fileio.ErrNotExclusive)
	require.ErrorContains(t, err, "of 8 writers that created one object")
}
