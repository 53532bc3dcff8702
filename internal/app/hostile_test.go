package app

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/testenv"
)

// hostile are texts that would lead out of a folder, end a statement or break a name, if anything took them as they are.
func hostile() []string {
	return []string{
		"..", ".", "../../escape", "/etc/passwd", `..\..\escape`, `c:\x`, "a/../../b", "%2e%2e%2fescape", "%", "%00", "x\x00y", "\x00", "\n\r\t", "\x7f",
		"．．／escape", "․․/escape", "․․∕escape", "a=b/c=d", "bucket-0", "_tributary", "__DEFAULT_PARTITION__x", "`; DROP TABLE d_0; --", "' OR ''='", `"`, "$(id)",
		"${env:READER_PASSWORD}", "\u202egnp", "e\u0301", "é", "😀", "snapshot/LATEST", "~", "-rf", strings.Repeat("ä", 80),
	}
}

func quoted(identifier string) string { return "`" + strings.ReplaceAll(identifier, "`", "``") + "`" }

// Shards, databases and partition values are named by whoever may write to MySQL. Whatever they are called, nothing is made
// outside the warehouse, and Paimon reads MySQL's rows.
func TestHostileNamesStayInTheWarehouse(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	base := m.NewDatabase(t)
	database := base + "/../`'\\．．"
	m.Exec(t, "CREATE DATABASE "+quoted(database))
	t.Cleanup(func() { m.Exec(t, "DROP DATABASE "+quoted(database)) })
	around := t.TempDir()
	warehouse := filepath.Join(around, "a", "b", "lake")
	require.NoError(t, os.MkdirAll(warehouse, 0o755))
	db := m.Open(t, "tributary", "")
	var want []string
	for i, name := range hostile() {
		// MySQL keeps NUL, what is beyond the basic plane and blanks at the end out of names, and has 64 characters at most.
		table := "d_" + strings.NewReplacer("\x00", "", "😀", "").Replace(name)
		if r := []rune(table); len(r) > 64 {
			table = string(r[:64])
		}
		table = fmt.Sprintf("%s%d", strings.TrimRight(table, " \n\r\t"), i)
		if r := []rune(table); len(r) > 64 {
			table = string(r[len(r)-62:])
			table = "d_" + table[len("d_"):]
		}
		at := quoted(database) + "." + quoted(table)
		m.Exec(t, "CREATE TABLE "+at+" (id INT PRIMARY KEY, p VARCHAR(100) CHARACTER SET utf8mb4)")
		for id, value := range hostile() {
			if i > 1 && id > 2 {
				break // not every name with every value
			}
			_, err := db.Exec("INSERT INTO "+at+" VALUES (?, ?)", id, value)
			require.NoError(t, err)
			line, err := json.Marshal(map[string]any{"id": fmt.Sprint(id), "p": value, "_database": database, "_table": table})
			require.NoError(t, err)
			want = append(want, string(line))
		}
	}
	job := driftJob(m, base+"*", warehouse, `"provenance": {"database": "_database", "table": "_table"}, "target": {"database": "ods", "partition": ["_database", "_table", "p"]}`)
	result, err := runJob(t, job, "r1")
	require.NoError(t, err)
	require.EqualValues(t, len(want), result.Written)

	var got []string
	for _, line := range testenv.Referee(t).Read(t, warehouse, "ods.d", 0) {
		var row map[string]string
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		data, err := json.Marshal(row)
		require.NoError(t, err)
		got = append(got, string(data))
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
	// ods.db/d/_database=…/_table=…/p=…/bucket-0/data-…: no text made a folder more or less.
	require.NoError(t, filepath.WalkDir(around, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o133, "%s may be changed or executed by others", path)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm()&0o600, path)
		below, err := filepath.Rel(warehouse, path)
		require.NoError(t, err)
		parts := strings.Split(below, string(filepath.Separator))
		require.Contains(t, []string{"ods.db", "_tributary"}, parts[0], path)
		if strings.HasPrefix(filepath.Base(path), "data-") {
			require.Len(t, parts, 7, path)
			require.Regexp(t, `^_database=.*/_table=.*/p=.*/bucket-0$`, filepath.Join(parts[2:6]...))
		}
		return nil
	}))
}

// What a job file or a run's id says becomes folders too.
func TestHostileJobsAreRefused(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database, warehouse := m.NewDatabase(t), t.TempDir()
	m.Exec(t, "CREATE TABLE "+database+".d_0 (id INT PRIMARY KEY)")
	env := NewEnv(&config.Masker{})
	good := driftJob(m, database, warehouse, `"where": ""`)
	change := func(from string, to any) json.RawMessage {
		text, err := json.Marshal(to)
		require.NoError(t, err)
		changed := strings.Replace(string(good), from, string(text), 1)
		require.NotEqual(t, string(good), changed)
		return json.RawMessage(changed)
	}
	for _, name := range []string{"..", "../x", "a/b", `a\b`, "a\x00b", "", ".", "/x", "．．／x", strings.Repeat("x", 300)} {
		for _, from := range []string{`"drift"`, `"ods"`, `"d"`} {
			if name == "" && from == `"ods"` {
				continue
			}
			_, err := (&activities.Preparer{Env: env}).Prepare(t.Context(), activities.PrepareInput{Job: change(from, name), Run: "r1"})
			require.ErrorIs(t, err, activities.ErrConfig, "%s as %q", from, name)
		}
		_, err := (&activities.Preparer{Env: env}).Prepare(t.Context(), activities.PrepareInput{Job: good, Run: name})
		require.Error(t, err, "run %q", name)
	}
	entries, err := os.ReadDir(warehouse)
	require.NoError(t, err)
	require.Empty(t, entries)
}
