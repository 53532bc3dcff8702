package datafile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/datafile/filereader"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// The folders below testdata hold data files that Paimon 1.4.2 wrote, the schemas they were written with, the rows that
// Paimon reads from them (expected.jsonl), and Paimon's description of the files (describe.json).

type goldenFile struct {
	Name        string `json:"name"`
	Size        int64  `json:"size"`
	SchemaID    int    `json:"schemaId"`
	MinSequence int64  `json:"minSequence"`
	MaxSequence int64  `json:"maxSequence"`
	ValueStats  map[string]struct {
		Min, Max *string
		Nulls    int64
	} `json:"valueStats"`
}

func goldenFiles(t *testing.T, table string) []goldenFile {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", table, "describe.json"))
	require.NoError(t, err)
	var d struct {
		Files []goldenFile `json:"files"`
	}
	require.NoError(t, json.Unmarshal(data, &d))
	require.NotEmpty(t, d.Files)
	return d.Files
}

func goldenSchema(t *testing.T, table, name string) *schema.Table {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", table, name))
	require.NoError(t, err)
	s, err := schema.Parse(data)
	require.NoError(t, err)
	return s
}

// goldenRows are the rows that Paimon reads, as canonical text by column.
func goldenRows(t *testing.T, table string) []map[string]*string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", table, "expected.jsonl"))
	require.NoError(t, err)
	var rows []map[string]*string
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var r map[string]*string
		err := dec.Decode(&r)
		if errors.Is(err, io.EOF) {
			return rows
		}
		require.NoError(t, err)
		rows = append(rows, r)
	}
}

func localStore(t testing.TB, dir string) fileio.Store {
	t.Helper()
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	s, err := fileio.NewLocal(dir)
	require.NoError(t, err)
	return s
}

// readEach hands a file's rows on in batches of few.
func readEach(t testing.TB, store fileio.Store, path string, size int64, fields []schema.Field, batchRows int, each func(*row.Batch)) {
	t.Helper()
	r, err := filereader.Open(t.Context(), store, path, size, fields, filereader.Options{BatchRows: batchRows})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	b := row.NewBatch(row.Types(fields))
	for rows := int64(0); ; rows += int64(b.Rows) {
		err := r.NextBatch(t.Context(), b)
		if errors.Is(err, io.EOF) {
			require.Equal(t, r.Rows(), rows)
			return
		}
		require.NoError(t, err)
		require.LessOrEqual(t, b.Rows, max(batchRows, 4096))
		each(b)
	}
}

// readAll reads a whole file in batches of few rows.
func readAll(t testing.TB, store fileio.Store, path string, size int64, fields []schema.Field, batchRows int) [][]row.Value {
	t.Helper()
	columns := make([][]row.Value, len(fields))
	readEach(t, store, path, size, fields, batchRows, func(b *row.Batch) {
		for i := range b.Columns {
			require.Equal(t, b.Rows, b.Columns[i].Len())
			for k := range b.Rows {
				v := b.Columns[i].Value(k)
				v.B = append([]byte(nil), v.B...)
				columns[i] = append(columns[i], v)
			}
		}
	})
	return columns
}

func textRows(fields []schema.Field, columns [][]row.Value) []map[string]*string {
	rows := make([]map[string]*string, len(columns[0]))
	for k := range rows {
		rows[k] = make(map[string]*string)
		for i, f := range fields {
			rows[k][f.Name] = nil
			if v := columns[i][k]; !v.Null {
				text := row.Text(f.Type, v)
				rows[k][f.Name] = &text
			}
		}
	}
	return rows
}

func TestReader_PaimonFile(t *testing.T) {
	const table = "append_all_types"
	fields := goldenSchema(t, table, "schema-0").Fields
	file := goldenFiles(t, table)[0]
	store := localStore(t, filepath.Join("testdata", table))
	for _, batchRows := range []int{0, 1, 3} {
		got := readAll(t, store, file.Name, file.Size, fields, batchRows)
		require.Equal(t, goldenRows(t, table), textRows(fields, got))
	}
}

func TestReader_PaimonFilesOfOlderSchemas(t *testing.T) {
	const table = "append_schema_evolution"
	latest := goldenSchema(t, table, "schema-4").Fields
	store := localStore(t, filepath.Join("testdata", table))
	var got []map[string]*string
	for _, file := range goldenFiles(t, table) {
		written := goldenSchema(t, table, "schema-"+string(rune('0'+file.SchemaID)))
		asked := append([]schema.Field{}, latest...)
		for i, f := range asked {
			asked[i].Name = "no such column"
			for _, w := range written.Fields {
				if w.ID == f.ID {
					asked[i].Name = w.Name
				}
			}
		}
		got = append(got, textRows(latest, readAll(t, store, file.Name, file.Size, asked, 0))...)
	}
	require.ElementsMatch(t, goldenRows(t, table), got)
}

func TestReader_FlatColumnsBesideNested(t *testing.T) {
	const table = "append_nested"
	var fields []schema.Field
	for _, f := range goldenSchema(t, table, "schema-0").Fields {
		if !f.Type.Nested() {
			fields = append(fields, f)
		}
	}
	require.Len(t, fields, 2) // id and last, with three nested columns between
	file := goldenFiles(t, table)[0]
	got := textRows(fields, readAll(t, localStore(t, filepath.Join("testdata", table)), file.Name, file.Size, fields, 0))
	require.Len(t, got, 3)
	require.Equal(t, "3", *got[2]["id"])
	require.Equal(t, "l", *got[0]["last"])
	require.Nil(t, got[1]["last"])
}

// rewritten writes the rows of the golden table with this package.
func rewritten(t *testing.T) ([]schema.Field, []byte, Result) {
	t.Helper()
	const table = "append_all_types"
	fields := goldenSchema(t, table, "schema-0").Fields
	columns := make([][]row.Value, len(fields))
	for _, r := range goldenRows(t, table) {
		for i, f := range fields {
			v := row.NullValue()
			if text := r[f.Name]; text != nil {
				var err error
				v, err = row.ParseText(f.Type, *text)
				require.NoError(t, err)
			}
			columns[i] = append(columns[i], v)
		}
	}
	data, res := write(t, fields, columns, Options{}, 3)
	return fields, data, res
}

func footerOf(t *testing.T, data []byte) fileMetaData {
	t.Helper()
	n := binary.LittleEndian.Uint32(data[len(data)-8:])
	var meta fileMetaData
	require.NoError(t, thrift.Unmarshal(new(thrift.CompactProtocol), data[len(data)-8-int(n):len(data)-8], &meta))
	return meta
}

func TestWriter_SchemaIsPaimons(t *testing.T) {
	_, ours, _ := rewritten(t)
	file := goldenFiles(t, "append_all_types")[0]
	java, err := os.ReadFile(filepath.Join("testdata", "append_all_types", file.Name))
	require.NoError(t, err)
	want, got := footerOf(t, java), footerOf(t, ours)
	require.Len(t, got.Schema, len(want.Schema))
	for i := range want.Schema {
		require.Equal(t, want.Schema[i], got.Schema[i])
	}
	require.Equal(t, want.Version, got.Version)
	require.Equal(t, want.ColumnOrders, got.ColumnOrders)
	require.Equal(t, "id", got.Schema[1].Name)
	require.True(t, got.Schema[1].FieldID.Valid, "field id 0 must be written")

	for i := range want.RowGroups[0].Columns {
		w, g := want.RowGroups[0].Columns[i].MetaData, got.RowGroups[0].Columns[i].MetaData
		require.Equal(t, w.PathInSchema, g.PathInSchema)
		require.Equal(t, w.Type, g.Type)
		require.Equal(t, w.Codec, g.Codec)
		require.Equal(t, w.Statistics.NullCount, g.Statistics.NullCount, g.PathInSchema)
		switch g.PathInSchema[0] {
		case "f_float", "f_double", "f_binary", "f_varbinary", "f_bytes": // NaN, and bytes, have no bounds here
			require.Nil(t, g.Statistics.MinValue)
			require.Nil(t, g.Statistics.MaxValue)
		default:
			require.Equal(t, w.Statistics.MinValue, g.Statistics.MinValue, g.PathInSchema)
			require.Equal(t, w.Statistics.MaxValue, g.Statistics.MaxValue, g.PathInSchema)
		}
	}
}

func TestManifestStats_ArePaimons(t *testing.T) {
	fields, _, res := rewritten(t)
	modes, err := StatsModes(fields, nil)
	require.NoError(t, err)
	stats, names, err := ManifestStats(res.Columns, modes)
	require.NoError(t, err)
	require.Nil(t, names)
	low, err := row.Deserialize(row.Types(fields), stats.Min)
	require.NoError(t, err)
	high, err := row.Deserialize(row.Types(fields), stats.Max)
	require.NoError(t, err)
	want := goldenFiles(t, "append_all_types")[0].ValueStats
	require.Len(t, want, len(fields))
	for i, f := range fields {
		require.Equal(t, want[f.Name].Nulls, *stats.NullCounts[i])
		if strings.HasSuffix(f.Name, "float") || strings.HasSuffix(f.Name, "double") {
			require.Equal(t, "NaN", *want[f.Name].Max) // which holds for Paimon; here both are unknown
			require.True(t, low[i].Null && high[i].Null)
			continue
		}
		requireText(t, f, want[f.Name].Min, low[i])
		requireText(t, f, want[f.Name].Max, high[i])
	}
}

func requireText(t *testing.T, f schema.Field, want *string, got row.Value) {
	t.Helper()
	require.Equal(t, want == nil, got.Null, f.Name)
	if want != nil {
		require.Equal(t, *want, row.Text(f.Type, got), f.Name)
	}
}
