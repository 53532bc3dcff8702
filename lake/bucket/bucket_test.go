package bucket_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/bucket"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// The rows of Paimon 1.4.2's FixedBucketRowKeyExtractor.
func TestBucketsAreJavas(t *testing.T) {
	data, err := os.ReadFile("testdata/bucket_hash.json")
	require.NoError(t, err)
	var rows []struct {
		Types     []string       `json:"types"`
		Values    []*string      `json:"values"`
		BinaryRow string         `json:"binaryRow"`
		Hash      int32          `json:"hash"`
		Buckets   map[string]int `json:"buckets"`
	}
	require.NoError(t, json.Unmarshal(data, &rows))
	require.Len(t, rows, 143)
	for _, r := range rows {
		types := make([]schema.Type, len(r.Types))
		values := make([]row.Value, len(r.Types))
		for i, text := range r.Types {
			types[i], err = schema.ParseType(text)
			require.NoError(t, err)
			values[i] = row.NullValue()
			if r.Values[i] != nil {
				values[i], err = row.ParseText(types[i], *r.Values[i])
				require.NoError(t, err)
			}
		}
		binary, err := hex.DecodeString(r.BinaryRow)
		require.NoError(t, err)
		require.Equal(t, r.Hash, bucket.Hash(binary))
		require.Len(t, r.Buckets, 5)
		for text, want := range r.Buckets {
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			require.Equal(t, want, bucket.Of(types, values, n), "%v among %d", r.Types, n)
			assigner, err := bucket.NewAssigner("default", types, n)
			require.NoError(t, err)
			require.Equal(t, want, assigner.Bucket(values))
		}
	}
}

// Vectors from running Paimon's own classes.
func TestHashVectors(t *testing.T) {
	for _, c := range []struct {
		row  string
		hash int32
		b7,
		b16 int
	}{
		{"0000000000000000", -1670924195, 3, 3},
		{"00000000000000000100000000000000", 1465514398, 5, 14},
		{"0000000000000000ffffffff00000000", 1133687267, 6, 3},
		{"00010000000000000000000000000000", -1748325344, 3, 0},
		{"0000000000000000fe00000000000000fdff0000000000000100000000000000", 489844486, 5, 6},
		{"00000000000000000a000000180000002a00000000000000323032342d30312d3031000000000000", 1266970610, 3, 2},
		{"000000000000000001000000100000009c000000000000000000000000000000", -2092338868, 4, 4},
		{"0001000000000000000000001000000000000000000000000000000000000000", -1380280760, 5, 8},
		{"000000000000000040f50600100000007b68e5cf8b010000", 1196670069, 0, 5},
		{"0000000000000000000000000000f83f0000c03f00000000", 1716887596, 4, 12},
		{"00000000000000001800000010000000030000000200000001000000000000000300000000000000", 1830759751, 2, 7},
		{"00000000000000001800000010000000000000000000000007000000000000007800000000000081", -78344154, 0, 10},
	} {
		data, err := hex.DecodeString(c.row)
		require.NoError(t, err)
		require.Equal(t, c.hash, bucket.Hash(data))
		require.Equal(t, c.b7, bucket.OfHash(c.hash, 7))
		require.Equal(t, c.b16, bucket.OfHash(c.hash, 16))
	}
}

func TestModFunction(t *testing.T) {
	types := []schema.Type{schema.Of(schema.Int)}
	assigner, err := bucket.NewAssigner("mod", types, 7)
	require.NoError(t, err)
	// -5 in bucket 2 of 7 is a vector of Paimon's ModBucketFunction; the others are Java's Math.floorMod.
	for value, want := range map[int64]int{-5: 2, 0: 0, 7: 0, 8: 1, -7: 0, -1: 6} {
		require.Equal(t, want, assigner.Bucket([]row.Value{{I64: value}}))
	}
	require.Equal(t, 0, assigner.Bucket([]row.Value{row.NullValue()}))
}

func TestNewAssignerRefuses(t *testing.T) {
	ints := []schema.Type{schema.Of(schema.Int)}
	for want, build := range map[string]func() (*bucket.Assigner, error){
		"over 0 buckets":        func() (*bucket.Assigner, error) { return bucket.NewAssigner("default", ints, 0) },
		"hive is not supported": func() (*bucket.Assigner, error) { return bucket.NewAssigner("hive", ints, 2) },
		"one INT or BIGINT":     func() (*bucket.Assigner, error) { return bucket.NewAssigner("mod", append(ints, ints...), 2) },
		"has [STRING]": func() (*bucket.Assigner, error) {
			return bucket.NewAssigner("mod", []schema.Type{schema.StringType()}, 2)
		},
	} {
		_, err := build()
		require.ErrorContains(t, err, want)
	}
}

func BenchmarkAssigner(b *testing.B) {
	assigner, err := bucket.NewAssigner("default", []schema.Type{schema.Of(schema.BigInt), schema.StringType()}, 16)
	require.NoError(b, err)
	values := []row.Value{{I64: 42}, {B: []byte("a longer string")}}
	b.ReportAllocs()
	for b.Loop() {
		assigner.Bucket(values)
	}
}
