package lake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/datafile/filereader"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// warehouse is one on disk, for this library and for the judges.
type warehouse struct {
	t    *testing.T
	dir  string
	disk fileio.Store
}

func openWarehouse(t *testing.T, dir string) warehouse {
	t.Helper()
	disk, err := fileio.NewLocal(dir)
	require.NoError(t, err)
	return warehouse{t, dir, disk}
}

// made is a table of a warehouse and a job that writes to it.
type made struct {
	*lake.Table
	in   warehouse
	t    *testing.T
	id   catalog.Identifier
	path string
	user string
	jobs int64
}

func (w warehouse) create(name string, spec schema.Spec) *made {
	w.t.Helper()
	s, err := schema.New(spec)
	require.NoError(w.t, err)
	database, table, _ := strings.Cut(name, ".")
	_, err = catalog.NewFilesystem(w.disk).CreateTable(w.t.Context(), catalog.Identifier{Database: database, Table: table}, s)
	require.NoError(w.t, err)
	return w.open(name)
}

func (w warehouse) open(name string) *made {
	w.t.Helper()
	database, table, _ := strings.Cut(name, ".")
	m := &made{in: w, t: w.t, id: catalog.Identifier{Database: database, Table: table}, user: "job-" + table}
	m.path = catalog.NewFilesystem(w.disk).Path(m.id)
	m.reload()
	return m
}

// reload takes up the latest schema.
func (m *made) reload() {
	m.t.Helper()
	s, err := catalog.NewFilesystem(m.in.disk).LoadTable(m.t.Context(), m.id)
	require.NoError(m.t, err)
	m.Table = lake.NewTable(m.in.disk, m.path, s)
}

func (m *made) alter(changes ...schema.Change) {
	m.t.Helper()
	_, err := catalog.NewFilesystem(m.in.disk).AlterTable(m.t.Context(), m.id, changes...)
	require.NoError(m.t, err)
	m.reload()
}

// newWriter starts a writer with names of its own.
func (m *made) newWriter(o lake.WriterOptions) *lake.Writer {
	m.t.Helper()
	name := uuid.NewString()
	o.Prefix, o.ChangelogPrefix = "data-"+name+"-", "changelog-"+name+"-"
	w, err := m.NewWriter(o)
	require.NoError(m.t, err)
	return w
}

// feed writes rows of canonical text, at most some at a time.
func (m *made) feed(w *lake.Writer, rows []testenv.Row, some int) {
	m.t.Helper()
	for part := range slices.Chunk(rows, some) {
		batch, kinds := m.batch(part)
		require.NoError(m.t, w.WriteKinds(m.t.Context(), batch, kinds))
	}
}

func (m *made) batch(rows []testenv.Row) (*row.Batch, []row.Kind) {
	m.t.Helper()
	fields := m.Schema().Fields
	types := row.Types(fields)
	batch, kinds := row.NewBatch(types), make([]row.Kind, len(rows))
	for i, r := range rows {
		values := map[string]any{}
		for name, v := range r {
			values[name] = v
		}
		if kind, ok := values["_kind"].(string); ok {
			kinds[i] = row.Kind(slices.Index([]string{"+I", "-U", "+U", "-D"}, kind))
		}
		delete(values, "_kind")
		text, err := json.Marshal(values)
		require.NoError(m.t, err)
		whole, err := row.ParseText(schema.Type{Kind: schema.Row, Fields: fields}, string(text))
		require.NoError(m.t, err, "%s", text)
		cells, err := row.ReadBinary(types, whole.B)
		require.NoError(m.t, err)
		for c, v := range cells {
			batch.Columns[c].Append(v)
		}
		batch.Rows++
	}
	return batch, kinds
}

// latest is the number of the newest snapshot, 0 when there is none.
func (m *made) latest() snapshot.ID {
	m.t.Helper()
	id, err := snapshot.NewManager(m.in.disk, m.path).LatestID(m.t.Context())
	require.NoError(m.t, err)
	return id
}

// publish commits messages on the latest snapshot, as the next commit of the job.
func (m *made) publish(kind snapshot.Kind, replace *commit.Replace, messages []*message.Commit) commit.Result {
	m.t.Helper()
	result, err := m.tryPublish(kind, replace, messages)
	require.NoError(m.t, err)
	return result
}

func (m *made) tryPublish(kind snapshot.Kind, replace *commit.Replace, messages []*message.Commit) (commit.Result, error) {
	m.jobs++
	base, err := snapshot.NewManager(m.in.disk, m.path).LatestID(m.t.Context())
	if err != nil {
		return commit.Result{}, err
	}
	return m.Committer().Publish(m.t.Context(), commit.Request{
		User: m.user, Identifier: m.jobs, Kind: kind, Messages: messages, Planned: m.Schema(), Base: base, Replace: replace, AllowEmpty: true,
	})
}

// write writes rows by one writer and commits them.
func (m *made) write(rows ...testenv.Row) {
	m.t.Helper()
	w := m.newWriter(lake.WriterOptions{})
	m.feed(w, rows, 1000)
	messages, err := w.Close(m.t.Context())
	require.NoError(m.t, err)
	m.publish(snapshot.Append, nil, messages)
}

// rows of a snapshot as this library reads them, sorted; 0 is the latest.
func (m *made) rows(id snapshot.ID) []string {
	m.t.Helper()
	lines := []string{}
	fields := m.Schema().Fields
	require.NoError(m.t, m.Scan(m.t.Context(), lake.ScanOptions{Snapshot: id}, func(b *row.Batch) error {
		lines = append(lines, batchLines(fields, b)...)
		return nil
	}))
	return sortedLines(m.t, lines)
}

func batchLines(fields []schema.Field, b *row.Batch) []string {
	types := row.Types(fields)
	values := make([]row.Value, len(fields))
	var lines []string
	for i := range b.Rows {
		for c := range b.Columns {
			values[c] = b.Columns[c].Value(i)
		}
		lines = append(lines, row.Text(schema.Type{Kind: schema.Row, Fields: fields}, row.Value{B: row.AppendBinary(nil, types, values)}))
	}
	return lines
}

// java are the rows that a release of Paimon reads, rust those of the reader without any code of Paimon's, both sorted.
func (m *made) java(r *testenv.JavaReferee, id snapshot.ID) []string {
	m.t.Helper()
	return sortedLines(m.t, r.Read(m.t, m.in.dir, m.id.String(), int64(id)))
}

func (m *made) rust(id snapshot.ID) []string {
	m.t.Helper()
	return sortedLines(m.t, testenv.RustReader(m.t).Read(m.t, m.in.dir, m.id.String(), int64(id)))
}

func (m *made) check(id snapshot.ID) {
	m.t.Helper()
	require.NoError(m.t, testenv.RustReader(m.t).Check(m.t, m.in.dir, m.id.String(), int64(id)))
}

func (m *made) describe(id snapshot.ID) testenv.Description {
	m.t.Helper()
	return testenv.Referee(m.t).Describe(m.t, m.in.dir, m.id.String(), int64(id))
}

// sortedLines gives JSON lines the same order of lines and of keys, whoever printed them.
func sortedLines(t *testing.T, lines []string) []string {
	t.Helper()
	out := make([]string, len(lines))
	for i, line := range lines {
		var v any
		require.NoError(t, json.Unmarshal([]byte(line), &v), line)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		out[i] = string(text)
	}
	slices.Sort(out)
	return out
}

// linesOf are the lines of rows that were made to be written.
func linesOf(t *testing.T, fields []schema.Field, rows []testenv.Row) []string {
	t.Helper()
	lines := make([]string, len(rows))
	for i, r := range rows {
		values := map[string]any{}
		for _, f := range fields {
			values[f.Name] = r[f.Name]
		}
		text, err := json.Marshal(values)
		require.NoError(t, err)
		lines[i] = string(text)
	}
	return sortedLines(t, lines)
}

// requireSameLines is require.Equal for many rows: it names the first that are only in one.
func requireSameLines(t *testing.T, want, got []string, who string) {
	t.Helper()
	if slices.Equal(want, got) {
		return
	}
	count := map[string]int{}
	for _, line := range want {
		count[line]++
	}
	for _, line := range got {
		count[line]--
	}
	var missing, extra []string
	for line, n := range count {
		for ; n > 0; n-- {
			missing = append(missing, line)
		}
		for ; n < 0; n++ {
			extra = append(extra, line)
		}
	}
	slices.Sort(missing)
	slices.Sort(extra)
	first := func(lines []string) string { return strings.Join(lines[:min(len(lines), 3)], "\n") }
	t.Fatalf("%s: %d rows instead of %d; %d are missing, such as\n%.3000s\nand %d should not be there, such as\n%.3000s",
		who, len(got), len(want), len(missing), first(missing), len(extra), first(extra))
}

// written are the rows that a data file holds, in the order in which their writer got them, and the sequence numbers of a
// key table's.
func (m *made) written(f lake.File) (rows []testenv.Row, numbers []int64) {
	m.t.Helper()
	fields := slices.Clone(m.Schema().Fields)
	keyed := len(m.Schema().PrimaryKeys) > 0
	if keyed {
		fields = append(fields,
			schema.Field{Name: "_SEQUENCE_NUMBER", Type: schema.Of(schema.BigInt)}, schema.Field{Name: "_VALUE_KIND", Type: schema.Of(schema.TinyInt)})
	}
	r, err := filereader.Open(m.t.Context(), m.in.disk, f.Path, f.DataFile.Size, fields, filereader.Options{})
	require.NoError(m.t, err)
	defer r.Close()
	batch := row.NewBatch(row.Types(fields))
	for err = r.NextBatch(m.t.Context(), batch); err == nil; err = r.NextBatch(m.t.Context(), batch) {
		for _, line := range batchLines(fields, batch) {
			var r testenv.Row
			require.NoError(m.t, json.Unmarshal([]byte(line), &r))
			rows = append(rows, r)
		}
		if keyed {
			numbers = append(numbers, batch.Columns[len(fields)-2].I64...)
			for i, kind := range batch.Columns[len(fields)-1].I32 {
				rows[len(rows)-batch.Rows+i]["_kind"] = row.Kind(kind).String()
			}
		}
	}
	require.True(m.t, errors.Is(err, io.EOF), fmt.Sprint(err))
	for _, r := range rows {
		delete(r, "_SEQUENCE_NUMBER")
		delete(r, "_VALUE_KIND")
	}
	return rows, numbers
}
