package snapshot_test

import (
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Java made the tag with-ttl of append_tags to live for 36,500 days, and says when in its own form.
func TestTagInfoReadsJavasTags(t *testing.T) {
	m := golden(t, "append_tags")
	info, err := m.TagInfo(t.Context(), "with-ttl")
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(2), info.Snapshot.ID)
	require.Equal(t, 36500*24*time.Hour, info.Retained)
	require.Equal(t, 2026, info.Created.Year())
	require.False(t, info.Expired(info.Created.Add(info.Retained)))
	require.True(t, info.Expired(info.Created.Add(info.Retained+1)))

	info, err = m.TagInfo(t.Context(), "first")
	require.NoError(t, err)
	require.True(t, info.Created.IsZero())
	require.Zero(t, info.Retained)
	require.False(t, info.Expired(time.Now().AddDate(1000, 0, 0)))

	_, err = m.TagInfo(t.Context(), "none")
	require.ErrorIs(t, err, fileio.ErrNotExist)
}

func TestCreateTagForSaysUntilWhen(t *testing.T) {
	m, _ := empty(t)
	publish(t, m, 1, 2)
	// The wall clock counts, as with Java's LocalDateTime.
	now := time.Date(2024, 2, 29, 23, 5, 6, 123456789, time.FixedZone("east", 3600))
	require.NoError(t, m.CreateTagFor(t.Context(), "a", 2, now, 90*time.Minute))
	data, err := fileio.ReadFile(t.Context(), m.Store, m.TagPath("a"), 1<<20)
	require.NoError(t, err)
	require.Contains(t, string(data), ",\n  \"tagCreateTime\" : [ 2024, 2, 29, 23, 5, 6, 123456789 ],\n  \"tagTimeRetained\" : 5400.000000000\n}")
	s, err := m.Tag(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, some(2), s)
	info, err := m.TagInfo(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, 90*time.Minute, info.Retained)
	require.False(t, info.Expired(now.Add(90*time.Minute)))
	require.True(t, info.Expired(now.Add(90*time.Minute+time.Nanosecond)))

	require.ErrorIs(t, m.CreateTagFor(t.Context(), "a", 1, now, time.Hour), fileio.ErrExist)
	require.ErrorIs(t, m.CreateTagFor(t.Context(), "b", 3, now, time.Hour), fileio.ErrNotExist)
	require.ErrorContains(t, m.CreateTagFor(t.Context(), "b", 1, now, time.Millisecond), "a second or more")
}

func TestTagInfoOfBrokenRetention(t *testing.T) {
	for name, keys := range map[string]string{
		"two numbers":     `"tagCreateTime":[2024,1]`,
		"eight numbers":   `"tagCreateTime":[2024,1,1,1,1,1,1,1]`,
		"text":            `"tagCreateTime":"2024-01-01"`,
		"negative":        `"tagTimeRetained":-1.0`,
		"an exponent":     `"tagTimeRetained":1.5e3`,
		"text for a time": `"tagTimeRetained":"1 d"`,
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := empty(t)
			text := `{"id":1,"schemaId":0,"baseManifestList":"b","deltaManifestList":"d","commitUser":"u","commitIdentifier":1,"commitKind":"APPEND",` + keys + `}`
			require.NoError(t, fileio.WriteFile(t.Context(), m.Store, m.TagPath("x"), []byte(text)))
			_, err := m.TagInfo(t.Context(), "x")
			require.ErrorIs(t, err, snapshot.ErrCorrupt)
		})
	}
}

func TestAllConsumers(t *testing.T) {
	m, _ := empty(t)
	all, err := m.Consumers(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, m.CreateConsumer(t.Context(), "a", 3))
	require.NoError(t, m.CreateConsumer(t.Context(), "b", 7))
	all, err = m.Consumers(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]snapshot.ID{"a": 3, "b": 7}, all)
	require.NoError(t, fileio.WriteFile(t.Context(), m.Store, path.Join(m.Table, "consumer/consumer-c"), []byte("x")))
	_, err = m.Consumers(t.Context())
	require.ErrorIs(t, err, snapshot.ErrCorrupt)
}

func TestBranchesChangelogsAndTheEarliestHint(t *testing.T) {
	m, _ := empty(t)
	branches, err := m.Branches(t.Context())
	require.NoError(t, err)
	require.Empty(t, branches)
	b := snapshot.Manager{Store: m.Store, Table: path.Join(m.Table, "branch/branch-b")}
	publish(t, b, 4)
	require.NoError(t, fileio.WriteFile(t.Context(), m.Store, path.Join(m.Table, "branch/other/x"), []byte("x")))
	branches, err = m.Branches(t.Context())
	require.NoError(t, err)
	require.Equal(t, []snapshot.Manager{b}, branches)

	data, err := fileio.ReadFile(t.Context(), m.Store, b.Path(4), 1<<20)
	require.NoError(t, err)
	for _, id := range []snapshot.ID{12, 4} {
		require.NoError(t, fileio.WriteFile(t.Context(), m.Store, m.ChangelogPath(id), data))
	}
	ids, err := m.Changelogs(t.Context())
	require.NoError(t, err)
	require.Equal(t, []snapshot.ID{4, 12}, ids)
	s, err := m.Changelog(t.Context(), 4)
	require.NoError(t, err)
	require.Equal(t, some(4), s)

	hint, err := golden(t, "append_overwrite").EarliestHint(t.Context())
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(1), hint, "as Java wrote it")
	require.NoError(t, m.WriteEarliest(t.Context(), 9))
	hint, err = m.EarliestHint(t.Context())
	require.NoError(t, err)
	require.Equal(t, snapshot.ID(9), hint)

	publish(t, m, 1, 2)
	require.NoError(t, m.Delete(t.Context(), 1))
	require.NoError(t, m.Delete(t.Context(), 1))
	left, err := m.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []snapshot.ID{2}, left)
}
