package catalog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// altered is a table in a warehouse on disk that is written to between its alterations.
type altered struct {
	*testing.T
	warehouse string
	store     fileio.Store
	catalog   catalog.Catalog
	id        catalog.Identifier
	schema    *schema.Table
	commits   int64
}

func newAltered(t *testing.T) *altered {
	warehouse := t.TempDir()
	store, err := fileio.NewLocal(warehouse)
	require.NoError(t, err)
	return &altered{T: t, warehouse: warehouse, store: store, catalog: catalog.NewFilesystem(store), id: catalog.Identifier{Database: "ods", Table: "t"}}
}

func (a *altered) alter(changes ...schema.Change) {
	a.Helper()
	next, err := a.catalog.AlterTable(a.Context(), a.id, changes...)
	require.NoError(a, err)
	a.schema = next
}

// write commits a row by canonical texts of all columns, "NULL" for none.
func (a *altered) write(texts ...string) {
	a.Helper()
	table := lake.NewTable(a.store, a.catalog.Path(a.id), a.schema)
	b := row.NewBatch(row.Types(a.schema.Fields))
	require.Len(a, texts, len(a.schema.Fields))
	for i, text := range texts {
		if text == "NULL" {
			b.Columns[i].AppendNull()
			continue
		}
		v, err := row.ParseText(a.schema.Fields[i].Type, text)
		require.NoError(a, err)
		b.Columns[i].Append(v)
	}
	b.Rows = 1
	w, err := table.NewWriter(lake.WriterOptions{Prefix: fmt.Sprintf("data-%d-", a.commits)})
	require.NoError(a, err)
	require.NoError(a, w.Write(a.Context(), b))
	messages, err := w.Close(a.Context())
	require.NoError(a, err)
	_, err = table.Committer().Publish(a.Context(), commit.Request{
		User: "u", Identifier: a.commits, Kind: snapshot.Append, Messages: messages, Planned: a.schema,
	})
	require.NoError(a, err)
	a.commits++
}

// rows reads by this library, as the referee prints them.
func (a *altered) rows() []string {
	a.Helper()
	var lines []string
	err := lake.NewTable(a.store, a.catalog.Path(a.id), a.schema).Scan(a.Context(), lake.ScanOptions{}, func(b *row.Batch) error {
		for i := range b.Rows {
			line := "{"
			for j, f := range a.schema.Fields {
				text := "null"
				if v := b.Columns[j].Value(i); !v.Null {
					text = fmt.Sprintf("%q", row.Text(f.Type, v))
				}
				line += fmt.Sprintf("%q:%s,", f.Name, text)
			}
			lines = append(lines, line[:len(line)-1]+"}")
		}
		return nil
	})
	require.NoError(a, err)
	return lines
}

func field(t *testing.T, name, typ string) schema.Field {
	t.Helper()
	parsed, err := schema.ParseType(typ)
	require.NoError(t, err)
	return schema.Field{Name: name, Type: parsed}
}

// Every kind of change, with a file from before and one from after: Paimon's Java reads what was written, and so does this
// library.
func TestJavaReadsAlteredTables(t *testing.T) {
	a := newAltered(t)
	var fields []schema.Field
	for _, f := range [][2]string{
		{"id", "INT NOT NULL"},
		{"p", "STRING"},
		{"old_name", "STRING"},
		{"gone", "INT"},
		{"must", "INT NOT NULL"},
		{"tiny", "TINYINT"},
		{"flt", "FLOAT"},
		{"dec", "DECIMAL(9, 2)"},
		{"big_dec", "DECIMAL(9, 2)"},
		{"chr", "CHAR(3)"},
		{"txt", "VARCHAR(3)"},
		{"bin", "BINARY(2)"},
		{"ts", "TIMESTAMP(3)"},
		{"nano", "TIMESTAMP(3)"},
		{"ltz", "TIMESTAMP(0) WITH LOCAL TIME ZONE"},
	} {
		fields = append(fields, field(t, f[0], f[1]))
	}
	first, err := schema.New(schema.Spec{Fields: fields, PartitionKeys: []string{"p"}})
	require.NoError(t, err)
	a.schema, err = a.catalog.CreateTable(t.Context(), a.id, first)
	require.NoError(t, err)
	a.write("1", "a", "one", "11", "12", "-7", "0.1", "-1.10", "1.10", "abc", "xyz", "00ff",
		"1969-12-31T23:59:59.999", "1969-12-31T23:59:59.999", "2024-02-29T12:00:00Z")

	to := func(name, typ string) schema.Change { return schema.ChangeType(name, field(t, name, typ).Type) }
	a.alter(
		schema.RenameColumn("old_name", "new_name"), schema.DropColumn("gone"), schema.SetNullable("must", true),
		to("tiny", "BIGINT"), to("flt", "DOUBLE"), to("dec", "DECIMAL(12, 4)"), to("big_dec", "DECIMAL(30, 4)"),
		to("chr", "VARCHAR(5)"), to("txt", "STRING"), to("bin", "BYTES"),
		to("ts", "TIMESTAMP(6)"), to("nano", "TIMESTAMP(9)"), to("ltz", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
		schema.AddColumn(field(t, "note", "STRING"), schema.After("id")), schema.MoveColumn("new_name", schema.First()),
		schema.SetColumnComment("id", "the \"number\""), schema.SetComment("a table"),
		schema.SetOption("snapshot.num-retained.min", "5"),
	)
	a.write("two", "2", "note 2", "b", "NULL", "5000000000", "0.1", "12345678.1234", "12345678901234567890123456.1234", "abcde",
		"longer", "000102", "2024-02-29T12:34:56.789012", "2024-02-29T12:34:56.789012345", "2024-02-29T12:34:56.789012Z")
	a.alter(schema.AddColumn(field(t, "gone", "STRING"), schema.Position{}), schema.RemoveOption("snapshot.num-retained.min"))
	a.alter() // nothing changes, and there is a version
	a.write("three", "3", "NULL", "a", "33", "3", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "back again")

	want := []string{
		`{"new_name":"one","id":"1","note":null,"p":"a","must":"12","tiny":"-7","flt":"0.10000000149011612","dec":"-1.1000",` +
			`"big_dec":"1.1000","chr":"abc","txt":"xyz","bin":"00ff","ts":"1969-12-31T23:59:59.999000",` +
			`"nano":"1969-12-31T23:59:59.999000000","ltz":"2024-02-29T12:00:00.000000Z","gone":null}`,
		`{"new_name":"three","id":"3","note":null,"p":"a","must":"33","tiny":"3","flt":null,"dec":null,"big_dec":null,"chr":null,` +
			`"txt":null,"bin":null,"ts":null,"nano":null,"ltz":null,"gone":"back again"}`,
		`{"new_name":"two","id":"2","note":"note 2","p":"b","must":null,"tiny":"5000000000","flt":"0.1","dec":"12345678.1234",` +
			`"big_dec":"12345678901234567890123456.1234","chr":"abcde","txt":"longer","bin":"000102","ts":"2024-02-29T12:34:56.789012",` +
			`"nano":"2024-02-29T12:34:56.789012345","ltz":"2024-02-29T12:34:56.789012Z","gone":null}`,
	}
	require.Equal(t, want, testenv.Referee(t).Read(t, a.warehouse, "ods.t", 0))
	require.ElementsMatch(t, want, a.rows())
	d := testenv.Referee(t).Describe(t, a.warehouse, "ods.t", 0)
	require.Len(t, d.Schemas, 4)
	var versions []int64
	for _, s := range d.Snapshots {
		versions = append(versions, s.SchemaID)
	}
	require.Equal(t, []int64{0, 1, 3}, versions)
}

// A key table of Java's with files: its key and sequence field get new names, and Java merges as before.
func TestJavaReadsARenamedKeyTable(t *testing.T) {
	a := newAltered(t)
	require.NoError(t, os.CopyFS(filepath.Join(a.warehouse, "ods.db", "t"), os.DirFS("../testdata/golden.db/pk_sequence_field")))
	a.alter(
		schema.RenameColumn("id", "key"), schema.RenameColumn("ver", "version"), schema.MoveColumn("key", schema.Last()),
		schema.AddColumn(field(t, "x", "INT"), schema.First()), schema.SetOption("bucket", "2"), schema.SetOption("bucket", "1"),
	)
	require.Equal(t, map[string]string{"bucket": "1", "write-only": "true", "sequence.field": "version"}, a.schema.Options)
	require.Equal(t, []string{
		`{"x":null,"version":"1","v":"one beats NULL","key":"3"}`,
		`{"x":null,"version":"6","v":"six wins","key":"2"}`,
	}, testenv.Referee(t).Read(t, a.warehouse, "ods.t", 0))
}

// A table that was altered while it was empty, with every option that follows a column's name.
func TestJavaTakesOptionsThatFollowedNames(t *testing.T) {
	a := newAltered(t)
	first, err := schema.New(schema.Spec{
		Fields: []schema.Field{
			field(t, "id", "INT"), field(t, "code", "STRING"), field(t, "ver", "INT"), field(t, "a", "INT"), field(t, "g", "INT"),
			field(t, "b", "STRING"),
		},
		PrimaryKeys: []string{"id", "code"},
		Options: map[string]string{
			"bucket": "-1", "merge-engine": "partial-update", "fields.g.sequence-group": "a,b", "fields.a.aggregate-function": "max",
		},
	})
	require.NoError(t, err)
	a.schema, err = a.catalog.CreateTable(t.Context(), a.id, first)
	require.NoError(t, err)
	a.alter(schema.SetOption("bucket", "3"), schema.SetOption("bucket-key", "code"))
	a.alter(
		schema.RenameColumn("code", "c"), schema.RenameColumn("g", "group_version"), schema.RenameColumn("a", "most"),
		schema.RenameColumn("ver", "v"),
	)
	require.Equal(t, map[string]string{
		"bucket": "3", "bucket-key": "c", "merge-engine": "partial-update", "fields.group_version.sequence-group": "most,b",
		"fields.most.aggregate-function": "max",
	}, a.schema.Options)
	require.Empty(t, testenv.Referee(t).Read(t, a.warehouse, "ods.t", 0))
	require.Equal(t, "HASH_FIXED", testenv.Referee(t).Describe(t, a.warehouse, "ods.t", 0).BucketMode)
}
