package commit

import (
	"slices"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// changes are what a request's messages ask for (org.apache.paimon.operation.commit.ManifestEntryChanges). The files that an
// Overwrite takes away are not among them: those depend on the table as it is when it is published.
type changes struct {
	table     []manifest.Entry
	changelog []manifest.Entry
}

// changesOf reads the increment of the messages that the request's kind publishes.
func changesOf(req *Request, table *schema.Table, o options) changes {
	var c changes
	add := func(to *[]manifest.Entry, kind manifest.Kind, m *message.Commit, files []manifest.DataFile) {
		for i := range files {
			*to = append(*to, manifest.Entry{
				Kind: kind, Partition: m.Partition, Bucket: m.Bucket, TotalBuckets: totalBuckets(m, o), File: files[i],
			})
		}
	}
	for _, m := range req.Messages {
		switch req.Kind {
		case snapshot.Compact:
			add(&c.table, manifest.Delete, m, m.Compact.Before)
			add(&c.table, manifest.Add, m, m.Compact.After)
			add(&c.changelog, manifest.Add, m, m.Compact.ChangelogFiles)
		case snapshot.Overwrite: // readers of changes skip overwrites, so changelog files would be read by nobody
			add(&c.table, manifest.Add, m, m.Data.NewFiles)
		default:
			add(&c.table, manifest.Add, m, m.Data.NewFiles)
			add(&c.changelog, manifest.Add, m, m.Data.ChangelogFiles)
		}
	}
	if req.Kind == snapshot.Overwrite && o.upgrade && len(table.PrimaryKeys) > 0 {
		upgrade(c.table, newKeyOrder(table), o.topLevel)
	}
	return c
}

// totalBuckets is the message's number of buckets, the table's where the message's release had none.
func totalBuckets(m *message.Commit, o options) int32 {
	if m.TotalBuckets != nil {
		return *m.TotalBuckets
	}
	return o.buckets
}

// upgrade lifts the files of an overwrite to the top level, where readers need not merge them, if that is true of all: level
// 0 and no two of a bucket overlap (FileStoreCommitImpl, option overwrite-upgrade).
func upgrade(entries []manifest.Entry, order *keyOrder, top int32) {
	for i := range entries {
		if entries[i].File.Level != 0 || entries[i].Bucket < 0 {
			return
		}
	}
	if _, _, overlap := order.overlap(entries); overlap {
		return
	}
	for i := range entries {
		entries[i].File.Level = top
	}
}

// keyOrder compares the keys of files of a key table.
type keyOrder struct{ types []schema.Type }

func newKeyOrder(t *schema.Table) *keyOrder {
	types, err := t.Types(t.TrimmedPrimaryKey())
	if err != nil {
		types = nil // a schema that was read or made has no key without a column
	}
	return &keyOrder{types}
}

func (o *keyOrder) compare(a, b []byte) (int, error) {
	x, err := row.Deserialize(o.types, a)
	if err != nil {
		return 0, err
	}
	y, err := row.Deserialize(o.types, b)
	if err != nil {
		return 0, err
	}
	for i, t := range o.types {
		if c := row.Compare(t, x[i], y[i]); c != 0 {
			return c, nil
		}
	}
	return 0, nil
}

// overlap returns two files of one partition, bucket and level whose ranges of keys meet. Keys must be readable: checkKeys.
func (o *keyOrder) overlap(entries []manifest.Entry) (a, b *manifest.Entry, found bool) {
	type place struct {
		partition     string
		bucket, level int32
	}
	groups := map[place][]*manifest.Entry{}
	for i := range entries {
		e := &entries[i]
		at := place{string(e.Partition), e.Bucket, e.File.Level}
		groups[at] = append(groups[at], e)
	}
	for _, group := range groups {
		slices.SortFunc(group, func(a, b *manifest.Entry) int {
			c, _ := o.compare(a.File.MinKey, b.File.MinKey)
			return c
		})
		for i := 1; i < len(group); i++ {
			if c, _ := o.compare(group[i-1].File.MaxKey, group[i].File.MinKey); c >= 0 {
				return group[i-1], group[i], true
			}
		}
	}
	return nil, nil, false
}
