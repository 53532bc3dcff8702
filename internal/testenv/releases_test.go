package testenv_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// serializers are the versions of CommitMessageSerializer that the releases' sources state.
func serializers() map[string]int {
	return map[string]int{"1.0.1": 6, "1.1.1": 7, "1.2.0": 7, "1.3.1": 10, "1.4.2": 11}
}

func TestEveryReleaseReadsTheGoldenTable(t *testing.T) {
	wh := filepath.Join(t.TempDir(), "wh")
	// Up to 1.2 none reads nanoseconds before 1970, which the table of all types has.
	const table = "append_partitioned"
	require.NoError(t, os.CopyFS(filepath.Join(wh, "golden.db", table), os.DirFS("../../lake/testdata/golden.db/"+table)))
	expected, err := os.ReadFile("../../lake/testdata/expected/" + table + "/expected.jsonl")
	require.NoError(t, err)
	want := strings.Split(strings.TrimSpace(string(expected)), "\n")
	for _, release := range testenv.Releases() {
		referee := testenv.RefereeOf(t, release)
		require.Equal(t, release, referee.Release())
		require.Equal(t, serializers()[release], referee.SerializerVersion(t))
		require.Equal(t, want, referee.Read(t, wh, "golden."+table, 0), release)
	}
}

func eachRelease(t *testing.T, f func(t *testing.T, r *testenv.JavaReferee)) {
	for _, release := range testenv.Releases() {
		t.Run(release, func(t *testing.T) { f(t, testenv.RefereeOf(t, release)) })
	}
}

func partitionedSpec() testenv.TableSpec {
	return testenv.TableSpec{
		Fields:        []testenv.FieldSpec{{Name: "p", Type: "STRING"}, {Name: "n", Type: "INT"}},
		PartitionKeys: []string{"p"},
	}
}

func TestRefereeAppendsAndOverwrites(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *testenv.JavaReferee) {
		wh := t.TempDir()
		r.Create(t, wh, "d.t", partitionedSpec())
		require.EqualValues(t, 1, r.Write(t, wh, "d.t", "u", 1, testenv.Row{"p": "a", "n": "1"}, testenv.Row{"p": "b", "n": "2"}).ID)

		file := r.Produce(t, wh, "d.t", testenv.ProduceOptions{Overwrite: true}, testenv.Row{"p": "a", "n": "3"}, testenv.Row{"p": "b"})
		decoded, err := r.DecodeMessages(t, file)
		require.NoError(t, err)
		require.Equal(t, serializers()[r.Release()], decoded.Version)
		require.Len(t, decoded.Messages, 2)
		var message struct {
			Reencodes bool
			NewFiles  []map[string]any
		}
		require.NoError(t, json.Unmarshal(decoded.Messages[0], &message))
		require.True(t, message.Reencodes)
		require.Equal(t, "1", message.NewFiles[0]["_ROW_COUNT"])
		same, err := os.ReadFile(file)
		require.NoError(t, err)
		again, err := os.ReadFile(r.EncodeMessages(t, file))
		require.NoError(t, err)
		require.Equal(t, same, again)

		for i, want := range []bool{true, false} {
			_, committed, err := r.CommitAs(t, wh, "d.t", "v", 1, testenv.CommitOptions{Filter: true}, file)
			require.NoError(t, err)
			require.Equal(t, want, committed, i)
			require.Equal(t, []string{`{"p":"a","n":"1"}`, `{"p":"a","n":"3"}`, `{"p":"b","n":"2"}`, `{"p":"b","n":null}`}, r.Read(t, wh, "d.t", 0))
		}
		for i, c := range []struct {
			how  testenv.CommitOptions
			rows []string
		}{
			{testenv.CommitOptions{Overwrite: true, Dynamic: "true"}, []string{`{"p":"a","n":"1"}`, `{"p":"a","n":"3"}`, `{"p":"b","n":"9"}`}},
			{testenv.CommitOptions{Static: "p=b", Dynamic: "false"}, []string{`{"p":"a","n":"1"}`, `{"p":"a","n":"3"}`, `{"p":"b","n":"9"}`}},
			{testenv.CommitOptions{Overwrite: true, Dynamic: "false"}, []string{`{"p":"b","n":"9"}`}},
		} {
			one := r.Produce(t, wh, "d.t", testenv.ProduceOptions{Overwrite: true}, testenv.Row{"p": "b", "n": "9"})
			s, _, err := r.CommitAs(t, wh, "d.t", "v", int64(2+i), c.how, one)
			require.NoError(t, err)
			require.Equal(t, "OVERWRITE", s.CommitKind)
			require.Equal(t, c.rows, r.Read(t, wh, "d.t", 0))
		}
	})
}

func TestRefereeKeepsHouse(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *testenv.JavaReferee) {
		wh := t.TempDir()
		r.Create(t, wh, "d.t", partitionedSpec())
		for i := range 3 {
			r.Write(t, wh, "d.t", "u", int64(i), testenv.Row{"p": "a", "n": i})
		}
		require.Equal(t, 1, r.Compact(t, wh, "d.t"))
		d := r.Describe(t, wh, "d.t", 0)
		require.Len(t, d.Files, 1)
		require.EqualValues(t, 3, d.Files[0].Rows)
		require.Equal(t, "COMPACT", d.Snapshots[3].CommitKind)

		r.Tag(t, wh, "d.t", "first", 1)
		r.Tag(t, wh, "d.t", "last", 0)
		require.Equal(t, map[string]int64{"first": 1, "last": 4}, r.Describe(t, wh, "d.t", 0).Tags)
		r.Untag(t, wh, "d.t", "first")
		require.Equal(t, 3, r.Expire(t, wh, "d.t", 1))
		require.Len(t, r.Describe(t, wh, "d.t", 0).Snapshots, 1)

		folder := filepath.Join(wh, "d.db/t/p=a/bucket-0")
		aborted := r.Produce(t, wh, "d.t", testenv.ProduceOptions{}, testenv.Row{"p": "a", "n": "7"})
		require.Len(t, parquet(t, folder), 2)
		r.Abort(t, wh, "d.t", aborted)
		require.Len(t, parquet(t, folder), 1)
		r.Produce(t, wh, "d.t", testenv.ProduceOptions{}, testenv.Row{"p": "a", "n": "8"})
		lost := parquet(t, folder)
		require.Len(t, lost, 2)
		for _, path := range lost {
			require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-48*time.Hour)))
		}
		gone := r.CleanOrphans(t, wh, "d.t", 24*60*60)
		require.Len(t, gone, 1)
		require.Len(t, parquet(t, folder), 1)
		require.Equal(t, []string{`{"p":"a","n":"0"}`, `{"p":"a","n":"1"}`, `{"p":"a","n":"2"}`}, r.Read(t, wh, "d.t", 0))

		r.Alter(t, wh, "d.t", testenv.SchemaChange{Add: "x", Type: "BIGINT"}, testenv.SchemaChange{Rename: "n", To: "m"})
		require.Equal(t, `{"p":"a","m":"0","x":null}`, r.Read(t, wh, "d.t", 0)[0])
	})
}

func parquet(t *testing.T, folder string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	require.NoError(t, err)
	return paths
}

func TestRefereeWritesKeyTables(t *testing.T) {
	eachRelease(t, func(t *testing.T, r *testenv.JavaReferee) {
		wh := t.TempDir()
		r.Create(t, wh, "d.k", testenv.TableSpec{
			Fields:      []testenv.FieldSpec{{Name: "id", Type: "INT NOT NULL"}, {Name: "v", Type: "STRING"}},
			PrimaryKeys: []string{"id"},
			Options:     map[string]string{"bucket": "2", "deletion-vectors.enabled": "true"},
		})
		r.Write(t, wh, "d.k", "u", 1, testenv.Row{"id": 1, "v": "a"}, testenv.Row{"id": 2, "v": "b"}, testenv.Row{"id": 3, "v": "c"})
		file := r.Produce(t, wh, "d.k", testenv.ProduceOptions{Compact: true}, testenv.Row{"id": 1, "_kind": "-D"}, testenv.Row{"id": 2, "v": "bb"})
		_, err := r.Commit(t, wh, "d.k", "u", 2, file)
		require.NoError(t, err)
		r.Compact(t, wh, "d.k")
		require.Equal(t, []string{`{"id":"2","v":"bb"}`, `{"id":"3","v":"c"}`}, r.Read(t, wh, "d.k", 0))
		d := r.Describe(t, wh, "d.k", 0)
		require.Equal(t, "HASH_FIXED", d.BucketMode)
		require.NotEmpty(t, d.Files)
		for _, f := range d.Files {
			require.NotEmpty(t, f.MinKey["id"])
			require.LessOrEqual(t, *f.MinKey["id"], *f.MaxKey["id"])
			require.NotNil(t, f.DeleteRows)
		}
	})
}
