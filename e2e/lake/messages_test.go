package lake

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// tableSort is a sort of table whose commit messages have what those of others have not.
type tableSort struct {
	name      string
	keys      []string
	partition []string
	options   map[string]string
}

func tableSorts() []tableSort {
	return []tableSort{
		{name: "append"},
		{name: "append-partitioned", partition: []string{"day"}},
		{name: "append-buckets", options: map[string]string{"bucket": "3", "bucket-key": "id"}},
		{name: "key", keys: []string{"id"}, options: map[string]string{"bucket": "2"}},
		{name: "key-partitioned", keys: []string{"day", "id"}, partition: []string{"day"}, options: map[string]string{"bucket": "2"}},
		{name: "key-changelog", keys: []string{"id"}, options: map[string]string{"bucket": "2", "changelog-producer": "input"}},
	}
}

func (s tableSort) spec() testenv.TableSpec {
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

// entry is a row of these tables. Its day follows from its id, so that the id alone is a key of every sort of table.
type entry struct {
	id   int
	text string
	kind string // +I, +U or -D
}

func (e entry) row() testenv.Row {
	return testenv.Row{
		"id": strconv.Itoa(e.id), "day": []string{"2024-02-29", "1969-12-31"}[e.id%2], "text": e.text, "money": fmt.Sprintf("-%d.50", e.id),
		"at": "1969-12-31T23:59:59.999999", "_kind": e.kind,
	}
}

func (e entry) line() string {
	r := e.row()
	return fmt.Sprintf(`{"id":"%s","day":"%s","text":"%s","money":"%s","at":"%s"}`, r["id"], r["day"], r["text"], r["money"], r["at"])
}

func rowsOf(entries []entry) []testenv.Row {
	rows := make([]testenv.Row, 0, len(entries))
	for _, e := range entries {
		rows = append(rows, e.row())
	}
	return rows
}

// entries are n rows to add.
func entries(from, n int, text string) []entry {
	var all []entry
	for i := range n {
		all = append(all, entry{from + i, fmt.Sprintf("%s é%d", text, i), "+I"})
	}
	return all
}

// changes are rows to add, and for key tables some to replace and to delete, of a table with the ids from 0 to 19.
func (s tableSort) changes() []entry {
	all := entries(20, 10, "second")
	if s.keys != nil {
		all = append(all, entries(5, 5, "replaced")...)
		all = append(all, entry{0, "", "-D"}, entry{3, "", "-D"}, entry{99, "", "-D"})
	}
	return all
}

// lines are the rows that a table of the sort has after these were written to it one after the other.
func (s tableSort) lines(written ...entry) []string {
	var lines []string
	if s.keys == nil {
		for _, e := range written {
			lines = append(lines, e.line())
		}
	} else {
		last := map[int]entry{}
		for _, e := range written {
			last[e.id] = e
		}
		for e := range maps.Values(last) {
			if e.kind != "-D" {
				lines = append(lines, e.line())
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// lakeTable is a table of a warehouse as this library opens it.
type lakeTable struct {
	*lake.Table
	t     *testing.T
	store fileio.Store
	path  string
}

const messagesTable = "m.t"

func openLakeTable(t *testing.T, warehouse string) lakeTable {
	t.Helper()
	store, err := fileio.OpenLocal(warehouse)
	require.NoError(t, err)
	c, id := catalog.NewFilesystem(store), catalog.Identifier{Database: "m", Table: "t"}
	s, err := c.LoadTable(t.Context(), id)
	require.NoError(t, err)
	return lakeTable{lake.NewTable(store, c.Path(id), s), t, store, c.Path(id)}
}

// write writes rows with this library's writer and gives their messages.
func (l lakeTable) write(rows []entry) []*message.Commit {
	l.t.Helper()
	name := uuid.NewString()
	w, err := l.NewWriter(lake.WriterOptions{Prefix: "data-" + name + "-", ChangelogPrefix: "changelog-" + name + "-"})
	require.NoError(l.t, err)
	fields := l.Schema().Fields
	batch := row.NewBatch(row.Types(fields))
	var kinds []row.Kind
	for _, e := range rows {
		texts := e.row()
		for i, f := range fields {
			v, err := row.ParseText(f.Type, texts[f.Name].(string))
			require.NoError(l.t, err)
			batch.Columns[i].Append(v)
		}
		batch.Rows++
		kinds = append(kinds, map[string]row.Kind{"+I": row.Insert, "+U": row.UpdateAfter, "-D": row.Delete}[e.kind])
	}
	require.NoError(l.t, w.WriteKinds(l.t.Context(), batch, kinds))
	messages, err := w.Close(l.t.Context())
	require.NoError(l.t, err)
	return messages
}

// keep writes a message file in a version of the serializer.
func (l lakeTable) keep(version int, messages []*message.Commit) string {
	l.t.Helper()
	line, err := message.Line(version)
	require.NoError(l.t, err)
	data, err := message.WriteFile(message.File{
		Producer: "tributary/test", PaimonLine: line, SerializerVersion: version, SchemaID: l.Schema().ID, Messages: messages,
	})
	require.NoError(l.t, err)
	path := filepath.Join(l.t.TempDir(), "messages")
	require.NoError(l.t, os.WriteFile(path, data, 0o600))
	return path
}

// commit commits a message file as one of the given kind, on the latest snapshot.
func (l lakeTable) commit(identifier int64, kind snapshot.Kind, path string) snapshot.ID {
	l.t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(l.t, err)
	f, err := message.ReadFile(path, data, l.Schema().ID)
	require.NoError(l.t, err)
	base := snapshot.ID(0)
	latest, err := snapshot.NewManager(l.store, l.path).Latest(l.t.Context())
	require.NoError(l.t, err)
	if latest != nil {
		base = latest.ID
	}
	req := commit.Request{User: "tributary-test", Identifier: identifier, Kind: kind, Messages: f.Messages, Planned: l.Schema(), Base: base}
	require.NoError(l.t, l.Committer().Check(l.t.Context(), req))
	result, err := l.Committer().Publish(l.t.Context(), req)
	require.NoError(l.t, err)
	require.False(l.t, result.AlreadyCommitted)
	return result.Snapshot
}

func eachSort(t *testing.T, f func(t *testing.T, r *testenv.JavaReferee, s tableSort, warehouse string)) {
	for _, release := range testenv.Releases() {
		r := testenv.RefereeOf(t, release)
		for _, s := range tableSorts() {
			t.Run(release+"/"+s.name, func(t *testing.T) {
				warehouse := t.TempDir()
				r.Create(t, warehouse, messagesTable, s.spec())
				f(t, r, s, warehouse)
			})
		}
	}
}

// requireRows requires the same rows of the release, of the newest one and of this library.
func requireRows(t *testing.T, r *testenv.JavaReferee, warehouse string, want []string) {
	t.Helper()
	require.Equal(t, want, r.Read(t, warehouse, messagesTable, 0))
	require.Equal(t, want, testenv.Referee(t).Read(t, warehouse, messagesTable, 0))
	table := openLakeTable(t, warehouse)
	var rows []testenv.Row
	require.NoError(t, table.Scan(t.Context(), lake.ScanOptions{}, func(b *row.Batch) error {
		for i := range b.Rows {
			values := testenv.Row{}
			for c, f := range table.Schema().Fields {
				if v := b.Columns[c].Value(i); !v.Null {
					values[f.Name] = row.Text(f.Type, v)
				}
			}
			rows = append(rows, values)
		}
		return nil
	}))
	require.Equal(t, sortedLines(t, want), linesOf(t, table.Schema().Fields, rows))
}

// The messages of this library's writer, in the version of each release, are committed by that release's Java and read back.
func TestJavaCommitsOurMessages(t *testing.T) {
	eachSort(t, func(t *testing.T, r *testenv.JavaReferee, s tableSort, warehouse string) {
		version := r.SerializerVersion(t)
		first, second := entries(0, 20, "first"), s.changes()
		for i, rows := range [][]entry{first, second} {
			table := openLakeTable(t, warehouse)
			_, err := r.Commit(t, warehouse, messagesTable, "java", int64(i+1), table.keep(version, table.write(rows)))
			require.NoError(t, err)
		}
		requireRows(t, r, warehouse, s.lines(slices.Concat(first, second)...))

		// Java goes on where we ended: it compacts our files and writes above them.
		r.Compact(t, warehouse, messagesTable)
		third := entries(7, 6, "third")
		r.Write(t, warehouse, messagesTable, "java", 3, rowsOf(third)...)
		requireRows(t, r, warehouse, s.lines(slices.Concat(first, second, third)...))
	})
}

// A later Paimon commits messages of every earlier version.
func TestNewestJavaCommitsOlderVersions(t *testing.T) {
	r := testenv.Referee(t)
	for _, s := range tableSorts() {
		t.Run(s.name, func(t *testing.T) {
			warehouse := t.TempDir()
			r.Create(t, warehouse, messagesTable, s.spec())
			var written []entry
			for i, version := range []int{6, 7, 10, 11} {
				rows := entries(10*i, 15, fmt.Sprint("version ", version))
				table := openLakeTable(t, warehouse)
				_, err := r.Commit(t, warehouse, messagesTable, "java", int64(i+1), table.keep(version, table.write(rows)))
				require.NoError(t, err)
				written = append(written, rows...)
			}
			requireRows(t, r, warehouse, s.lines(written...))
		})
	}
}

// The messages of each release's BatchTableWrite are committed by this library and read back by that release: added rows,
// changes compacted on the way, a compaction alone and an overwrite.
func TestWeCommitJavasMessages(t *testing.T) {
	eachSort(t, func(t *testing.T, r *testenv.JavaReferee, s tableSort, warehouse string) {
		table := openLakeTable(t, warehouse)
		first, second := entries(0, 20, "first"), s.changes()
		table.commit(1, snapshot.Append, r.Produce(t, warehouse, messagesTable, testenv.ProduceOptions{}, rowsOf(first)...))
		requireRows(t, r, warehouse, s.lines(first...))

		// The writers of tables without buckets leave compaction to a job of its own.
		compacts := s.options["bucket"] != ""
		table.commit(2, snapshot.Append, r.Produce(t, warehouse, messagesTable, testenv.ProduceOptions{Compact: compacts}, rowsOf(second)...))
		requireRows(t, r, warehouse, s.lines(slices.Concat(first, second)...))

		third := entries(7, 6, "third")
		table.commit(3, snapshot.Append, r.Produce(t, warehouse, messagesTable, testenv.ProduceOptions{}, rowsOf(third)...))
		files := len(r.Describe(t, warehouse, messagesTable, 0).Files)
		table.commit(4, snapshot.Compact, r.CompactionMessages(t, warehouse, messagesTable))
		d := r.Describe(t, warehouse, messagesTable, 0)
		require.Less(t, len(d.Files), files)
		require.Equal(t, "COMPACT", d.Snapshots[len(d.Snapshots)-1].CommitKind)
		requireRows(t, r, warehouse, s.lines(slices.Concat(first, second, third)...))

		only := entries(40, 4, "only")
		table.commit(5, snapshot.Overwrite, r.Produce(t, warehouse, messagesTable, testenv.ProduceOptions{Overwrite: true}, rowsOf(only)...))
		requireRows(t, r, warehouse, s.lines(only...))

		r.Write(t, warehouse, messagesTable, "java", 1, rowsOf(entries(40, 4, "java's"))...)
		requireRows(t, r, warehouse, s.lines(slices.Concat(only, entries(40, 4, "java's"))...))
	})
}
