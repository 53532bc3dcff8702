package message_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/message"
)

// sort is a sort of table whose messages have what those of others have not.
type sort struct {
	name      string
	keys      []string
	partition []string
	options   map[string]string
}

func sorts() []sort {
	id := []string{"id"}
	return []sort{
		{name: "append"},
		{name: "append-partitioned", partition: []string{"day"}},
		{name: "append-buckets", options: map[string]string{"bucket": "3", "bucket-key": "id"}},
		{name: "key", keys: id, options: map[string]string{"bucket": "2"}},
		{name: "key-partitioned", keys: []string{"id", "day"}, partition: []string{"day"}, options: map[string]string{"bucket": "2"}},
		{name: "key-changelog", keys: id, options: map[string]string{"bucket": "1", "changelog-producer": "full-compaction"}},
		{name: "key-deletions", keys: id, options: map[string]string{"bucket": "1", "deletion-vectors.enabled": "true"}},
		{name: "key-stats-none", keys: id, options: map[string]string{"bucket": "1", "metadata.stats-mode": "none"}},
	}
}

func (s sort) spec() testenv.TableSpec {
	return testenv.TableSpec{
		Fields: []testenv.FieldSpec{
			{Name: "id", Type: "BIGINT NOT NULL"},
			{Name: "day", Type: "DATE NOT NULL"},
			{Name: "text", Type: "STRING"},
			{Name: "money", Type: "DECIMAL(20, 2)"},
			{Name: "at", Type: "TIMESTAMP(6)"},
		},
		PrimaryKeys: s.keys, PartitionKeys: s.partition, Options: s.options,
	}
}

func (s sort) rows(from, n int) []testenv.Row {
	var rows []testenv.Row
	for i := range n {
		rows = append(rows, testenv.Row{
			"id": from + i, "day": []string{"2024-02-29", "1969-12-31"}[i%2], "text": strings.Repeat("é", i),
			"money": "-1.50", "at": "1969-12-31T23:59:59.999999",
		})
	}
	return rows
}

// produced are files of messages that the release makes for a table: of a first write, of changes, of a compaction and of an
// overwrite.
func (s sort) produced(t *testing.T, r *testenv.JavaReferee) []string {
	t.Helper()
	wh := t.TempDir()
	r.Create(t, wh, "m.t", s.spec())
	first := r.Produce(t, wh, "m.t", testenv.ProduceOptions{}, s.rows(0, 20)...)
	_, err := r.Commit(t, wh, "m.t", "u", 1, first)
	require.NoError(t, err)
	changes := s.rows(10, 20)
	if s.keys != nil {
		changes = append(changes, testenv.Row{"id": 1, "day": "1969-12-31", "_kind": "-D"})
	}
	// The writers of a table without buckets leave compaction to a job of its own.
	compacts := s.options["bucket"] != ""
	second := r.Produce(t, wh, "m.t", testenv.ProduceOptions{Compact: compacts}, changes...)
	_, err = r.Commit(t, wh, "m.t", "u", 2, second)
	require.NoError(t, err)
	files := []string{first, second}
	if !compacts {
		files = append(files, r.CompactionMessages(t, wh, "m.t"))
	}
	return append(files, r.Produce(t, wh, "m.t", testenv.ProduceOptions{Overwrite: true}, s.rows(0, 3)...))
}

// What Paimon's own writers make is read as Paimon reads it and written again byte for byte; in the next release's
// version it is what that release writes of it.
func TestMessagesOfRunningReleases(t *testing.T) {
	releases := testenv.Releases()
	for at, release := range releases {
		r, next := testenv.RefereeOf(t, release), testenv.RefereeOf(t, releases[min(at+1, len(releases)-1)])
		for _, s := range sorts() {
			t.Run(release+"/"+s.name, func(t *testing.T) {
				for _, path := range s.produced(t, r) {
					data, file := agreed(t, r, path)
					written, err := message.WriteFile(*file)
					require.NoError(t, err)
					require.Equal(t, hex.EncodeToString(data), hex.EncodeToString(written))
					recoded(t, next, path, file)
				}
			})
		}
	}
}

// agreed reads a file and requires that Paimon reads the same in it.
func agreed(t *testing.T, r *testenv.JavaReferee, path string) ([]byte, *message.File) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := message.ReadFile(path, data, 0)
	require.NoError(t, err)
	java, err := r.DecodeMessages(t, path)
	require.NoError(t, err)
	require.Equal(t, java.Version, file.SerializerVersion)
	require.Len(t, file.Messages, len(java.Messages))
	require.NotEmpty(t, file.Messages)
	for i, m := range java.Messages {
		var v view
		require.NoError(t, json.Unmarshal(m, &v))
		require.Equal(t, v.commit(t), file.Messages[i])
	}
	return data, file
}

// recoded requires that a file in the version of another release is what that release makes of it.
func recoded(t *testing.T, r *testenv.JavaReferee, path string, file *message.File) {
	t.Helper()
	theirs := r.EncodeMessages(t, path)
	data, err := os.ReadFile(theirs)
	require.NoError(t, err)
	java, err := message.ReadFile(theirs, data, 0)
	require.NoError(t, err)
	ours := *file
	ours.Producer, ours.PaimonLine, ours.SerializerVersion = java.Producer, java.PaimonLine, java.SerializerVersion
	written, err := message.WriteFile(ours)
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(data), hex.EncodeToString(written), r.Release())
}

// Messages of every sort, one with all fields set among them, are read by the release as they were meant, in each version
// that it knows.
func TestReleasesReadOurMessages(t *testing.T) {
	for _, release := range testenv.Releases() {
		r := testenv.RefereeOf(t, release)
		own := r.SerializerVersion(t)
		for _, version := range message.Versions() {
			f := message.File{SerializerVersion: version}
			for _, g := range goldens(t) {
				if g.version == version {
					f.Messages = append(f.Messages, g.view.commit(t))
				}
			}
			data, err := message.WriteFile(f)
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "ours")
			require.NoError(t, os.WriteFile(path, data, 0o600))
			if version > own {
				_, err := r.DecodeMessages(t, path)
				require.ErrorContains(t, err, "is later than this release's")
				continue
			}
			java, err := r.DecodeMessages(t, path)
			require.NoError(t, err)
			require.Len(t, java.Messages, len(f.Messages))
			for i, m := range java.Messages {
				var v view
				require.NoError(t, json.Unmarshal(m, &v))
				v.Version = own // whose way it is to show index files
				require.Equal(t, v.commit(t), f.Messages[i], "%s reads version %d", release, version)
			}
		}
	}
}
