package partition_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// javaPath is a partition of one key p that Paimon 1.4.2 named, in UTC.
type javaPath struct {
	Type      string  `json:"type"`
	Value     *string `json:"value"`
	BinaryRow string  `json:"binaryRow"`
	Legacy    string  `json:"legacy"`
	Modern    string  `json:"modern"`
}

func javaPaths(t testing.TB) []javaPath {
	data, err := os.ReadFile("testdata/partition_paths.json")
	require.NoError(t, err)
	var paths []javaPath
	require.NoError(t, json.Unmarshal(data, &paths))
	require.Len(t, paths, 85)
	return paths
}

func naming(t testing.TB, legacy string) partition.Naming {
	o, err := (&schema.Table{Options: map[string]string{"partition.legacy-name": legacy}}).ParseOptions()
	require.NoError(t, err)
	return partition.NamingOf(o)
}

func TestPathsAreJavas(t *testing.T) {
	for _, p := range javaPaths(t) {
		typ, err := schema.ParseType(p.Type)
		require.NoError(t, err)
		types, keys := []schema.Type{typ}, []string{"p"}
		value := row.NullValue()
		if p.Value != nil {
			value, err = row.ParseText(typ, *p.Value)
			require.NoError(t, err)
		}
		require.Equal(t, p.BinaryRow, hex.EncodeToString(row.AppendBinary(nil, types, []row.Value{value})))
		for legacy, want := range map[string]string{"true": p.Legacy, "false": p.Modern} {
			n := naming(t, legacy)
			got := partition.Path(keys, types, []row.Value{value}, n)
			require.Equal(t, want, got+"/", "%s %v", p.Type, p.Value)
			back, err := partition.Parse(got, keys, types, n)
			require.NoError(t, err)
			if strings.HasSuffix(got, "=__DEFAULT_PARTITION__") {
				require.True(t, back[0].Null)
				continue
			}
			require.Zero(t, row.Compare(typ, value, back[0]), "%s %v from %s", p.Type, p.Value, got)
		}
	}
}

// What Paimon's sources state beside the recorded cases: JVM zone Asia/Shanghai, BYTES, several keys.
func TestPathsBeyondTheRecordedCases(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	modern := naming(t, "false")
	modern.Zone = shanghai
	ltz := []schema.Type{{Kind: schema.TimestampLTZ, Precision: 3}}
	value := []row.Value{{I64: 1704067200000}}
	require.Equal(t, "a%3Ab=2024-01-01 08%3A00%3A00.000", partition.Path([]string{"a:b"}, ltz, value, modern))
	require.Equal(t, "p=2024-01-01T00%3A00", partition.Path([]string{"p"}, ltz, value, naming(t, "true")))
	back, err := partition.Parse("p=2024-01-01 08%3A00%3A00.000", []string{"p"}, ltz, modern)
	require.NoError(t, err)
	require.Equal(t, value, back)

	bytes := []schema.Type{schema.BytesType()}
	require.Equal(t, "p=é/x", strings.ReplaceAll(partition.Path([]string{"p"}, bytes, []row.Value{{B: []byte("é/x")}}, modern), "%2F", "/"))

	keys := []string{"a", "b"}
	types := []schema.Type{schema.Of(schema.Int), schema.StringType()}
	require.Equal(t, "a=7/b=x", partition.Path(keys, types, []row.Value{{I64: 7}, {B: []byte("x")}}, modern))
	require.Empty(t, partition.Path(nil, nil, nil, modern))
	none, err := partition.Parse("", nil, nil, modern)
	require.NoError(t, err)
	require.Empty(t, none)
}

// Java's own documentation and specification of Double.toString and Float.toString (since 19).
func TestFloatsAreJavas(t *testing.T) {
	for text, want := range map[string]string{
		"5e-324": "4.9E-324", "1.7976931348623157e308": "1.7976931348623157E308", "2e-3": "0.002", "1e-3": "0.001", "9.99e-4": "9.99E-4",
		"1e7": "1.0E7", "9999999": "9999999.0", "100": "100.0", "123456.789": "123456.789", "0": "0.0", "-1.5": "-1.5", "2e23": "2.0E23",
		"-0.25": "-0.25", "-1e-10": "-1.0E-10", "-Inf": "-Infinity",
	} {
		v, err := row.ParseText(schema.Of(schema.Double), text)
		require.NoError(t, err)
		got := partition.Path([]string{"p"}, []schema.Type{schema.Of(schema.Double)}, []row.Value{v}, naming(t, "true"))
		require.Equal(t, "p="+want, got)
	}
	v, err := row.ParseText(schema.Of(schema.Float), "1e-45")
	require.NoError(t, err)
	require.Equal(t, "p=1.4E-45", partition.Path([]string{"p"}, []schema.Type{schema.Of(schema.Float)}, []row.Value{v}, naming(t, "true")))
}

func TestBlankStringsGoToTheDefaultPartition(t *testing.T) {
	types := []schema.Type{schema.StringType()}
	for text, blank := range map[string]bool{
		"": true, "\t\n\v\f\r": true, "\x1c\x1f": true, "\u2003\u3000\u2028": true,
		"\u00a0": false, "\u2007": false, "\u202f": false, "\u0085": false, "\u200b": false, " a": false,
	} {
		got := partition.Path([]string{"p"}, types, []row.Value{{B: []byte(text)}}, naming(t, "true"))
		require.Equal(t, blank, got == "p=__DEFAULT_PARTITION__", "%q", text)
	}
}

func TestParseRefuses(t *testing.T) {
	types := []schema.Type{schema.Of(schema.Int)}
	for path, want := range map[string]string{
		"":        "has 0 parts",
		"p=1/q=2": "has 2 parts",
		"q=1":     "want p=…",
		"p":       "want p=…",
		"p=x":     "key p",
	} {
		_, err := partition.Parse(path, []string{"p"}, types, naming(t, "true"))
		require.ErrorContains(t, err, want)
	}
	_, err := partition.Parse("p=2024-01-01", []string{"p"}, []schema.Type{{Kind: schema.Timestamp, Precision: 3}}, naming(t, "true"))
	require.ErrorContains(t, err, "lacks the time")
}

func FuzzDecodePath(f *testing.F) {
	for _, p := range javaPaths(f) {
		f.Add(strings.TrimSuffix(p.Legacy, "/"), p.Type, true)
		f.Add(strings.TrimSuffix(p.Modern, "/"), p.Type, false)
	}
	f.Fuzz(func(t *testing.T, path, typeText string, legacy bool) {
		typ, err := schema.ParseType(typeText)
		if err != nil || typ.Nested() {
			return
		}
		n := partition.Naming{Legacy: legacy, DefaultName: "none"}
		values, err := partition.Parse(path, []string{"p"}, []schema.Type{typ}, n)
		if err != nil {
			return
		}
		_ = partition.Path([]string{"p"}, []schema.Type{typ}, values, n)
	})
}
