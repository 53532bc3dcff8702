package schema_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/schema"
)

func parse(t testing.TB, file string) *schema.Table {
	table, err := schema.Parse(goldenFiles(t)[file])
	require.NoError(t, err)
	return table
}

func addColumn(name string, typ schema.Type) schema.Change {
	return schema.AddColumn(schema.Field{Name: name, Type: typ}, schema.Position{})
}

// alters compares each version of a chain of golden schemas with what the changes make of the one before.
func alters(t *testing.T, name string, empty bool, chain ...[]schema.Change) {
	t.Helper()
	for i, changes := range chain {
		want := fmt.Sprintf("%s.schema-%d.json", name, i+1)
		was := parse(t, fmt.Sprintf("%s.schema-%d.json", name, i))
		alter := was.Alter
		if empty {
			alter = was.AlterEmpty
		}
		next, err := alter(changes...)
		require.NoError(t, err)
		next.TimeMillis = parse(t, want).TimeMillis
		got, err := schema.Marshal(next)
		require.NoError(t, err)
		require.Equal(t, sortOptions(t, goldenFiles(t)[want]), string(got), want)
	}
}

// Paimon 1.4.2 made each golden schema from the one before by the changes written here.
func TestAlterMakesPaimonsFiles(t *testing.T) {
	integer, text := schema.Of(schema.Int), schema.StringType()
	evolution := [][]schema.Change{
		{addColumn("added", text), schema.RenameColumn("name", "title")},
		{
			schema.ChangeType("qty", schema.Of(schema.BigInt)), schema.ChangeType("ratio", schema.Of(schema.Double)),
			schema.ChangeType("price", schema.DecimalType(12, 2)),
		},
		{schema.DropColumn("note")},
		{addColumn("note", text)},
	}
	alters(t, "append_schema_evolution", false, evolution...)
	alters(t, "pk_schema_evolution", false, evolution...)

	inner := schema.Type{Kind: schema.Row, Fields: []schema.Field{{Name: "z", Type: schema.Of(schema.BigInt)}}}
	row := schema.Type{Kind: schema.Row, Fields: []schema.Field{
		{Name: "x", Type: integer}, {Name: "y", Type: schema.Type{Kind: schema.Array, Element: &inner}},
	}}
	alters(t, "alter_places", false,
		[]schema.Change{
			schema.AddColumn(schema.Field{Name: "first", Type: integer, Description: `a "comment"`}, schema.First()),
			schema.AddColumn(schema.Field{Name: "after_id", Type: integer}, schema.After("id")),
			schema.AddColumn(schema.Field{Name: "before_id", Type: row}, schema.Before("id")),
			schema.AddColumn(schema.Field{Name: "last", Type: schema.Type{Kind: schema.Map, Key: &text, Element: &row}, Description: "nested"}, schema.Last()),
			addColumn("plain", schema.Type{Kind: schema.TimestampLTZ, Precision: 3}),
		},
		[]schema.Change{
			schema.DropColumn("before_id"), addColumn("before_id", schema.BytesType()),
			schema.MoveColumn("ts", schema.First()), schema.MoveColumn("day", schema.Last()),
			schema.MoveColumn("first", schema.After("code")), schema.MoveColumn("last", schema.Before("id")),
			schema.MoveColumn("must", schema.After("ver")), schema.MoveColumn("id", schema.Before("plain")),
		},
		[]schema.Change{
			schema.SetColumnComment("a", "an a"), schema.SetColumnComment("first", ""), schema.SetComment("a table"),
			schema.SetNullable("must", true),
		},
		[]schema.Change{schema.SetComment(""), schema.SetOption("snapshot.num-retained.min", "5"), schema.SetOption("write-only", "true")},
		[]schema.Change{schema.RemoveOption("write-only"), schema.RemoveOption("never-set"), schema.SetOption("bucket", "4")},
		nil,
	)
	alters(t, "alter_names", false,
		[]schema.Change{
			schema.RenameColumn("id", "key"), schema.RenameColumn("ver", "version"), schema.RenameColumn("a", "most"),
			schema.RenameColumn("code", "c"),
		},
		[]schema.Change{
			addColumn("early", integer), schema.SetNullable("most", false), schema.ChangeType("must", schema.Of(schema.Double)),
			schema.ChangeType("ts", schema.Type{Kind: schema.Timestamp, Precision: 6}), schema.ChangeType("b", schema.DecimalType(20, 4)),
		},
	)
	alters(t, "alter_empty", true,
		[]schema.Change{schema.SetOption("bucket", "4"), schema.SetOption("bucket-key", "id")},
		[]schema.Change{schema.SetOption("bucket", "-1"), schema.RemoveOption("bucket-key")},
		[]schema.Change{schema.RemoveOption("bucket"), schema.DropColumn("v")},
	)
}

// base is a table with keys of each sort.
func base(t testing.TB, options map[string]string) *schema.Table {
	t.Helper()
	table, err := schema.New(schema.Spec{
		Fields: []schema.Field{
			{Name: "day", Type: schema.Of(schema.Date).WithNotNull(true)},
			{Name: "id", Type: schema.Of(schema.Int)},
			{Name: "code", Type: schema.StringType()},
			{Name: "ver", Type: schema.Of(schema.Int)},
			{Name: "a", Type: schema.Type{Kind: schema.VarChar, Length: 10}},
			{Name: "b", Type: schema.DecimalType(10, 2)},
			{Name: "tags", Type: schema.Type{Kind: schema.Array, Element: ptr(schema.StringType())}},
			{Name: "must", Type: schema.Of(schema.Float).WithNotNull(true)},
			{Name: "ts", Type: schema.Type{Kind: schema.Timestamp, Precision: 3}},
		},
		PartitionKeys: []string{"day"}, PrimaryKeys: []string{"day", "id", "code"}, Options: options,
	})
	require.NoError(t, err)
	return table
}

func names(table *schema.Table) []string {
	var out []string
	for _, f := range table.Fields {
		out = append(out, f.Name)
	}
	return out
}

func TestAlterPlacesColumns(t *testing.T) {
	plain := map[string]string{"bucket": "1"}
	early := map[string]string{"bucket": "1", "add-column-before-partition": "true"}
	x := schema.Field{ID: 99, Name: "x", Type: schema.Of(schema.Int), Description: "an x"}
	for name, c := range map[string]struct {
		options map[string]string
		change  schema.Change
		want    []string
	}{
		"add":                  {plain, schema.AddColumn(x, schema.Position{}), []string{"day", "id", "code", "ver", "x"}},
		"add before partition": {early, schema.AddColumn(x, schema.Position{}), []string{"x", "day", "id", "code", "ver"}},
		"add last":             {early, schema.AddColumn(x, schema.Last()), []string{"day", "id", "code", "ver", "x"}},
		"add first":            {plain, schema.AddColumn(x, schema.First()), []string{"x", "day", "id", "code", "ver"}},
		"add after":            {plain, schema.AddColumn(x, schema.After("id")), []string{"day", "id", "x", "code", "ver"}},
		"add after the last":   {plain, schema.AddColumn(x, schema.After("ver")), []string{"day", "id", "code", "ver", "x"}},
		"add before":           {plain, schema.AddColumn(x, schema.Before("id")), []string{"day", "x", "id", "code", "ver"}},
		"move first":           {plain, schema.MoveColumn("code", schema.First()), []string{"code", "day", "id", "ver"}},
		"move last":            {plain, schema.MoveColumn("day", schema.Last()), []string{"id", "code", "ver", "day"}},
		"move forth after":     {plain, schema.MoveColumn("day", schema.After("code")), []string{"id", "code", "day", "ver"}},
		"move back after":      {plain, schema.MoveColumn("ver", schema.After("day")), []string{"day", "ver", "id", "code"}},
		"move forth before":    {plain, schema.MoveColumn("day", schema.Before("ver")), []string{"id", "code", "day", "ver"}},
		"move back before":     {plain, schema.MoveColumn("ver", schema.Before("day")), []string{"ver", "day", "id", "code"}},
		"to where it would be": {plain, schema.MoveColumn("id", schema.After("day")), []string{"day", "id", "code", "ver"}},
	} {
		t.Run(name, func(t *testing.T) {
			table := base(t, c.options)
			table, err := table.Alter(schema.DropColumn("a"), schema.DropColumn("b"), schema.DropColumn("tags"),
				schema.DropColumn("must"), schema.DropColumn("ts"))
			require.NoError(t, err)
			next, err := table.Alter(c.change)
			require.NoError(t, err)
			require.Equal(t, c.want, names(next))
			require.Equal(t, table.ID+1, next.ID)
			if f, ok := next.Field("x"); ok {
				require.Equal(t, schema.Field{ID: 9, Name: "x", Type: schema.Of(schema.Int), Description: "an x"}, f)
				require.Equal(t, 9, next.HighestFieldID)
			}
			require.Equal(t, []string{"day", "id", "code", "ver"}, names(table), "the version before stays")
		})
	}
}

// Ids as in Paimon's ReassignFieldId: the column's own, then those nested in it.
func TestAlterNumbersNestedFields(t *testing.T) {
	row := schema.Type{Kind: schema.Row, Fields: fields("x", "y")}
	table, err := base(t, map[string]string{"bucket": "1"}).Alter(
		addColumn("r", schema.Type{Kind: schema.Map, Key: ptr(schema.StringType()), Element: &row}),
		schema.DropColumn("r"), addColumn("r", row), addColumn("s", schema.Of(schema.Int)))
	require.NoError(t, err)
	r, _ := table.Field("r")
	s, _ := table.Field("s")
	require.Equal(t, []int{12, 13, 14, 15}, []int{r.ID, r.Type.Fields[0].ID, r.Type.Fields[1].ID, s.ID})
	require.Equal(t, 15, table.HighestFieldID)
	require.Zero(t, row.Fields[1].ID)
}

// Paimon 1.4.2 refuses all of these but four, after which it could not write to the table or find its files: renaming or
// dropping a column of a file index, another name of the default partition, another type of table.
func TestAlterRefuses(t *testing.T) {
	options := map[string]string{
		"bucket": "2", "bucket-key": "id", "sequence.field": "ver", "fields.a.ignore-retract": "true",
		"record-level.time-field": "ts", "file-index.bloom-filter.columns": "b, tags",
	}
	for _, c := range []struct {
		change schema.Change
		want   string
	}{
		{schema.Change{}, "a change is empty"},
		{schema.AddColumn(schema.Field{Name: "a", Type: schema.Of(schema.Int)}, schema.Position{}), "there is a column"},
		{addColumn("x", schema.Of(schema.Int).WithNotNull(true)), "cannot be NOT NULL"},
		{schema.AddColumn(schema.Field{Name: "x", Type: schema.Of(schema.Int), Default: ptr("1")}, schema.Last()), "default value"},
		{schema.AddColumn(schema.Field{Name: "x", Type: schema.Of(schema.Int)}, schema.After("nope")), `column "nope": there is no`},
		{addColumn("", schema.Of(schema.Int)), "a name must be"},
		{addColumn("_ROW_ID", schema.Of(schema.Int)), "Paimon keeps this name"},
		{addColumn("x", schema.Type{}), `"x"`},
		{schema.MoveColumn("nope", schema.First()), "there is no column"},
		{schema.MoveColumn("a", schema.After("nope")), "there is no column"},
		{schema.MoveColumn("a", schema.After("a")), "moved to where it is"},
		{schema.MoveColumn("day", schema.First()), "moved to where it is"},
		{schema.MoveColumn("ts", schema.Last()), "moved to where it is"},
		{schema.MoveColumn("a", schema.Position{}), "the place is missing"},
		{schema.RenameColumn("nope", "x"), "there is no column"},
		{schema.RenameColumn("a", "b"), "there is a column"},
		{schema.RenameColumn("a", "a"), "there is a column"},
		{schema.RenameColumn("a", "_KEY_a"), "Paimon keeps this name"},
		{schema.RenameColumn("day", "x"), "partition key keeps its name"},
		{schema.RenameColumn("ts", "x"), "record-level.time-field names it"},
		{schema.RenameColumn("tags", "x"), "file-index.bloom-filter.columns names it"},
		{schema.DropColumn("nope"), "there is no column"},
		{schema.DropColumn("day"), "part of the partition key"},
		{schema.DropColumn("code"), "part of the primary key"},
		{schema.DropColumn("ver"), `sequence.field names a column "ver"`},
		{schema.DropColumn("a"), `fields.a.ignore-retract names a column "a"`},
		{schema.DropColumn("b"), "file-index.bloom-filter.columns names it"},
		{schema.ChangeType("nope", schema.Of(schema.Int)), "there is no column"},
		{schema.ChangeType("id", schema.Of(schema.BigInt)), "part of the primary key"},
		{schema.ChangeType("day", schema.Of(schema.Date)), "part of the partition key"},
		{schema.ChangeType("ver", schema.Type{Kind: schema.Char}), "CHAR"},
		{schema.SetNullable("id", true), "part of the primary key"},
		{schema.SetNullable("a", false), "alter-column-null-to-not-null.disabled"},
		{schema.SetNullable("nope", true), "there is no column"},
		{schema.SetColumnComment("nope", "x"), "there is no column"},
		{schema.SetOption("bucket", "-1"), "keeps some"},
		{schema.SetOption("bucket", "0"), "bucket must be at least 1"},
		{schema.SetOption("bucket", "many"), "whole number"},
		{schema.RemoveOption("bucket"), "cannot be removed"},
		{schema.SetOption("bucket-key", "code"), "how the files in place"},
		{schema.RemoveOption("bucket-key"), "how the files in place"},
		{schema.SetOption("merge-engine", "first-row"), "how the files in place"},
		{schema.SetOption("partition.default-name", "none"), "how the files in place"},
		{schema.SetOption("primary-key", "id"), "never changes"},
		{schema.SetOption("partition", "day"), "never changes"},
		{schema.SetOption("type", "format-table"), "never changes"},
		{schema.SetOption("deletion-vectors.enabled", "true"), "rows would be doubled"},
		{schema.SetOption("sequence.field", "nope"), `sequence.field names a column "nope"`},
		{schema.SetOption("sequence.field", "ver,ver"), "twice"},
		{schema.SetOption("fields.nope.ignore-retract", "true"), `names a column "nope"`},
	} {
		t.Run(c.change.String(), func(t *testing.T) {
			table := base(t, options)
			_, err := table.Alter(c.change)
			require.ErrorIs(t, err, schema.ErrChange)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, base(t, options), table)
		})
	}
	_, err := base(t, options).Alter(schema.DropColumn("nope"))
	require.ErrorIs(t, err, schema.ErrColumnMissing)
	_, err = base(t, options).Alter(addColumn("a", schema.Of(schema.Int)))
	require.ErrorIs(t, err, schema.ErrColumnExists)
	one, err := schema.New(schema.Spec{Fields: fields("a")})
	require.NoError(t, err)
	_, err = one.Alter(schema.DropColumn("a"))
	require.ErrorContains(t, err, "last column")
	one.HighestFieldID = 1<<30 - 2
	_, err = one.Alter(addColumn("x", schema.Of(schema.Int)))
	require.ErrorContains(t, err, "ids below 1073741823 have been given")
}

func TestAlterTypes(t *testing.T) {
	typ := func(text string) schema.Type {
		typ, err := schema.ParseType(text)
		require.NoError(t, err)
		return typ
	}
	for _, c := range []struct{ from, to, want string }{
		{"TINYINT", "SMALLINT", ""},
		{"SMALLINT NOT NULL", "BIGINT", ""},
		{"INT", "INT", ""},
		{"FLOAT", "DOUBLE", ""},
		{"DECIMAL(9, 2)", "DECIMAL(12, 4)", ""},
		{"CHAR(3)", "VARCHAR(3)", ""},
		{"VARCHAR(3)", "STRING", ""},
		{"BINARY(3)", "VARBINARY(4)", ""},
		{"VARBINARY(3)", "BYTES", ""},
		{"TIMESTAMP(3)", "TIMESTAMP(6)", ""},
		{"TIMESTAMP(0) WITH LOCAL TIME ZONE", "TIMESTAMP(9) WITH LOCAL TIME ZONE", ""},
		{"BIGINT", "INT", "not every value fits"},
		{"DOUBLE", "FLOAT", "not every value fits"},
		{"STRING", "VARCHAR(3)", "not every value fits"},
		{"DECIMAL(9, 2)", "DECIMAL(9, 3)", "rounded, cut off or lost"},
		{"BIGINT", "DOUBLE", "rounded, cut off or lost"},
		{"INT", "DECIMAL(12, 0)", "rounded, cut off or lost"},
		{"CHAR(3)", "CHAR(4)", "rounded, cut off or lost"},
		{"TIMESTAMP(6)", "TIMESTAMP(3)", "not every value fits"},
		{"INT", "STRING", "cast to others"},
		{"STRING", "INT", "cast to others"},
		{"DATE", "TIMESTAMP(3)", "cast to others"},
		{"TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE", "cast to others"},
	} {
		table, err := schema.New(schema.Spec{Fields: []schema.Field{{Name: "v", Type: typ(c.from)}}})
		require.NoError(t, err)
		next, err := table.Alter(schema.ChangeType("v", typ(c.to)))
		if c.want != "" {
			require.ErrorContains(t, err, c.want, "%s to %s", c.from, c.to)
			continue
		}
		require.NoError(t, err, "%s to %s", c.from, c.to)
		require.Equal(t, typ(c.to).WithNotNull(typ(c.from).NotNull), next.Fields[0].Type)
		require.NoError(t, schema.CompatibleEvolution(table, next), "what may be altered, files may be committed across")
	}
	_, err := base(t, map[string]string{"bucket": "1"}).Alter(schema.ChangeType("tags", schema.StringType()))
	require.ErrorContains(t, err, "nested type")
}

func TestAlterNullability(t *testing.T) {
	table, err := base(t, map[string]string{"bucket": "1", "alter-column-null-to-not-null.disabled": "false"}).Alter(
		schema.SetNullable("must", true), schema.SetNullable("a", false), schema.SetNullable("id", false))
	require.NoError(t, err)
	for name, want := range map[string]string{"must": "FLOAT", "a": "VARCHAR(10) NOT NULL", "id": "INT NOT NULL"} {
		f, _ := table.Field(name)
		require.Equal(t, want, f.Type.String())
	}
}

func TestAlterOptions(t *testing.T) {
	table := base(t, map[string]string{"bucket": "2", "merge-engine": "first-row", "ignore-delete": "true"})
	next, err := table.Alter(schema.SetOption("bucket", "5"), schema.SetOption("merge-engine", "first-row"), schema.SetOption("x", "y"),
		schema.RemoveOption("nope"), schema.SetColumnComment("a", "an a"), schema.SetComment("a table"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"bucket": "5", "merge-engine": "first-row", "ignore-delete": "true", "x": "y"}, next.Options)
	a, _ := next.Field("a")
	require.Equal(t, "an a", a.Description)
	require.Equal(t, "a table", next.Comment)
	require.Equal(t, "2", table.Options["bucket"])
	for _, change := range []schema.Change{
		schema.RemoveOption("bucket"), schema.SetOption("bucket", "-1"), schema.SetOption("merge-engine", "deduplicate"),
		schema.RemoveOption("merge-engine"), schema.SetOption("ignore-delete", "false"), schema.RemoveOption("ignore-delete"),
		schema.SetOption("deletion-vectors.enabled", "true"), schema.SetOption("bucket-key", "id"),
	} {
		_, err := next.Alter(change)
		require.ErrorIs(t, err, schema.ErrChange, change.String())
		if change.String() != schema.SetOption("bucket-key", "id").String() {
			_, err = next.AlterEmpty(change)
			require.NoError(t, err, change.String())
		}
	}
	free := base(t, nil)
	_, err = free.Alter(schema.SetOption("bucket", "4"))
	require.ErrorContains(t, err, "without fixed buckets")
	next, err = free.AlterEmpty(schema.SetOption("bucket", "4"), schema.SetOption("bucket-key", "id"))
	require.NoError(t, err)
	require.Equal(t, []string{"id"}, next.BucketKeys())
	_, err = free.AlterEmpty(schema.SetOption("primary-key", "id"))
	require.ErrorIs(t, err, schema.ErrChange)
	allowed, err := base(t, map[string]string{"deletion-vectors.modifiable": "true"}).Alter(schema.SetOption("deletion-vectors.enabled", "true"))
	require.NoError(t, err)
	require.Equal(t, "true", allowed.Options["deletion-vectors.enabled"])
}

// The options follow as in SchemaManager.applyRenameColumnsToOptions.
func TestRenameReachesKeysAndOptions(t *testing.T) {
	table := base(t, map[string]string{
		"bucket": "2", "bucket-key": "code,id", "sequence.field": "ver, ts", "fields.a.aggregate-function": "max",
		"fields.ver,ts.sequence-group": "a,b", "fields.default-aggregate-function": "last_value", "other": "a",
	})
	next, err := table.Alter(schema.RenameColumn("id", "key"), schema.RenameColumn("ver", "version"), schema.RenameColumn("a", "a.x"),
		schema.RenameColumn("b", "swap"), schema.RenameColumn("must", "b"), schema.RenameColumn("swap", "must"))
	require.NoError(t, err)
	require.Equal(t, []string{"day", "key", "code"}, next.PrimaryKeys)
	require.Equal(t, []string{"day"}, next.PartitionKeys)
	require.Equal(t, map[string]string{
		"bucket": "2", "bucket-key": "code,key", "sequence.field": "version,ts", "fields.a.x.aggregate-function": "max",
		"fields.version,ts.sequence-group": "a.x,must", "fields.default-aggregate-function": "last_value", "other": "a",
	}, next.Options)
	require.Equal(t, []string{"day", "id", "code"}, table.PrimaryKeys)
	for i, f := range next.Fields {
		require.Equal(t, table.Fields[i].ID, f.ID)
		require.Equal(t, table.Fields[i].Type, f.Type)
	}
}

// alterer makes changes from random numbers, most of them possible.
type alterer struct{ *rand.Rand }

func (r alterer) name() string {
	return []string{"day", "id", "code", "ver", "a", "b", "tags", "must", "ts", "x", "y", "z", "a.b"}[r.IntN(13)]
}

func (r alterer) typ(depth int) schema.Type {
	switch n := r.IntN(12); {
	case depth < 3 && n == 0:
		return schema.Type{Kind: schema.Array, Element: ptr(r.typ(depth + 1))}
	case depth < 3 && n == 1:
		return schema.Type{Kind: schema.Map, Key: ptr(schema.StringType()), Element: ptr(r.typ(depth + 1))}
	case depth < 3 && n == 2:
		return schema.Type{Kind: schema.Row, Fields: []schema.Field{{Name: "n", Type: r.typ(depth + 1)}, {Name: "m", Type: r.typ(depth + 1)}}}
	case n < 6:
		return schema.Of(schema.TinyInt + schema.Kind(r.IntN(6)))
	case n < 8:
		return schema.DecimalType(10+r.IntN(20), r.IntN(10))
	case n < 10:
		return schema.Type{Kind: schema.Timestamp, Precision: r.IntN(10)}
	}
	return schema.Type{Kind: schema.VarChar, Length: 1 + r.IntN(20)}
}

func (r alterer) position() schema.Position {
	return []schema.Position{{}, schema.First(), schema.Last(), schema.After(r.name()), schema.Before(r.name())}[r.IntN(5)]
}

func (r alterer) change() schema.Change {
	options := []string{"bucket", "bucket-key", "sequence.field", "fields.a.stats-mode", "fields.x,y.sequence-group", "merge-engine", "k"}
	switch r.IntN(10) {
	case 0, 1:
		return schema.AddColumn(schema.Field{Name: r.name(), Type: r.typ(0)}, r.position())
	case 2:
		return schema.DropColumn(r.name())
	case 3, 4:
		return schema.RenameColumn(r.name(), r.name())
	case 5:
		return schema.MoveColumn(r.name(), r.position())
	case 6:
		return schema.ChangeType(r.name(), r.typ(3))
	case 7:
		return schema.SetNullable(r.name(), r.IntN(2) == 0)
	case 8:
		return schema.RemoveOption(options[r.IntN(len(options))])
	}
	return schema.SetOption(options[r.IntN(len(options))], []string{"2", "-1", r.name(), r.name() + "," + r.name()}[r.IntN(4)])
}

// ids collects the ids of fields, nested ones included.
func ids(fields []schema.Field, into map[int]string) {
	for _, f := range fields {
		into[f.ID] = f.Name
		for t := &f.Type; t != nil; t = t.Element {
			ids(t.Fields, into)
		}
	}
}

// A chain of any changes leads to schemas that are valid, are read back as they were written, and never give an id again.
func FuzzAlter(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint8(60))
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) {
		r := alterer{rand.New(rand.NewPCG(seed, 1))}
		table := base(t, map[string]string{"bucket": "2", "sequence.field": "ver"})
		given := map[int]bool{}
		for range steps {
			before := map[int]string{}
			ids(table.Fields, before)
			maps.Insert(given, func(yield func(int, bool) bool) {
				for id := range before {
					yield(id, true)
				}
			})
			alter := table.Alter
			if r.IntN(4) == 0 {
				alter = table.AlterEmpty
			}
			next, err := alter(r.change(), r.change())
			if err != nil {
				require.ErrorIs(t, err, schema.ErrChange)
				continue
			}
			require.NoError(t, next.Validate())
			data, err := schema.Marshal(next)
			require.NoError(t, err)
			back, err := schema.Parse(data)
			require.NoError(t, err)
			require.Equal(t, next, back)
			require.Equal(t, table.ID+1, next.ID)
			require.GreaterOrEqual(t, next.HighestFieldID, table.HighestFieldID)
			now := map[int]string{}
			ids(next.Fields, now)
			for id := range now {
				require.LessOrEqual(t, id, next.HighestFieldID)
				if _, had := before[id]; !had {
					require.False(t, given[id], "id %d was given before", id)
				}
			}
			require.Equal(t, slices.Sorted(slices.Values(names(next))), slices.Compact(slices.Sorted(slices.Values(names(next)))))
			table = next
		}
	})
}
