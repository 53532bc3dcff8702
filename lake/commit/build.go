package commit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// delta is what a commit changes, written as manifests and their list.
type delta struct {
	list manifest.List
	rows int64
	// changelog is the list of changelog files, nil without any, and changelogRows the number of their rows.
	changelog     *manifest.List
	changelogRows int64
	// files are the names of all metadata files begun for it.
	files []string
}

// draft is a snapshot that is ready to be published, and the metadata files that only it names.
type draft struct {
	snapshot *snapshot.Snapshot
	delta    *delta
	files    []string
}

// builder writes the metadata of a request's snapshot.
type builder struct {
	c      *Committer
	req    *Request
	kind   snapshot.Kind // of the snapshot
	names  *manifest.Names
	schema *schema.Table // the table's latest
	before *snapshot.Snapshot
	// recorded tells that the request's files are in the table, so that its snapshot only says whose they are.
	recorded bool
	options  options
	types    []schema.Type
}

// build writes everything that the snapshot after `before` names. The delta of an earlier try is used again when it is
// given. The draft is returned with an error too: its files have to be removed.
func (b *builder) build(ctx context.Context, again *delta) (*draft, error) {
	d := &draft{delta: again}
	var err error
	if b.options, err = optionsOf(b.schema); err != nil {
		return d, err
	}
	if b.types, err = b.schema.PartitionTypes(); err != nil {
		return d, err
	}
	metas, err := manifestsOf(ctx, b.c.manifests, b.before)
	if err != nil {
		return d, err
	}
	base, err := b.writeBase(ctx, d, metas)
	if err != nil {
		return d, err
	}
	if d.delta == nil {
		d.delta = &delta{}
		if err := b.writeDelta(ctx, d.delta, metas); err != nil {
			return d, err
		}
	}
	d.snapshot = b.snapshot(ctx, base, d.delta)
	if d.snapshot.TotalRecordCount < 0 {
		return d, fmt.Errorf("%w: snapshot %d says that it has %d rows, its manifests more", manifest.ErrCorrupt, b.before.ID, b.before.TotalRecordCount)
	}
	return d, nil
}

// writeBase writes the list of all manifests before this commit, merged where that pays.
func (b *builder) writeBase(ctx context.Context, d *draft, metas []manifest.FileMeta) (manifest.List, error) {
	m := &merger{folder: b.c.manifests, names: b.names, partition: b.types, options: b.options}
	merged, err := m.merge(ctx, metas)
	d.files = append(d.files, m.written...)
	if err != nil {
		return manifest.List{}, err
	}
	name := b.names.List()
	d.files = append(d.files, name)
	return b.c.manifests.WriteList(ctx, name, merged)
}

// writeDelta writes the entries of the commit: for an overwrite a deletion of every file there is, then the additions.
func (b *builder) writeDelta(ctx context.Context, d *delta, metas []manifest.FileMeta) error {
	changes := changesOf(b.req, b.schema, b.options)
	if b.recorded {
		changes.table, changes.changelog = nil, nil
	}
	var err error
	d.list, err = b.writeEntries(ctx, d, func(w *manifest.Writer) error {
		if err := b.takeAway(ctx, w, d, metas); err != nil {
			return err
		}
		return appendAll(ctx, w, changes.table, &d.rows)
	})
	if err != nil || len(changes.changelog) == 0 {
		return err
	}
	list, err := b.writeEntries(ctx, d, func(w *manifest.Writer) error {
		return appendAll(ctx, w, changes.changelog, &d.changelogRows)
	})
	d.changelog = &list
	return err
}

// writeEntries writes what fill appends as manifests, and their list.
func (b *builder) writeEntries(ctx context.Context, d *delta, fill func(*manifest.Writer) error) (manifest.List, error) {
	w := b.c.manifests.NewWriter(b.names.Manifest, b.types, b.options.target)
	err := fill(w)
	var made []manifest.FileMeta
	if err == nil {
		made, err = w.Finish(ctx)
	}
	d.files = append(d.files, w.Written()...)
	if err != nil {
		return manifest.List{}, err
	}
	name := b.names.List()
	d.files = append(d.files, name)
	return b.c.manifests.WriteList(ctx, name, made)
}

// takeAway deletes the live files that an overwrite replaces.
func (b *builder) takeAway(ctx context.Context, w *manifest.Writer, d *delta, metas []manifest.FileMeta) error {
	if b.kind != snapshot.Overwrite || b.recorded {
		return nil
	}
	layout, err := partition.LayoutOf(b.c.table, b.schema)
	if err != nil {
		return err
	}
	within, err := scopeOf(b.req, layout)
	if err != nil {
		return err
	}
	return b.c.manifests.Live(ctx, metas, within.entries(), func(e *manifest.Entry) error {
		gone := *e
		gone.Kind = manifest.Delete
		d.rows -= e.File.Rows
		return w.Append(ctx, &gone)
	})
}

// appendAll writes entries and counts their rows.
func appendAll(ctx context.Context, w *manifest.Writer, entries []manifest.Entry, rows *int64) error {
	for i := range entries {
		if entries[i].Kind == manifest.Add {
			*rows += entries[i].File.Rows
		} else {
			*rows -= entries[i].File.Rows
		}
		if err := w.Append(ctx, &entries[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) snapshot(ctx context.Context, base manifest.List, d *delta) *snapshot.Snapshot {
	var nextRowID int64
	s := &snapshot.Snapshot{
		Version: snapshot.FormatVersion, ID: 1, SchemaID: b.schema.ID,
		BaseManifestList: base.Name, BaseManifestListSize: &base.Size,
		DeltaManifestList: d.list.Name, DeltaManifestListSize: &d.list.Size,
		CommitUser: b.req.User, CommitIdentifier: b.req.Identifier, CommitKind: b.kind, TimeMillis: nowMillis(b.before),
		TotalRecordCount: d.rows, DeltaRecordCount: d.rows,
		Watermark: b.req.Watermark, Properties: maps.Clone(b.req.Properties), NextRowID: &nextRowID,
	}
	if d.changelog != nil {
		s.ChangelogManifestList, s.ChangelogManifestListSize = d.changelog.Name, &d.changelog.Size
		s.ChangelogRecordCount = &d.changelogRows
	}
	if b.before == nil {
		return s
	}
	s.ID = b.before.ID + 1
	s.TotalRecordCount += b.before.TotalRecordCount
	if b.before.NextRowID != nil {
		s.NextRowID = b.before.NextRowID
	}
	if before := b.before.Watermark; before != nil && (s.Watermark == nil || *s.Watermark < *before) {
		s.Watermark = before
	}
	if b.kind != snapshot.Overwrite {
		s.IndexManifest = b.before.IndexManifest // an overwrite of the whole table leaves nothing that is indexed
	}
	if b.statisticsFit(ctx) {
		s.Statistics = b.before.Statistics
	}
	return s
}

// statisticsFit tells whether the statistics of the snapshot before are of the schema that the new one has. Without them
// a reader only plans worse, so a file that cannot be read is left behind.
func (b *builder) statisticsFit(ctx context.Context) bool {
	if b.before.Statistics == "" {
		return false
	}
	data, err := fileio.ReadFile(ctx, b.c.store, path.Join(b.c.table, "statistics", b.before.Statistics), 16<<20)
	if err != nil {
		return false
	}
	var statistics struct {
		SchemaID *schema.ID `json:"schemaId"`
	}
	return json.Unmarshal(data, &statistics) == nil && statistics.SchemaID != nil && *statistics.SchemaID == b.schema.ID
}
