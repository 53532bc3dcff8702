package mergetree_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/schema"
)

func TestSpecRefusesWhatItWouldMergeOtherwise(t *testing.T) {
	for want, options := range map[string][]string{
		"merge-engine = aggregation, and only deduplicate": {"merge-engine", "aggregation"},
		"fields.amount.sequence-group = note asks for":     {"merge-engine", "partial-update", "fields.amount.sequence-group", "note"},
		"fields.amount.aggregate-function = sum asks for":  {"merge-engine", "partial-update", "fields.amount.aggregate-function", "sum"},
		"fields.default-aggregate-function = max asks for": {"merge-engine", "partial-update", "fields.default-aggregate-function", "max"},
		"remove-record-on-sequence-group = amount asks":    {"merge-engine", "partial-update", "partial-update.remove-record-on-sequence-group", "amount"},
		"sequence.field is not for merge-engine":           {"merge-engine", "first-row", "sequence.field", "amount"},
		"sort-order = sideways is neither":                 {"sequence.field.sort-order", "sideways"},
		"sequence.snapshot-ordering orders rows":           {"sequence.snapshot-ordering", "true"},
		"changelog-producer = all is none of":              {"changelog-producer", "all"},
		"ignore-delete and partial-update.remove":          {"merge-engine", "partial-update", "ignore-delete", "true", "partial-update.remove-record-on-delete", "true"},
	} {
		_, err := mergetree.SpecOf(optioned(options...))
		require.ErrorIs(t, err, mergetree.ErrUnsupported, want)
		require.ErrorContains(t, err, want)
	}
	for want, options := range map[string][]string{
		`sequence.field "gone" is no column`:               {"sequence.field", "amount, gone"},
		`option ignore-delete = "perhaps": want true or`:   {"ignore-delete", "perhaps"},
		`option sequence.snapshot-ordering = "y": want tr`: {"sequence.snapshot-ordering", "y"},
	} {
		_, err := mergetree.SpecOf(optioned(options...))
		require.ErrorContains(t, err, want)
	}
	_, err := mergetree.SpecOf(narrow())
	require.ErrorIs(t, err, mergetree.ErrUnsupported)
	require.ErrorContains(t, err, "no primary key")
	part := narrow("id")
	part.Fields = part.Fields[1:]
	_, err = mergetree.SpecOf(part)
	require.ErrorContains(t, err, `primary key "id" is no column`)
	nested := narrow("id")
	element := schema.StringType()
	nested.Fields[0].Type = schema.Type{Kind: schema.Array, Element: &element, NotNull: true}
	_, err = mergetree.SpecOf(nested)
	require.ErrorIs(t, err, mergetree.ErrUnsupported)
}

// optioned is the narrow table with options.
func optioned(options ...string) *schema.Table {
	t := narrow("id")
	for i := 0; i < len(options); i += 2 {
		t.Options[options[i]] = options[i+1]
	}
	return t
}

func TestSpecReadsOptionsAsPaimonDoes(t *testing.T) {
	spec, err := mergetree.SpecOf(optioned("merge-engine", "PARTIAL_UPDATE", "sequence.field", "amount , at", "changelog-producer", "Full-Compaction",
		"sequence.field.sort-order", "DESCENDING", "partial-update.remove-record-on-delete", "TRUE", "ignore-update-before", "true"))
	require.NoError(t, err)
	require.Equal(t, mergetree.PartialUpdate, spec.Engine)
	require.Equal(t, []int{2, 4}, spec.Sequence)
	require.True(t, spec.Descending)
	require.True(t, spec.RemoveOnDelete)
	require.True(t, spec.IgnoreUpdateBefore)
	require.False(t, spec.IgnoreDelete)
	require.Equal(t, mergetree.ProducerFullCompaction, spec.Producer)
	for _, key := range []string{"ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"} {
		spec, err := mergetree.SpecOf(optioned(key, "true"))
		require.NoError(t, err)
		require.True(t, spec.IgnoreDelete, key)
		require.Equal(t, mergetree.Deduplicate, spec.Engine)
	}
	table := narrow("code", "id", "amount")
	table.PartitionKeys = []string{"id"}
	spec, err = mergetree.SpecOf(table)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, spec.Key)
}

func TestSpecRefusesFilesThatItDoesNotWrite(t *testing.T) {
	for want, options := range map[string][]string{
		"file.format = orc":                      {"file.format", "orc"},
		"changelog-file.format = avro":           {"changelog-file.format", "avro"},
		"rowkind.field = code":                   {"rowkind.field", "code"},
		"file.format.per.level asks for avro on": {"file.format.per.level", "5:parquet, 0:avro"},
	} {
		spec, err := mergetree.SpecOf(optioned(options...))
		require.NoError(t, err, "reading does not mind")
		require.ErrorIs(t, spec.CheckWritable(), mergetree.ErrUnsupported)
		require.ErrorContains(t, spec.CheckWritable(), want)
		_, err = mergetree.NewWriter(spec, mergetree.WriterOptions{})
		require.ErrorIs(t, err, mergetree.ErrUnsupported)
	}
	spec, err := mergetree.SpecOf(optioned("file.format.per.level", "0=avro"))
	require.NoError(t, err)
	require.ErrorContains(t, spec.CheckWritable(), "want levels and values")
}

func TestSpecCompressionByLevel(t *testing.T) {
	spec, err := mergetree.SpecOf(optioned("file.compression", "snappy", "file.compression.per.level", "0:none,5:ZSTD",
		"changelog-file.compression", "zstd", "file.compression.zstd-level", "3"))
	require.NoError(t, err)
	for _, c := range []struct {
		level     int32
		changelog bool
		want      string
	}{{0, false, "none"}, {1, false, "snappy"}, {5, false, "zstd"}, {0, true, "zstd"}} {
		name, zstdLevel, err := spec.Compression(c.level, c.changelog)
		require.NoError(t, err)
		require.Equal(t, c.want, name)
		require.Equal(t, 3, zstdLevel)
		_, err = datafile.NewCodec(name, zstdLevel)
		require.NoError(t, err)
	}
}
