package schema_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
)

func fields(names ...string) []schema.Field {
	out := make([]schema.Field, len(names))
	for i, n := range names {
		out[i] = schema.Field{Name: n, Type: schema.Of(schema.Int)}
	}
	return out
}

// The ids are the example of Paimon's ReassignFieldId.
func TestNewAssignsIDsDepthFirst(t *testing.T) {
	nested := schema.Type{Kind: schema.Row, Fields: fields("x", "y")}
	mapped := schema.Type{Kind: schema.Map, Key: ptr(schema.StringType()), Element: &nested}
	spec := schema.Spec{Fields: []schema.Field{
		{Name: "id", Type: schema.Of(schema.Int)},
		{Name: "name", Type: schema.StringType()},
		{Name: "ts", Type: schema.Type{Kind: schema.Timestamp, Precision: 3}},
		{Name: "tags", Type: schema.Type{Kind: schema.Array, Element: &nested}},
		{Name: "ltz", Type: schema.Type{Kind: schema.TimestampLTZ, Precision: 3}},
		{Name: "m", Type: mapped},
	}}
	table, err := schema.New(spec)
	require.NoError(t, err)
	var ids []int
	for _, f := range table.Fields {
		ids = append(ids, f.ID)
	}
	require.Equal(t, []int{0, 1, 2, 3, 6, 7}, ids)
	require.Equal(t, 4, table.Fields[3].Type.Element.Fields[0].ID)
	require.Equal(t, 5, table.Fields[3].Type.Element.Fields[1].ID)
	require.Equal(t, 9, table.Fields[5].Type.Element.Fields[1].ID)
	require.Equal(t, 9, table.HighestFieldID)
	require.Zero(t, nested.Fields[1].ID, "the given fields stay as they are")
}

func TestNewMovesKeysOutOfOptions(t *testing.T) {
	options := map[string]string{"primary-key": " b, a ,", "partition": "a", "bucket": "2"}
	table, err := schema.New(schema.Spec{Fields: fields("a", "b", "c"), Options: options})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, table.PrimaryKeys)
	require.Equal(t, []string{"a"}, table.PartitionKeys)
	require.Equal(t, []string{"b"}, table.TrimmedPrimaryKey())
	require.Equal(t, []string{"b"}, table.BucketKeys())
	require.Equal(t, map[string]string{"bucket": "2"}, table.Options)
	require.Len(t, options, 3)
	b, ok := table.Field("b")
	require.True(t, ok)
	require.True(t, b.Type.NotNull)
	c, _ := table.Field("c")
	require.False(t, c.Type.NotNull)
	types, err := table.PartitionTypes()
	require.NoError(t, err)
	require.Equal(t, []schema.Type{schema.Of(schema.Int).WithNotNull(true)}, types)
	_, err = table.Types([]string{"zz"})
	require.ErrorContains(t, err, `no column "zz"`)

	_, err = schema.New(schema.Spec{Fields: fields("a"), PrimaryKeys: []string{"a"}, Options: options})
	require.ErrorContains(t, err, "exclude each other")
}

func TestNewRefusesWhatPaimonRefuses(t *testing.T) {
	array := append(fields("a"), schema.Field{Name: "l", Type: schema.Type{Kind: schema.Array, Element: ptr(schema.Of(schema.Int))}})
	opt := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	for want, spec := range map[string]schema.Spec{
		"at least one column":              {},
		`"a" is there twice`:               {Fields: fields("a", "a")},
		`a name must be`:                   {Fields: fields("")},
		`"_KEY_a": Paimon keeps`:           {Fields: fields("_KEY_a")},
		`"_SEQUENCE_NUMBER": Paimon keeps`: {Fields: fields("_SEQUENCE_NUMBER")},
		`"rowkind": Paimon keeps`:          {Fields: fields("rowkind")},
		`partition key "b" is no column`:   {Fields: fields("a"), PartitionKeys: []string{"b"}},
		`partition key "a" is named twice`: {Fields: fields("a"), PartitionKeys: []string{"a", "a"}},
		`primary key "b" is no column`:     {Fields: fields("a"), PrimaryKeys: []string{"b"}},
		"has only partition keys":          {Fields: fields("a", "b"), PartitionKeys: []string{"a"}, PrimaryKeys: []string{"a"}},
		`partition key "l": a column of`:   {Fields: array, PartitionKeys: []string{"l"}},
		`primary key "l": a column of`:     {Fields: array, PrimaryKeys: []string{"l"}},
		"bucket -1 takes no bucket-key":    {Fields: fields("a"), Options: opt("bucket-key", "a")},
		"needs a bucket-key":               {Fields: fields("a"), Options: opt("bucket", "2")},
		"must be at least 1":               {Fields: fields("a"), Options: opt("bucket", "0")},
		"bucket -2 is for tables":          {Fields: fields("a"), Options: opt("bucket", "-2")},
		`bucket-key " b" is no column`:     {Fields: fields("a", "b"), Options: opt("bucket", "2", "bucket-key", "a, b")},
		`bucket-key "a" is named twice`:    {Fields: fields("a", "b"), Options: opt("bucket", "2", "bucket-key", "a,a")},
		`bucket-key "a" is a partition`:    {Fields: fields("a", "b"), PartitionKeys: []string{"a"}, Options: opt("bucket", "2", "bucket-key", "a")},
		`bucket-key "b" is not a part`:     {Fields: fields("a", "b"), PrimaryKeys: []string{"a"}, Options: opt("bucket", "2", "bucket-key", "b")},
		`bucket-key "l": a column of`:      {Fields: array, Options: opt("bucket", "2", "bucket-key", "l")},
		`option bucket = "x"`:              {Fields: fields("a"), Options: opt("bucket", "x")},
		`scale of DECIMAL must be`:         {Fields: []schema.Field{{Name: "a", Type: schema.DecimalType(5, 6)}}},
		`length of CHAR must be`:           {Fields: []schema.Field{{Name: "a", Type: schema.Of(schema.Char)}}},
		`Kind(0) is no type`:               {Fields: []schema.Field{{Name: "a"}}},
		`ARRAY lacks the type`:             {Fields: []schema.Field{{Name: "a", Type: schema.Of(schema.Array)}}},
	} {
		_, err := schema.New(spec)
		require.ErrorContains(t, err, want)
	}
}

func TestParseOptions(t *testing.T) {
	table := &schema.Table{}
	o, err := table.ParseOptions()
	require.NoError(t, err)
	require.Equal(t, schema.Options{
		Bucket: -1, BucketFunction: "default", FileFormat: "parquet", Compression: "zstd", ZstdLevel: 1,
		TargetFileSize: 256 << 20, DataFilePrefix: "data-", PartitionDefaultName: "__DEFAULT_PARTITION__",
		PartitionLegacyName: true, StatsMode: "truncate(16)", NumLevels: 6,
	}, o)
	table.PrimaryKeys = []string{"a"}
	table.Options = map[string]string{
		"bucket": "4", "bucket-key": "a,b", "file.format": "ORC", "file.compression": "LZ4", "write-only": "TRUE",
		"partition.legacy-name": "false", "metadata.stats-mode": "FULL", "partition.default-name": "none", "other": "x",
		"file.block-size": "64 mb", "write-buffer-size": "1 mb",
	}
	o, err = table.ParseOptions()
	require.NoError(t, err)
	require.Equal(t, schema.Options{
		Bucket: 4, BucketKey: []string{"a", "b"}, BucketFunction: "default", FileFormat: "orc", Compression: "lz4", ZstdLevel: 1,
		BlockSize: 64 << 20, TargetFileSize: 128 << 20, DataFilePrefix: "data-", PartitionDefaultName: "none", StatsMode: "full", WriteOnly: true, NumLevels: 6,
		WriteBufferSize: 1 << 20,
	}, o)
	for key, value := range map[string]string{
		"bucket": "1.5", "write-only": "yes", "target-file-size": "0", "file.compression.zstd-level": "",
		"partition.legacy-name": "",
	} {
		table.Options = map[string]string{key: value}
		_, err = table.ParseOptions()
		require.ErrorContains(t, err, "option "+key)
	}
}

func TestParseMemorySize(t *testing.T) {
	for text, want := range map[string]int64{
		"128 mb": 128 << 20, "1g": 1 << 30, " 7 ": 7, "3 bytes": 3, "2KB": 2048, "5 TebiBytes": 5 << 40, "9223372036854775807b": 1<<63 - 1,
	} {
		got, err := schema.ParseMemorySize(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "mb", "-1", "1.5 mb", "1 xb", "9223372036854775808", "9223372036854775807 k"} {
		_, err := schema.ParseMemorySize(text)
		require.Error(t, err, text)
	}
}

func TestCheckWritable(t *testing.T) {
	plain := func() *schema.Table {
		return &schema.Table{Fields: append(fields("a"), schema.Field{Name: "b", Type: schema.BytesType()}), Options: map[string]string{}}
	}
	require.NoError(t, schema.CheckWritable(plain()))
	nested := plain()
	nested.Fields = append(nested.Fields, schema.Field{ID: 2, Name: "tags", Type: schema.Type{Kind: schema.Array, Element: ptr(schema.StringType())}})
	require.NoError(t, schema.CheckWritable(nested))
	// keyed changes a table of two buckets and the primary key a.
	keyed := func(options ...string) func(*schema.Table) {
		return func(t *schema.Table) {
			t.PrimaryKeys, t.Options["bucket"] = []string{"a"}, "2"
			for i := 0; i < len(options); i += 2 {
				if options[i] == "partition" {
					t.PartitionKeys = []string{options[i+1]}
					continue
				}
				t.Options[options[i]] = options[i+1]
			}
		}
	}
	for want, change := range map[string]func(*schema.Table){
		"needs an index of all keys":        func(t *schema.Table) { t.PrimaryKeys = []string{"a"} },
		"bucket = 4 needs a bucket-key":     func(t *schema.Table) { t.Options["bucket"] = "4" },
		"bucket = 0":                        func(t *schema.Table) { t.Options["bucket"] = "0" },
		"bucket-function.type = hive":       keyed("bucket-function.type", "hive"),
		"one INT or BIGINT":                 keyed("bucket-function.type", "mod", "bucket-key", "a,b"),
		"does not hold the partition key":   keyed("partition", "b"),
		"merge-engine = aggregation":        keyed("merge-engine", "aggregation"),
		"changelog-producer = some":         keyed("changelog-producer", "some"),
		"rowkind.field = a":                 keyed("rowkind.field", "a"),
		"init-mode = snapshot":              keyed("write.sequence-number-init-mode", "snapshot"),
		"sequence.snapshot-ordering = true": keyed("sequence.snapshot-ordering", "true"),
		"zstd has the levels 1 to 22":       func(t *schema.Table) { t.Options["file.compression.zstd-level"] = "23" },
		"bucket = -2":                       func(t *schema.Table) { t.Options["bucket"] = "-2" },
		"file.format = orc":                 func(t *schema.Table) { t.Options["file.format"] = "orc" },
		"deletion-vectors.enabled = true":   func(t *schema.Table) { t.Options["deletion-vectors.enabled"] = "true" },
		"row-tracking.enabled = TRUE":       func(t *schema.Table) { t.Options["row-tracking.enabled"] = "TRUE" },
		"type = format-table":               func(t *schema.Table) { t.Options["type"] = "format-table" },
		"data-file.external-paths = s3://a": func(t *schema.Table) { t.Options["data-file.external-paths"] = "s3://a" },
		"data-file.path-directory = d":      func(t *schema.Table) { t.Options["data-file.path-directory"] = "d" },
		`option bucket = "many"`:            func(t *schema.Table) { t.Options["bucket"] = "many" },
		"no stable directory name":          func(t *schema.Table) { t.PartitionKeys = []string{"b"} },
		"between releases of Java": func(t *schema.Table) {
			t.PartitionKeys, t.Fields[0].Type = []string{"a"}, schema.Of(schema.Float)
		},
		"metadata.iceberg.storage = table-l": func(t *schema.Table) { t.Options["metadata.iceberg.storage"] = "table-location" },
	} {
		table := plain()
		change(table)
		err := schema.CheckWritable(table)
		require.ErrorIs(t, err, schema.ErrNotWritable)
		require.ErrorContains(t, err, want)
	}
	for key, value := range map[string]string{
		"deletion-vectors.enabled": "false", "type": "TABLE", "metadata.iceberg.storage": "disabled", "partition.legacy-name": "false",
	} {
		table := plain()
		table.Options[key] = value
		if key == "partition.legacy-name" {
			table.PartitionKeys = []string{"b"}
		}
		require.NoError(t, schema.CheckWritable(table))
	}
	for _, change := range []func(*schema.Table){
		keyed(), keyed("merge-engine", "first-row"), keyed("merge-engine", "partial-update"), keyed("changelog-producer", "LOOKUP"),
		keyed("changelog-producer", "input"), keyed("bucket-function.type", "mod"),
		func(t *schema.Table) { t.Options["bucket"], t.Options["bucket-key"] = "3", "a,b" },
	} {
		table := plain()
		change(table)
		require.NoError(t, schema.CheckWritable(table))
	}
}

// The five schemas of append_schema_evolution are: add, rename, widen, drop, add again.
func TestCompatibleEvolutionOverGoldenSchemas(t *testing.T) {
	files := goldenFiles(t)
	var versions []*schema.Table
	for _, n := range []string{"0", "1", "2", "3", "4"} {
		table, err := schema.Parse(files["append_schema_evolution.schema-"+n+".json"])
		require.NoError(t, err)
		versions = append(versions, table)
	}
	for i := range versions {
		require.NoError(t, schema.CompatibleEvolution(versions[i], versions[i]))
	}
	for _, c := range []struct {
		planned, latest int
		want            string
	}{
		{0, 1, `column "name" (id 1) is now "title"`},
		{1, 2, ""},
		{2, 1, "the latest is older"},
		{2, 3, `column "note" (id 5) is gone`},
		{3, 4, ""},
		{1, 4, `column "note" (id 5) is gone`},
	} {
		err := schema.CompatibleEvolution(versions[c.planned], versions[c.latest])
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, schema.ErrIncompatible)
		require.ErrorContains(t, err, c.want)
	}
}

func TestCompatibleEvolutionOfTypesAndLayout(t *testing.T) {
	base := func() *schema.Table {
		table, err := schema.New(schema.Spec{
			Fields: []schema.Field{
				{Name: "p", Type: schema.Of(schema.Int)},
				{Name: "s", Type: schema.Type{Kind: schema.VarChar, Length: 10}},
				{Name: "d", Type: schema.DecimalType(10, 2)},
				{Name: "t", Type: schema.Type{Kind: schema.Timestamp, Precision: 3}},
				{Name: "n", Type: schema.Of(schema.Int).WithNotNull(true)},
			},
			PartitionKeys: []string{"p"},
		})
		require.NoError(t, err)
		return table
	}
	set := func(i int, typ schema.Type) func(*schema.Table) {
		return func(t *schema.Table) { t.Fields[i].Type = typ }
	}
	add := func(f schema.Field) func(*schema.Table) {
		return func(t *schema.Table) { t.Fields = append(t.Fields, f); t.HighestFieldID = 5 }
	}
	for name, c := range map[string]struct {
		change func(*schema.Table)
		want   string
	}{
		"wider string":     {set(1, schema.StringType()), ""},
		"narrower string":  {set(1, schema.Type{Kind: schema.VarChar, Length: 9}), `column "s" was VARCHAR(10), is VARCHAR(9)`},
		"wider decimal":    {set(2, schema.DecimalType(13, 4)), ""},
		"fewer digits":     {set(2, schema.DecimalType(11, 4)), `column "d"`},
		"wider timestamp":  {set(3, schema.Type{Kind: schema.Timestamp, Precision: 6}), ""},
		"another time":     {set(3, schema.Type{Kind: schema.TimestampLTZ, Precision: 3}), `column "t"`},
		"wider int":        {set(4, schema.Of(schema.BigInt).WithNotNull(true)), ""},
		"nullable":         {set(4, schema.Of(schema.Int)), ""},
		"narrower int":     {set(4, schema.Of(schema.SmallInt)), `column "n"`},
		"int to float":     {set(4, schema.Of(schema.Float)), `column "n"`},
		"not null":         {set(2, schema.DecimalType(10, 2).WithNotNull(true)), `column "d"`},
		"wider key":        {set(0, schema.Of(schema.BigInt)), `key column "p"`},
		"new column":       {add(schema.Field{ID: 5, Name: "x", Type: schema.Of(schema.Int)}), ""},
		"new NOT NULL":     {add(schema.Field{ID: 5, Name: "x", Type: schema.Of(schema.Int).WithNotNull(true)}), "is new and NOT NULL"},
		"old id":           {func(t *schema.Table) { t.Fields[4].ID = 3; t.Fields[3].ID = 4 }, "is now"},
		"other partitions": {func(t *schema.Table) { t.PartitionKeys = nil }, "partition keys were"},
		"other key":        {func(t *schema.Table) { t.PrimaryKeys = []string{"n"} }, "primary keys were"},
		"other buckets":    {func(t *schema.Table) { t.Options["bucket"] = "3" }, "option bucket was -1, is 3"},
		"other names":      {func(t *schema.Table) { t.Options["partition.legacy-name"] = "false" }, "option partition.legacy-name"},
		"bad option":       {func(t *schema.Table) { t.Options["bucket"] = "x" }, "latest option bucket"},
		"free option":      {func(t *schema.Table) { maps.Copy(t.Options, map[string]string{"write-only": "true"}) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			latest := base()
			latest.ID = 1
			c.change(latest)
			err := schema.CompatibleEvolution(base(), latest)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}
