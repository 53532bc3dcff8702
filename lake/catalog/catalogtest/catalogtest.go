package catalogtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Run runs the suite; create returns an empty catalog for one test.
func Run(t *testing.T, create func(t *testing.T) catalog.Catalog) {
	for name, test := range map[string]func(t *testing.T, c catalog.Catalog){
		"CreateAndLoad": createAndLoad,
		"Missing":       missing,
		"OnlyIfAbsent":  onlyIfAbsent,
		"Race":          race,
		"List":          list,
		"Names":         names,
		"FirstSchema":   firstSchema,
		"Alter":         alter,
		"AlterRefused":  alterRefused,
		"AlterRace":     alterRace,
	} {
		t.Run(name, func(t *testing.T) { test(t, create(t)) })
	}
}

// table returns a schema that its comment tells from others.
func table(t *testing.T, comment string) *schema.Table {
	t.Helper()
	s, err := schema.New(schema.Spec{
		Fields: []schema.Field{
			{Name: "id", Type: schema.Of(schema.BigInt).WithNotNull(true)},
			{Name: "price", Type: schema.DecimalType(10, 2)},
			{Name: "名", Type: schema.StringType()},
		},
		PartitionKeys: []string{"名"}, Options: map[string]string{"bucket": "-1"}, Comment: comment, TimeMillis: 1_700_000_000_000,
	})
	require.NoError(t, err)
	return s
}

// file is a schema as its file says it.
func file(t *testing.T, s *schema.Table) string {
	t.Helper()
	data, err := schema.Marshal(s)
	require.NoError(t, err)
	return string(data)
}

func createAndLoad(t *testing.T, c catalog.Catalog) {
	id := catalog.Identifier{Database: "ods", Table: "orders_v2"}
	want := table(t, "")
	got, err := c.CreateTable(t.Context(), id, want)
	require.NoError(t, err)
	require.Equal(t, file(t, want), file(t, got))
	got, err = c.LoadTable(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, file(t, want), file(t, got))
	require.NotEqual(t, c.Path(id), c.Path(catalog.Identifier{Database: "ods", Table: "orders"}))
}

func missing(t *testing.T, c catalog.Catalog) {
	_, err := c.LoadTable(t.Context(), catalog.Identifier{Database: "ods", Table: "orders"})
	require.ErrorIs(t, err, catalog.ErrNotExist)
	require.ErrorContains(t, err, "ods.orders")
	tables, err := c.ListTables(t.Context(), "ods")
	require.NoError(t, err)
	require.Empty(t, tables)
}

func onlyIfAbsent(t *testing.T, c catalog.Catalog) {
	id := catalog.Identifier{Database: "ods", Table: "orders"}
	_, err := c.CreateTable(t.Context(), id, table(t, "first"))
	require.NoError(t, err)
	again, err := c.CreateTable(t.Context(), id, table(t, "first"))
	require.NoError(t, err, "the very same: an earlier reply was lost")
	require.Equal(t, "first", again.Comment)
	_, err = c.CreateTable(t.Context(), id, table(t, "second"))
	require.ErrorIs(t, err, catalog.ErrExist)
	got, err := c.LoadTable(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "first", got.Comment)
}

func race(t *testing.T, c catalog.Catalog) {
	id := catalog.Identifier{Database: "ods", Table: "orders"}
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		s := table(t, fmt.Sprintf("creator %d", i))
		group.Go(func() { _, errs[i] = c.CreateTable(t.Context(), id, s) })
	}
	group.Wait()
	got, err := c.LoadTable(t.Context(), id)
	require.NoError(t, err)
	for i, err := range errs {
		if got.Comment == fmt.Sprintf("creator %d", i) {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, catalog.ErrExist)
		}
	}
}

func list(t *testing.T, c catalog.Catalog) {
	for _, id := range []catalog.Identifier{{Database: "a", Table: "t2"}, {Database: "a", Table: "t1"}, {Database: "ab", Table: "t3"}} {
		_, err := c.CreateTable(t.Context(), id, table(t, ""))
		require.NoError(t, err)
	}
	tables, err := c.ListTables(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, []string{"t1", "t2"}, tables)
}

func names(t *testing.T, c catalog.Catalog) {
	for _, id := range []catalog.Identifier{
		{Database: "", Table: "t"},
		{Database: "d", Table: ""},
		{Database: "d", Table: "  "},
		{Database: "..", Table: "t"},
		{Database: "d", Table: ".."},
		{Database: "d", Table: "."},
		{Database: "../d", Table: "t"},
		{Database: "d", Table: "a/b"},
		{Database: "d", Table: `a\b`},
		{Database: "d", Table: "a\x00"},
		{Database: "d", Table: "a\n"},
		{Database: "d.e", Table: "t"},
		{Database: "d", Table: "t$snapshots"},
		{Database: "d", Table: strings.Repeat("x", 300)},
		{Database: "d", Table: "\xff"},
	} {
		_, err := c.CreateTable(t.Context(), id, table(t, ""))
		require.ErrorIs(t, err, catalog.ErrName, "%q", id)
		_, err = c.LoadTable(t.Context(), id)
		require.ErrorIs(t, err, catalog.ErrName, "%q", id)
		_, err = c.AlterTable(t.Context(), id, schema.SetComment("x"))
		require.ErrorIs(t, err, catalog.ErrName, "%q", id)
	}
	_, err := c.ListTables(t.Context(), "..")
	require.ErrorIs(t, err, catalog.ErrName)
}

func firstSchema(t *testing.T, c catalog.Catalog) {
	s := table(t, "")
	s.ID = 1
	_, err := c.CreateTable(t.Context(), catalog.Identifier{Database: "d", Table: "t"}, s)
	require.Error(t, err)
}

func added(name string) schema.Change {
	return schema.AddColumn(schema.Field{Name: name, Type: schema.StringType()}, schema.Position{})
}

// Every alteration adds a version, also one that changes nothing.
func alter(t *testing.T, c catalog.Catalog) {
	id := catalog.Identifier{Database: "ods", Table: "orders"}
	before, err := c.CreateTable(t.Context(), id, table(t, "first"))
	require.NoError(t, err)
	got, err := c.AlterTable(t.Context(), id, added("note"), schema.RenameColumn("price", "amount"), schema.SetComment("second"))
	require.NoError(t, err)
	require.Equal(t, schema.ID(1), got.ID)
	require.Greater(t, got.TimeMillis, before.TimeMillis)
	require.Equal(t, "second", got.Comment)
	require.Equal(t, []schema.Field{
		{ID: 0, Name: "id", Type: schema.Of(schema.BigInt).WithNotNull(true)},
		{ID: 1, Name: "amount", Type: schema.DecimalType(10, 2)},
		{ID: 2, Name: "名", Type: schema.StringType()},
		{ID: 3, Name: "note", Type: schema.StringType()},
	}, got.Fields)
	loaded, err := c.LoadTable(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, file(t, got), file(t, loaded))
	got, err = c.AlterTable(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, schema.ID(2), got.ID)
	require.Equal(t, loaded.Fields, got.Fields)
	_, err = c.CreateTable(t.Context(), id, table(t, "another"))
	require.ErrorIs(t, err, catalog.ErrExist)
}

func alterRefused(t *testing.T, c catalog.Catalog) {
	id := catalog.Identifier{Database: "ods", Table: "orders"}
	_, err := c.AlterTable(t.Context(), id, added("note"))
	require.ErrorIs(t, err, catalog.ErrNotExist)
	_, err = c.LoadTable(t.Context(), id)
	require.ErrorIs(t, err, catalog.ErrNotExist, "altering must not create it")
	_, err = c.CreateTable(t.Context(), id, table(t, "first"))
	require.NoError(t, err)
	_, err = c.AlterTable(t.Context(), id, added("note"), schema.DropColumn("名"))
	require.ErrorIs(t, err, schema.ErrChange)
	require.ErrorContains(t, err, "ods.orders")
	_, err = c.AlterTable(t.Context(), id, added("price"))
	require.ErrorIs(t, err, schema.ErrColumnExists)
	got, err := c.LoadTable(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, schema.ID(0), got.ID)
	require.Len(t, got.Fields, 3)
}

// All of them win: each change is in the chain once, and versions and columns are numbered without a hole.
func alterRace(t *testing.T, c catalog.Catalog) {
	id := catalog.Identifier{Database: "ods", Table: "orders"}
	_, err := c.CreateTable(t.Context(), id, table(t, "first"))
	require.NoError(t, err)
	var group sync.WaitGroup
	got := make([]*schema.Table, 8)
	errs := make([]error, len(got))
	for i := range got {
		group.Go(func() { got[i], errs[i] = c.AlterTable(t.Context(), id, added(fmt.Sprint("added", i))) })
	}
	group.Wait()
	last, err := c.LoadTable(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, schema.ID(len(got)), last.ID)
	require.Equal(t, 2+len(got), last.HighestFieldID)
	require.Len(t, last.Fields, 3+len(got))
	versions := map[schema.ID]bool{}
	for i, s := range got {
		require.NoError(t, errs[i])
		versions[s.ID] = true
		own, ok := s.Field(fmt.Sprint("added", i))
		require.True(t, ok)
		require.Equal(t, 2+int(s.ID), own.ID, "the version that one made has the column that one added")
		kept, ok := last.Field(own.Name)
		require.True(t, ok)
		require.Equal(t, own, kept)
	}
	require.Len(t, versions, len(got))
}
