package commit

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

func TestRefusals(t *testing.T) {
	b := emptyBed(t)
	good := func() Request { return b.request(snapshot.Append, 1, b.file(t, "a", 3)) }
	for want, change := range map[string]func(r *Request){
		"has no user":                              func(r *Request) { r.User = "" },
		"identifier -1":                            func(r *Request) { r.Identifier = -1 },
		"identifier 9223372036854775807":           func(r *Request) { r.Identifier = math.MaxInt64 },
		`kind "ANALYZE"`:                           func(r *Request) { r.Kind = "ANALYZE" },
		"commit it as an APPEND":                   func(r *Request) { r.Kind = snapshot.Compact },
		"only an OVERWRITE":                        func(r *Request) { r.Replace = &Replace{} },
		"has no schema":                            func(r *Request) { r.Planned = nil },
		"the file is not there":                    func(r *Request) { r.Messages[0].Data.NewFiles[0].Name = "gone" },
		"the file has 7 bytes, its message says 9": func(r *Request) { r.Messages[0].Data.NewFiles[0].Size = 9 },
		"named twice":                              func(r *Request) { r.Messages = append(r.Messages, r.Messages[0]) },
		"written with schema 4":                    func(r *Request) { r.Messages[0].Data.NewFiles[0].SchemaID = 4 },
		"outside of the table":                     func(r *Request) { r.Messages[0].Data.NewFiles[0].ExternalPath = new(string) },
		"not a bare file name":                     func(r *Request) { r.Messages[0].Data.NewFiles[0].Name = "../bucket-0/a" },
		"file ods.db/orders/bucket-0/a.index":      func(r *Request) { r.Messages[0].Data.NewFiles[0].ExtraFiles = []string{"a.index"} },
		"bucket 3":                                 func(r *Request) { r.Messages[0].Bucket = 3 },
		"of 4 buckets":                             func(r *Request) { *r.Messages[0].TotalBuckets = 4 },
		"message's partition":                      func(r *Request) { r.Messages[0].Partition = make([]byte, 3) },
		"deletes files":                            func(r *Request) { r.Messages[0].Data.DeletedFiles = r.Messages[0].Data.NewFiles },
		"index files":                              func(r *Request) { r.Messages[0].Data.NewIndexFiles = make([]manifest.IndexFile, 1) },
	} {
		req := good()
		change(&req)
		for _, err := range []error{b.Check(t.Context(), req), publishError(t, b, req)} {
			require.ErrorIs(t, err, ErrRefused, want)
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, b.store.URI(tablePath))
		}
	}
	require.Empty(t, b.whole(t))
	require.Empty(t, b.orphans(t))
}

func TestSchemaChanges(t *testing.T) {
	evolve := func(b *bed, change func(s *schema.Table)) {
		s := *b.schema
		s.ID, s.Fields, s.Options = 1, slices.Clone(s.Fields), map[string]string{}
		change(&s)
		require.NoError(t, b.schemas.Create(t.Context(), &s))
	}
	t.Run("added column", func(t *testing.T) {
		b := emptyBed(t)
		req := b.request(snapshot.Append, 1, b.file(t, "a", 1))
		evolve(b, func(s *schema.Table) {
			s.Fields = append(s.Fields, schema.Field{ID: 3, Name: "more", Type: schema.StringType()})
			s.HighestFieldID = 3
		})
		require.NoError(t, b.Check(t.Context(), req))
		s, err := b.snapshots.Get(t.Context(), b.publish(t, req).Snapshot)
		require.NoError(t, err)
		require.Equal(t, schema.ID(1), s.SchemaID, "the latest at the commit, not the writer's")
		require.Equal(t, schema.ID(0), live(t, b.Committer, s)[0].File.SchemaID)
	})
	t.Run("dropped column", func(t *testing.T) {
		b := emptyBed(t)
		req := b.request(snapshot.Append, 1, b.file(t, "a", 1))
		evolve(b, func(s *schema.Table) { s.Fields = s.Fields[:2] })
		require.ErrorIs(t, b.Check(t.Context(), req), schema.ErrIncompatible)
		require.ErrorIs(t, publishError(t, b, req), ErrRefused)
		require.Empty(t, b.orphans(t))
	})
	t.Run("table made anew", func(t *testing.T) {
		b := emptyBed(t)
		req := b.request(snapshot.Append, 1, b.file(t, "a", 1))
		other := *b.schema
		other.TimeMillis++
		req.Planned = &other
		require.ErrorContains(t, b.Check(t.Context(), req), "made anew")
	})
	t.Run("dropped table", func(t *testing.T) {
		b := emptyBed(t)
		require.ErrorContains(t, New(b.store, "ods.db/none").Check(t.Context(), b.request(snapshot.Append, 1)), "there is no table here")
	})
	t.Run("key table", func(t *testing.T) {
		b := emptyBed(t)
		evolve(b, func(s *schema.Table) { s.Options["row-tracking.enabled"] = "true" })
		require.ErrorIs(t, b.Check(t.Context(), b.request(snapshot.Append, 1, b.file(t, "a", 1))), ErrRefused)
	})
}

// Partitions lie where Java looks for them: a DATE is its number of days.
func TestPartitionFolders(t *testing.T) {
	b := newBed(t, fileiotest.NewMemory(), nil, "day")
	m := b.file(t, "a", 1)
	m.Partition = row.Serialize([]schema.Type{schema.Of(schema.Date)}, []row.Value{{I64: 19723}})
	req := b.request(snapshot.Append, 1, m)
	require.ErrorContains(t, b.Check(t.Context(), req), "ods.db/orders/day=19723/bucket-0/a")
	require.NoError(t, fileio.WriteFile(t.Context(), b.store, "ods.db/orders/day=19723/bucket-0/a", make([]byte, 5)))
	require.NoError(t, b.Check(t.Context(), req))
}
