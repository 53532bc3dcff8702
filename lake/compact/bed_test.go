package compact_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/compact"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

const tablePath = "db.db/t"

// bed is a table of the columns id, part and text, and a job that writes to it.
type bed struct {
	*testing.T
	store fileio.Store
	table *lake.Table
	made  int
}

// rowOf is a row of a bed's table.
type rowOf struct {
	id   int
	part int
	text string
	kind row.Kind
}

func newBed(t *testing.T, keys, partitions []string, options map[string]string) *bed {
	t.Helper()
	s, err := schema.New(schema.Spec{
		Fields: []schema.Field{
			{Name: "id", Type: schema.Of(schema.Int)}, {Name: "part", Type: schema.Of(schema.Int)}, {Name: "text", Type: schema.StringType()},
		},
		PrimaryKeys: keys, PartitionKeys: partitions, Options: options,
	})
	require.NoError(t, err)
	b := &bed{T: t, store: fileiotest.NewMemory()}
	require.NoError(t, snapshot.Schemas{Store: b.store, Table: tablePath}.Create(t.Context(), s))
	b.table = lake.NewTable(b.store, tablePath, s)
	return b
}

// moveTo gives the bed another store, in which the table begins anew.
func (b *bed) moveTo(store fileio.Store) {
	b.Helper()
	require.NoError(b, snapshot.Schemas{Store: store, Table: tablePath}.Create(b.Context(), b.table.Schema()))
	b.store = store
	b.table = lake.NewTable(store, tablePath, b.table.Schema())
}

// alter changes the schema under which the bed writes and reads.
func (b *bed) alter(changes ...schema.Change) {
	b.Helper()
	s, err := snapshot.Schemas{Store: b.store, Table: tablePath}.Alter(b.Context(), changes...)
	require.NoError(b, err)
	b.table = lake.NewTable(b.store, tablePath, s)
}

// write commits rows as one snapshot. Columns that were added are the text again.
func (b *bed) write(rows ...rowOf) {
	b.Helper()
	b.made++
	w, err := b.table.NewWriter(lake.WriterOptions{
		Prefix: fmt.Sprintf("data-%d-", b.made), ChangelogPrefix: fmt.Sprintf("changelog-%d-", b.made),
	})
	require.NoError(b, err)
	batch := row.NewBatch(row.Types(b.table.Schema().Fields))
	var kinds []row.Kind
	for _, r := range rows {
		for i, f := range b.table.Schema().Fields {
			switch f.Name {
			case "id":
				batch.Columns[i].Append(row.Value{I64: int64(r.id)})
			case "part":
				batch.Columns[i].Append(row.Value{I64: int64(r.part)})
			default:
				if r.text == "" {
					batch.Columns[i].Append(row.NullValue())
				} else {
					batch.Columns[i].AppendBytes([]byte(r.text))
				}
			}
		}
		kinds = append(kinds, r.kind)
		batch.Rows++
	}
	require.NoError(b, w.WriteKinds(b.Context(), batch, kinds))
	messages, err := w.Close(b.Context())
	require.NoError(b, err)
	_, err = b.table.Committer().Publish(b.Context(), commit.Request{
		User: "job", Identifier: int64(b.made), Kind: snapshot.Append, Messages: messages, Planned: b.table.Schema(), Base: b.latest(),
	})
	require.NoError(b, err)
}

func (b *bed) latest() snapshot.ID {
	b.Helper()
	id, err := snapshot.NewManager(b.store, tablePath).LatestID(b.Context())
	require.NoError(b, err)
	return id
}

// rows of the latest snapshot, or of another, in the order of the scan.
func (b *bed) rows(id snapshot.ID) []string {
	b.Helper()
	var lines []string
	require.NoError(b, b.table.Scan(b.Context(), lake.ScanOptions{Snapshot: id}, func(batch *row.Batch) error {
		for i := range batch.Rows {
			var parts []string
			for c, f := range b.table.Schema().Fields {
				if v := batch.Columns[c].Value(i); v.Null {
					parts = append(parts, "null")
				} else {
					parts = append(parts, row.Text(f.Type, v))
				}
			}
			lines = append(lines, strings.Join(parts, " "))
		}
		return nil
	}))
	return lines
}

func (b *bed) sorted(id snapshot.ID) []string {
	b.Helper()
	return slices.Sorted(slices.Values(b.rows(id)))
}

// files of the latest snapshot by partition and bucket, each in the order of sequence numbers.
func (b *bed) files() map[string][]lake.File {
	b.Helper()
	list, err := b.table.Files(b.Context(), 0)
	require.NoError(b, err)
	all := map[string][]lake.File{}
	for _, f := range list {
		key := strings.TrimPrefix(path.Dir(f.Path), tablePath+"/")
		all[key] = append(all[key], f)
	}
	for _, files := range all {
		slices.SortFunc(files, func(a, b lake.File) int { return int(a.DataFile.MinSequence - b.DataFile.MinSequence) })
	}
	return all
}

func (b *bed) folders() []string { return slices.Sorted(maps.Keys(b.files())) }

// onDisk are the names of all data files that the store has.
func (b *bed) onDisk() []string {
	b.Helper()
	var list []string
	require.NoError(b, b.store.List(b.Context(), tablePath, func(i fileio.Info) error {
		if strings.HasPrefix(path.Base(path.Dir(i.Path)), "bucket-") {
			list = append(list, path.Base(i.Path))
		}
		return nil
	}))
	slices.Sort(list)
	return list
}

func (b *bed) run(o compact.Options) compact.Result {
	b.Helper()
	b.made++
	r, err := compact.Run(b.Context(), b.store, tablePath, "compactor", int64(b.made), o)
	require.NoError(b, err)
	return *r
}
