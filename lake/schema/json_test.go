package schema_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
)

// goldenFiles are schema files that Paimon 1.4.2 wrote.
func goldenFiles(t testing.TB) map[string][]byte {
	paths, err := filepath.Glob("testdata/golden/*.json")
	require.NoError(t, err)
	require.Len(t, paths, 38)
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		files[filepath.Base(path)] = data
	}
	return files
}

// sortOptions sorts the lines of the options, whose order Java leaves to chance.
func sortOptions(t *testing.T, file []byte) string {
	const begin = "  \"options\" : {\n"
	text := string(file)
	head, rest, found := strings.Cut(text, begin)
	if !found {
		return text
	}
	options, tail, found := strings.Cut(rest, "\n  },")
	require.True(t, found)
	lines := strings.Split(options, ",\n")
	slices.Sort(lines)
	return head + begin + strings.Join(lines, ",\n") + "\n  }," + tail
}

func TestMarshalWritesPaimonsBytes(t *testing.T) {
	for name, data := range goldenFiles(t) {
		t.Run(name, func(t *testing.T) {
			table, err := schema.Parse(data)
			require.NoError(t, err)
			written, err := schema.Marshal(table)
			require.NoError(t, err)
			require.Equal(t, sortOptions(t, data), string(written))
		})
	}
}

func TestNewMakesPaimonsSchemas(t *testing.T) {
	for name, data := range goldenFiles(t) {
		if !strings.HasSuffix(name, "schema-0.json") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want, err := schema.Parse(data)
			require.NoError(t, err)
			spec := schema.Spec{
				PartitionKeys: want.PartitionKeys, PrimaryKeys: want.PrimaryKeys, Options: want.Options,
				Comment: want.Comment, TimeMillis: want.TimeMillis,
			}
			for _, f := range want.Fields {
				f.ID = 77
				f.Type.NotNull = f.Type.NotNull && !slices.Contains(want.PrimaryKeys, f.Name)
				spec.Fields = append(spec.Fields, f)
			}
			made, err := schema.New(spec)
			require.NoError(t, err)
			written, err := schema.Marshal(made)
			require.NoError(t, err)
			require.Equal(t, sortOptions(t, data), string(written))
		})
	}
}

func TestMarshalKeepsWhatGoldenFilesLack(t *testing.T) {
	text := "cur\"rent\\\b\t\n\f\r\x01\x1f\x7f é中😀/<>"
	defaults := "now()"
	table, err := schema.New(schema.Spec{
		Fields: []schema.Field{
			{Name: "a", Type: schema.Of(schema.Int), Description: text, Default: &defaults},
			{Name: "m", Type: schema.Type{Kind: schema.Multiset, NotNull: true, Element: ptr(schema.DecimalType(38, 10))}},
		},
		Options: map[string]string{"write-only": "true"},
		Comment: text,
	})
	require.NoError(t, err)
	data, err := schema.Marshal(table)
	require.NoError(t, err)
	// As Jackson escapes: control characters in upper-case hex, nothing above them.
	require.Contains(t, string(data), `"comment" : "cur\"rent\\\b\t\n\f\r\u0001\u001F`+"\x7f é中😀/<>\"")
	require.Contains(t, string(data), "\"type\" : \"MULTISET NOT NULL\",\n      \"element\" : \"DECIMAL(38, 10)\"\n    }")
	require.Contains(t, string(data), "\"defaultValue\" : \"now()\"\n")
	back, err := schema.Parse(data)
	require.NoError(t, err)
	require.Equal(t, table.Fields, back.Fields)
	require.Equal(t, table.Comment, back.Comment)
	require.Equal(t, table.Options, back.Options)
}

func ptr[T any](v T) *T { return &v }

func TestTypeJSONWithinOtherJSON(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/append_nested.schema-0.json")
	require.NoError(t, err)
	table, err := schema.Parse(data)
	require.NoError(t, err)
	for _, f := range table.Fields {
		line, err := json.Marshal(struct{ T schema.Type }{f.Type})
		require.NoError(t, err)
		var back struct{ T schema.Type }
		require.NoError(t, json.Unmarshal(line, &back))
		require.Equal(t, f.Type, back.T)
	}
	var plain schema.Type
	require.NoError(t, json.Unmarshal([]byte(`"decimal(10,2) not null"`), &plain))
	require.Equal(t, schema.DecimalType(10, 2).WithNotNull(true), plain)
}

func TestParseFillsInOldVersions(t *testing.T) {
	file := func(version, options string) []byte {
		return []byte(`{` + version + `"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,` +
			`"partitionKeys":[],"primaryKeys":[],"options":{` + options + `}, "unknown": [1]}`)
	}
	for _, c := range []struct {
		version, options string
		want             map[string]string
	}{
		{``, ``, map[string]string{"bucket": "1", "file.format": "orc"}},
		{`"version":1,`, `"bucket":"4"`, map[string]string{"bucket": "4", "file.format": "orc"}},
		{`"version":2,`, ``, map[string]string{"file.format": "orc"}},
		{`"version":2,`, `"file.format":"avro"`, map[string]string{"file.format": "avro"}},
		{`"version":3,`, ``, map[string]string{}},
	} {
		table, err := schema.Parse(file(c.version, c.options))
		require.NoError(t, err)
		require.Equal(t, c.want, table.Options)
	}
	_, err := schema.Parse(file(`"version":4,`, ``))
	require.ErrorIs(t, err, schema.ErrVersion)
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	field := func(f string) string {
		return `{"version":3,"id":0,"fields":[` + f + `],"highestFieldId":0,"partitionKeys":[],"primaryKeys":[],"options":{}}`
	}
	deep := strings.Repeat(`{"type":"ARRAY","element":`, 5000) + `"INT"` + strings.Repeat(`}`, 5000)
	for text, want := range map[string]string{
		``: "parse schema",
		field("{\"id\":0,\"name\":\"\xb0\",\"type\":\"INT\"}"): "not UTF-8",
		`[]`:            "parse schema",
		`{"version":3}`: `"id" is missing`,
		`{"version":3,"ID":1,"id":0,"fields":[]}`:                                  `"highestFieldId" is missing`,
		field(`{"id":0,"type":"INT"}`):                                             `fields[0]: "name" is missing`,
		field(`{"name":"a","type":"INT"}`):                                         `field "a": "id" is missing`,
		field(`{"id":0,"name":"a"}`):                                               `field "a": "type" is missing`,
		field(`{"id":0,"name":"a","type":"VARIANT"}`):                              `field "a": type "VARIANT": this type is of a newer`,
		field(`{"id":0,"name":"a","type":"WHAT"}`):                                 `no type begins with "WHAT"`,
		field(`{"id":0,"name":"a","type":{"type":"MAP","key":"INT"}}`):             `value of MAP: "value" is missing`,
		field(`{"id":0,"name":"a","type":{"type":"VECTOR","length":3}}`):           `type "VECTOR" is not one`,
		field(`{"id":0,"name":"a","type":` + deep + `}`):                           "nested more than 64 deep",
		field(`{"id":0,"name":"a","type":"INT"},{"id":0,"name":"b","type":"INT"}`): `field "b": id 0 is another field's too`,
		field(`{"id":0,"name":"a","type":"INT"},{"id":1,"name":"a","type":"INT"}`): `field "a" is there twice`,
		`{"version":3,"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"partitionKeys":["b"],"primaryKeys":[],"options":{}}`:     `partition key "b" is no column`,
		`{"version":3,"id":0,"fields":[{"id":0,"name":"a","type":"INT"}],"highestFieldId":0,"partitionKeys":[],"primaryKeys":["a","a"],"options":{}}`: `primary key "a" is named twice`,
	} {
		_, err := schema.Parse([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

func FuzzDecodeSchema(f *testing.F) {
	for _, data := range goldenFiles(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := schema.Parse(data)
		if err != nil {
			return
		}
		written, err := schema.Marshal(table)
		require.NoError(t, err)
		back, err := schema.Parse(written)
		require.NoError(t, err)
		require.Equal(t, table, back)
		_, _ = table.ParseOptions()
		_ = schema.CheckWritable(table)
		_ = schema.CompatibleEvolution(table, back)
	})
}
