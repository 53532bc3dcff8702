package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Lake shows what lies in a warehouse and keeps its tables in order. It works on the storage itself.
type Lake struct {
	store    fileio.Store
	catalog  *catalog.Filesystem
	stores   *stores
	settings StoreSettings
}

// TableInfo is a table as one snapshot shows it.
type TableInfo struct {
	Table         string            `json:"table"`
	Location      string            `json:"location"`
	SchemaID      int64             `json:"schema_id"`
	Comment       string            `json:"comment,omitempty"`
	Columns       []ColumnInfo      `json:"columns"`
	PartitionKeys []string          `json:"partition_keys"`
	PrimaryKeys   []string          `json:"primary_keys"`
	Options       map[string]string `json:"options"`
	// Snapshot is the one shown, the latest unless another was asked for; nil when the table has none.
	Snapshot *SnapshotInfo `json:"snapshot"`
	// Snapshots is the number of those that have not expired.
	Snapshots int      `json:"snapshots"`
	Tags      []string `json:"tags"`
	// Rows, Files and Bytes are those of the snapshot's data files.
	Rows  int64 `json:"rows"`
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Sample has the rows asked for, each a canonical text by column, nil for a null.
	Sample []map[string]*string `json:"sample,omitempty"`
}

// ColumnInfo is a column of a table's schema.
type ColumnInfo struct {
	ID      int    `json:"id"`
	Name    string `json:"name"`
	Type    string `json:"type"`
	Comment string `json:"comment,omitempty"`
}

// SnapshotInfo is a snapshot.
type SnapshotInfo struct {
	ID         int64             `json:"id"`
	Kind       string            `json:"kind"`
	Time       time.Time         `json:"time"`
	User       string            `json:"user"`
	Identifier int64             `json:"identifier"`
	SchemaID   int64             `json:"schema_id"`
	Rows       int64             `json:"rows"`
	Delta      int64             `json:"delta_rows"`
	Watermark  *int64            `json:"watermark,omitempty"`
	Properties map[string]string `json:"properties,omitempty"`
}

// SnapshotsInfo are the snapshots of a table that have not expired, oldest first.
type SnapshotsInfo struct {
	Table     string         `json:"table"`
	Snapshots []SnapshotInfo `json:"snapshots"`
}

// FilesInfo are the data files that a snapshot shows. Snapshot is 0 when the table has none.
type FilesInfo struct {
	Table         string     `json:"table"`
	Snapshot      int64      `json:"snapshot"`
	PartitionKeys []string   `json:"partition_keys"`
	Files         []FileInfo `json:"files"`
}

// FileInfo is a data file.
type FileInfo struct {
	// Path is its full address.
	Path string `json:"path"`
	// Partition has a canonical text by partition key, nil for a null.
	Partition   map[string]*string `json:"partition,omitempty"`
	Bucket      int32              `json:"bucket"`
	Level       int32              `json:"level"`
	Rows        int64              `json:"rows"`
	Bytes       int64              `json:"bytes"`
	SchemaID    int64              `json:"schema_id"`
	MinSequence int64              `json:"min_sequence"`
	MaxSequence int64              `json:"max_sequence"`
}

// OpenLake opens a warehouse. The settings matter to one on a remote store alone; those that are zero are what the environment says.
func OpenLake(ctx context.Context, warehouse string, settings StoreSettings) (*Lake, error) {
	l := &Lake{stores: newStores(new(config.Masker)), settings: settings}
	var err error
	if l.store, err = l.stores.open(ctx, warehouse, settings); err != nil {
		return nil, fmt.Errorf("warehouse %s: %w", warehouse, err)
	}
	l.catalog = catalog.NewFilesystem(l.store)
	return l, nil
}

// ParseTable reads DATABASE.TABLE.
func ParseTable(name string) (database, table string, err error) {
	database, table, ok := strings.Cut(name, ".")
	if !ok {
		return "", "", fmt.Errorf("%q is no table's name: want DATABASE.TABLE, such as ods.orders", name)
	}
	if err := (catalog.Identifier{Database: database, Table: table}).Validate(); err != nil {
		return "", "", err
	}
	return database, table, nil
}

// opened is a table and what of it is looked at.
type opened struct {
	id        catalog.Identifier
	schema    *schema.Table
	snapshots *snapshot.Manager
	// snapshot is the one asked for, nil when the table has none.
	snapshot *snapshot.Snapshot
	all      []snapshot.ID
}

// find finds a table.
func (l *Lake) find(ctx context.Context, name string) (catalog.Identifier, *schema.Table, error) {
	database, table, err := ParseTable(name)
	if err != nil {
		return catalog.Identifier{}, nil, err
	}
	id := catalog.Identifier{Database: database, Table: table}
	s, err := l.catalog.LoadTable(ctx, id)
	if errors.Is(err, catalog.ErrNotExist) {
		err = l.noTable(ctx, id)
	}
	return id, s, err
}

// open finds a table at a snapshot, 0 being the latest. The schema is the latest, or the snapshot's when one was asked for.
func (l *Lake) open(ctx context.Context, name string, id int64) (*opened, error) {
	o := &opened{}
	var err error
	if o.id, o.schema, err = l.find(ctx, name); err != nil {
		return nil, err
	}
	folder := l.catalog.Path(o.id)
	o.snapshots = snapshot.NewManager(l.store, folder)
	if o.all, err = o.snapshots.List(ctx); err != nil {
		return nil, err
	}
	if id == 0 {
		if n := len(o.all); n > 0 {
			o.snapshot, err = o.snapshots.Get(ctx, o.all[n-1])
		}
		return o, err
	}
	if !slices.Contains(o.all, snapshot.ID(id)) {
		return nil, o.noSnapshot(id)
	}
	if o.snapshot, err = o.snapshots.Get(ctx, snapshot.ID(id)); err != nil {
		return nil, err
	}
	if o.snapshot.SchemaID != o.schema.ID {
		o.schema, err = snapshot.Schemas{Store: l.store, Table: folder}.Get(ctx, o.snapshot.SchemaID)
	}
	return o, err
}

// noSnapshot says which snapshots there are.
func (o *opened) noSnapshot(id int64) error {
	switch n := len(o.all); n {
	case 0:
		return fmt.Errorf("table %s has no snapshot %d: nothing has been committed yet, or its snapshots are gone", o.id, id)
	case 1:
		return fmt.Errorf("table %s has no snapshot %d: its only one is %d", o.id, id, o.all[0])
	default:
		return fmt.Errorf("table %s has no snapshot %d: its %d snapshots are between %d and %d", o.id, id, n, o.all[0], o.all[n-1])
	}
}

// noTable says which tables there are.
func (l *Lake) noTable(ctx context.Context, id catalog.Identifier) error {
	const suffix = ".db"
	folders, err := fileio.Folders(ctx, l.store, "")
	if err != nil {
		return fmt.Errorf("list the warehouse: %w", err)
	}
	slices.Sort(folders)
	var names []string
	for _, folder := range folders {
		database, ok := strings.CutSuffix(folder, suffix)
		if !ok {
			continue
		}
		tables, err := l.catalog.ListTables(ctx, database)
		if errors.Is(err, catalog.ErrName) {
			continue
		}
		if err != nil {
			return err
		}
		for _, t := range tables {
			names = append(names, catalog.Identifier{Database: database, Table: t}.String())
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no table %s: the warehouse %s has no table at all", id, l.store.URI(""))
	}
	return fmt.Errorf("there is no table %s: the warehouse %s has %s", id, l.store.URI(""), some(names))
}

// Table shows a table at a snapshot, 0 being the latest, with its first rows. Rows that cannot be read are an error only
// when some are asked for.
func (l *Lake) Table(ctx context.Context, name string, id int64, rows int) (*TableInfo, error) {
	o, err := l.open(ctx, name, id)
	if err != nil {
		return nil, err
	}
	folder := l.catalog.Path(o.id)
	info := &TableInfo{
		Table: o.id.String(), Location: l.store.URI(folder), SchemaID: int64(o.schema.ID), Comment: o.schema.Comment,
		PartitionKeys: list(o.schema.PartitionKeys), PrimaryKeys: list(o.schema.PrimaryKeys), Options: o.schema.Options,
		Snapshots: len(o.all),
	}
	for _, f := range o.schema.Fields {
		info.Columns = append(info.Columns, ColumnInfo{ID: f.ID, Name: f.Name, Type: f.Type.String(), Comment: f.Description})
	}
	tags, err := o.snapshots.Tags(ctx)
	if err != nil {
		return nil, err
	}
	info.Tags = list(tags)
	if o.snapshot == nil {
		return info, nil
	}
	s := snapshotInfo(o.snapshot)
	info.Snapshot = &s
	table := lake.NewTable(l.store, folder, o.schema)
	files, err := table.Files(ctx, o.snapshot.ID)
	if err != nil {
		return nil, err
	}
	for i := range files {
		info.Files++
		info.Rows += files[i].DataFile.Rows
		info.Bytes += files[i].DataFile.Size
	}
	info.Sample, err = sample(ctx, table, o.snapshot.ID, rows)
	return info, err
}

// list is never nil, so that it is a list in JSON.
func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// errEnough ends a scan early.
var errEnough = errors.New("enough rows")

func sample(ctx context.Context, t *lake.Table, id snapshot.ID, n int) ([]map[string]*string, error) {
	if n <= 0 {
		return nil, nil
	}
	fields := t.Schema().Fields
	rows := []map[string]*string{}
	err := t.Scan(ctx, lake.ScanOptions{Snapshot: id}, func(b *row.Batch) error {
		for i := range b.Rows {
			if len(rows) == n {
				return errEnough
			}
			r := make(map[string]*string, len(fields))
			for c, f := range fields {
				r[f.Name] = cell(f.Type, b.Columns[c].Value(i))
			}
			rows = append(rows, r)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return rows, nil
}

// cell is a value's canonical text, nil for a null.
func cell(t schema.Type, v row.Value) *string {
	if v.Null {
		return nil
	}
	text := row.Text(t, v)
	return &text
}

func snapshotInfo(s *snapshot.Snapshot) SnapshotInfo {
	return SnapshotInfo{
		ID: int64(s.ID), Kind: string(s.CommitKind), Time: time.UnixMilli(s.TimeMillis).UTC(), User: s.CommitUser,
		Identifier: s.CommitIdentifier, SchemaID: int64(s.SchemaID), Rows: s.TotalRecordCount, Delta: s.DeltaRecordCount,
		Watermark: s.Watermark, Properties: s.Properties,
	}
}

// Snapshots shows all snapshots of a table.
func (l *Lake) Snapshots(ctx context.Context, name string) (*SnapshotsInfo, error) {
	o, err := l.open(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	info := &SnapshotsInfo{Table: o.id.String(), Snapshots: []SnapshotInfo{}}
	if o.snapshot == nil {
		return info, nil
	}
	all, _, err := o.snapshots.Between(ctx, 0, o.snapshot.ID)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		info.Snapshots = append(info.Snapshots, snapshotInfo(s))
	}
	return info, nil
}

// Snapshot shows one snapshot of a table.
func (l *Lake) Snapshot(ctx context.Context, name string, id int64) (*SnapshotInfo, error) {
	o, err := l.open(ctx, name, id)
	if err != nil {
		return nil, err
	}
	if o.snapshot == nil {
		return nil, o.noSnapshot(id)
	}
	info := snapshotInfo(o.snapshot)
	return &info, nil
}

// Files shows the data files of a table at a snapshot, 0 being the latest, by path.
func (l *Lake) Files(ctx context.Context, name string, id int64) (*FilesInfo, error) {
	o, err := l.open(ctx, name, id)
	if err != nil {
		return nil, err
	}
	info := &FilesInfo{Table: o.id.String(), PartitionKeys: list(o.schema.PartitionKeys), Files: []FileInfo{}}
	if o.snapshot == nil {
		return info, nil
	}
	info.Snapshot = int64(o.snapshot.ID)
	types, err := o.schema.PartitionTypes()
	if err != nil {
		return nil, err
	}
	files, err := lake.NewTable(l.store, l.catalog.Path(o.id), o.schema).Files(ctx, o.snapshot.ID)
	if err != nil {
		return nil, err
	}
	for i := range files {
		f := &files[i]
		d := &f.DataFile
		out := FileInfo{
			Bucket: f.Bucket, Level: d.Level, Rows: d.Rows, Bytes: d.Size, SchemaID: int64(d.SchemaID),
			MinSequence: d.MinSequence, MaxSequence: d.MaxSequence,
		}
		if d.ExternalPath != nil {
			out.Path = *d.ExternalPath
		} else {
			out.Path = l.store.URI(f.Path)
		}
		for k, key := range o.schema.PartitionKeys {
			if out.Partition == nil {
				out.Partition = map[string]*string{}
			}
			out.Partition[key] = cell(types[k], f.Partition[k])
		}
		info.Files = append(info.Files, out)
	}
	slices.SortFunc(info.Files, func(a, b FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return info, nil
}
