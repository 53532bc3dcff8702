package flink

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// columns of all tables, with their types as Paimon's schema files have them.
func columns() [][2]string {
	return [][2]string{
		{"id", "BIGINT NOT NULL"},
		{"day", "STRING"},
		{"text", "STRING"},
		{"money", "DECIMAL(20, 2)"},
		{"weight", "DECIMAL(9, 3)"},
		{"at", "TIMESTAMP(6)"},
		{"seen", "TIMESTAMP(3) WITH LOCAL TIME ZONE"},
		{"born", "DATE"},
		{"ratio", "DOUBLE"},
		{"good", "BOOLEAN"},
		{"raw", "BYTES"},
	}
}

// record is a row: canonical text by column, nil for NULL.
type record map[string]any

// recordOf makes a row of an id. Every column but the first is null in some of them.
func recordOf(id int, text string) record {
	sign := []string{"", "-"}[id%2]
	r := record{
		"id":     strconv.Itoa(id),
		"day":    []any{"2024-02-29", "a/b=c d%é", nil}[id%3],
		"text":   text + strings.Repeat(" é日😀", id%4),
		"money":  fmt.Sprintf("%s%d.05", sign, 1_000_000_000_000*(id+1)),
		"weight": fmt.Sprintf("%s%d.125", sign, id+1),
		"at":     fmt.Sprintf("%d-12-31T23:59:59.99%04d", 1960+id%20, id%10_000),
		"seen":   fmt.Sprintf("20%02d-06-15T00:00:00.%03dZ", id%30, id%1000),
		"born":   fmt.Sprintf("19%02d-02-28", id%100),
		"ratio":  sign + strconv.FormatFloat(float64(id)+0.1, 'g', -1, 64),
		"good":   strconv.FormatBool(id%2 == 0),
		"raw":    hex.EncodeToString([]byte{0, byte(id), 0xff}),
	}
	if null := columns()[1+id%len(columns())%(len(columns())-1)][0]; id%2 == 0 && null != "day" {
		r[null] = nil
	}
	return r
}

func (r record) line() string {
	line, _ := json.Marshal(r) // it holds texts and nils only
	return string(line)
}

func parse(t *testing.T, line string) record {
	t.Helper()
	r := record{}
	require.NoError(t, json.Unmarshal([]byte(line), &r))
	return r
}

// change is what a row does to its id.
type change struct {
	kind row.Kind
	record
}

func inserts(from, n int, text string) []change {
	var all []change
	for id := from; id < from+n; id++ {
		all = append(all, change{row.Insert, recordOf(id, text)})
	}
	return all
}

// table is a table under test, and what its rows must be.
type table struct {
	*lake.Table
	id        catalog.Identifier
	name      string
	store     fileio.Store
	path      string
	snapshots *snapshot.Manager
	rows      map[string]record // by id
	commits   int64
}

// createTable creates a table with lake.
func createTable(t *testing.T, store fileio.Store, name string, spec schema.Spec) *table {
	t.Helper()
	for _, c := range columns() {
		of, err := schema.ParseType(c[1])
		require.NoError(t, err)
		spec.Fields = append(spec.Fields, schema.Field{Name: c[0], Type: of})
	}
	s, err := schema.New(spec)
	require.NoError(t, err)
	_, err = catalog.NewFilesystem(store).CreateTable(t.Context(), catalog.Identifier{Database: "f", Table: name}, s)
	require.NoError(t, err)
	return openTable(t, store, name)
}

// openTable opens a table without rows.
func openTable(t *testing.T, store fileio.Store, name string) *table {
	t.Helper()
	id := catalog.Identifier{Database: "f", Table: name}
	path := catalog.NewFilesystem(store).Path(id)
	b := &table{id: id, name: id.String(), store: store, path: path, snapshots: snapshot.NewManager(store, path), rows: map[string]record{}}
	b.reload(t)
	return b
}

// reload takes the table's latest schema.
func (b *table) reload(t *testing.T) {
	t.Helper()
	s, err := catalog.NewFilesystem(b.store).LoadTable(t.Context(), b.id)
	require.NoError(t, err)
	b.Table = lake.NewTable(b.store, b.path, s)
}

// write commits changes as one snapshot of lake's.
func (b *table) write(t *testing.T, changes ...change) {
	t.Helper()
	w, err := b.NewWriter(lake.WriterOptions{Prefix: "data-" + uuid.NewString() + "-"})
	require.NoError(t, err)
	fields := b.Schema().Fields
	batch := row.NewBatch(row.Types(fields))
	var kinds []row.Kind
	for _, c := range changes {
		for i, f := range fields {
			v := row.NullValue()
			if text, ok := c.record[f.Name].(string); ok {
				v, err = row.ParseText(f.Type, text)
				require.NoError(t, err)
			}
			batch.Columns[i].Append(v)
		}
		batch.Rows++
		kinds = append(kinds, c.kind)
		b.expect(c)
	}
	require.NoError(t, w.WriteKinds(t.Context(), batch, kinds))
	messages, err := w.Close(t.Context())
	require.NoError(t, err)
	b.commits++
	_, err = b.Committer().Publish(t.Context(), commit.Request{
		User: "tributary", Identifier: b.commits, Kind: snapshot.Append, Messages: messages, Planned: b.Schema(), Base: b.latest(t).ID,
	})
	require.NoError(t, err)
}

// expect notes what changes make of the rows, whoever makes them.
func (b *table) expect(changes ...change) {
	for _, c := range changes {
		id := c.record["id"].(string)
		if c.kind == row.Delete {
			delete(b.rows, id)
		} else {
			b.rows[id] = c.record
		}
	}
}

func (b *table) latest(t *testing.T) snapshot.Snapshot {
	t.Helper()
	s, err := b.snapshots.Latest(t.Context())
	require.NoError(t, err)
	if s == nil {
		return snapshot.Snapshot{}
	}
	return *s
}

// want are the rows that the table must have, sorted.
func (b *table) want() []string {
	var all []string
	for r := range maps.Values(b.rows) {
		all = append(all, r.line())
	}
	slices.Sort(all)
	return all
}

// weRead requires that lake reads the rows that the table must have.
func (b *table) weRead(t *testing.T) {
	t.Helper()
	require.Equal(t, b.want(), b.scan(t, 0))
}

func (b *table) scan(t *testing.T, id snapshot.ID) []string {
	t.Helper()
	var lines []string
	require.NoError(t, b.Scan(t.Context(), lake.ScanOptions{Snapshot: id}, func(batch *row.Batch) error {
		for i := range batch.Rows {
			r := record{}
			for c, f := range b.Schema().Fields {
				r[f.Name] = nil
				if v := batch.Columns[c].Value(i); !v.Null {
					r[f.Name] = row.Text(f.Type, v)
				}
			}
			lines = append(lines, r.line())
		}
		return nil
	}))
	slices.Sort(lines)
	return lines
}

// flinkReads requires that Flink reads the rows that the table must have.
func (b *table) flinkReads(t *testing.T, flink *session) {
	t.Helper()
	require.Equal(t, b.want(), b.selected(t, flink, ""))
}

// selected are the rows of a SELECT, sorted; more comes behind the table's name.
func (b *table) selected(t *testing.T, flink *session, more string) []string {
	t.Helper()
	var lines []string
	for _, line := range flink.run(t, "SELECT * FROM "+b.name+" "+more) {
		r := parse(t, line)
		if text, ok := r["ratio"].(string); ok {
			// Java's own text of a double is not always the shortest.
			v, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			r["ratio"] = strconv.FormatFloat(v, 'g', -1, 64)
		}
		lines = append(lines, r.line())
	}
	slices.Sort(lines)
	return lines
}

// files are the names of the data files that the latest snapshot shows.
func (b *table) files(t *testing.T) []string {
	t.Helper()
	list, err := b.Files(t.Context(), 0)
	require.NoError(t, err)
	var names []string
	for _, f := range list {
		names = append(names, f.DataFile.Name)
	}
	slices.Sort(names)
	return names
}
