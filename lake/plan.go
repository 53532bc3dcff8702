package lake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/predicate"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Plan says what a scan reads. Its splits hold the wanted rows, each once, and may be read in any order.
type Plan struct {
	// Snapshot that is read, 0 when the table has none.
	Snapshot snapshot.ID
	Splits   []Split
	// Skipped is the number of files that the snapshot shows in the wanted partitions and that are not read: they cannot hold
	// a wanted row, or wait for a compaction to be seen.
	Skipped int

	scan *scan
}

// Split is a part of a plan that can be read by itself.
type Split struct {
	// Partition has the values of the partition keys, in their order.
	Partition []row.Value
	Bucket    int32
	Files     []File
	// Merge tells that rows of the files are merged by key: the files hold all that the snapshot has of these keys.
	Merge bool
}

// scan is one reading of a table.
type scan struct {
	table    *Table
	versions *versions
	where    *predicate.Predicate // bound to all fields
	// partition and key are what the condition says of the partition keys and the trimmed primary key.
	partition, key *predicate.Predicate
	bucket         *bucketFilter
	// raw is how files are read whose rows are the table's, merged how those are whose rows must be merged by spec.
	raw, merged           *projection
	rawWhere, mergedWhere *predicate.Predicate
	spec                  *mergetree.Spec
	// unmergeable says why there is no spec.
	unmergeable error
	deletions   *deletions
	// hidden tells that files of level 0 are not seen before they are compacted.
	hidden bool
}

// Plan chooses what a scan has to read. For a table without a snapshot that is nothing.
func (t *Table) Plan(ctx context.Context, o ScanOptions) (*Plan, error) {
	s, err := t.newScan(o)
	if err != nil {
		return nil, fmt.Errorf("scan %s: %w", t.store.URI(t.path), err)
	}
	p := &Plan{scan: s}
	var snap *snapshot.Snapshot
	switch {
	case o.Tag == "":
		snap, err = t.snapshot(ctx, o.Snapshot)
	case o.Snapshot != 0:
		err = fmt.Errorf("scan %s: snapshot %d and tag %s exclude each other", t.store.URI(t.path), o.Snapshot, o.Tag)
	default:
		snap, err = snapshot.NewManager(t.store, t.path).Tag(ctx, o.Tag)
	}
	if err != nil || snap == nil {
		return p, err
	}
	p.Snapshot = snap.ID
	if s.deletions, err = t.deletionsOf(ctx, snap); err != nil {
		return nil, err
	}
	files, err := p.choose(ctx, snap)
	if err != nil {
		return nil, err
	}
	if err := p.split(ctx, files); err != nil {
		return nil, fmt.Errorf("scan %s: %w", t.store.URI(t.path), err)
	}
	return p, nil
}

func (t *Table) newScan(o ScanOptions) (*scan, error) {
	for _, c := range []struct{ option, harmless, why string }{
		{"data-evolution.enabled", "false", "tables whose files must be joined"},
		{"record-level.expire-time", "", "tables whose rows vanish by their age"},
	} {
		if v, ok := t.schema.Options[c.option]; ok && !strings.EqualFold(v, c.harmless) {
			return nil, fmt.Errorf("%s = %s: %s %w", c.option, v, c.why, ErrNotReadable)
		}
	}
	var wanted []schema.Field
	for _, name := range o.Columns {
		f, ok := t.schema.Field(name)
		if !ok {
			return nil, fmt.Errorf("the table has no column %q", name)
		}
		wanted = append(wanted, f)
	}
	if len(o.Columns) == 0 {
		wanted = t.schema.Fields
	}
	s := &scan{table: t, versions: newVersions(t)}
	var err error
	if s.where, err = predicate.Bind(t.schema.Fields, o.Where); err != nil {
		return nil, err
	}
	s.partition = s.where.Project(t.fieldsOf(t.schema.PartitionKeys))
	s.key = s.where.Project(t.fieldsOf(t.schema.TrimmedPrimaryKey()))
	if s.bucket, err = newBucketFilter(t, s.where); err != nil {
		return nil, err
	}
	if s.raw, s.rawWhere, err = t.project(nil, nil, wanted, o.Where, s.where); err != nil {
		return nil, err
	}
	if len(t.schema.PrimaryKeys) > 0 {
		err = s.mergeBy(wanted, o.Where)
	}
	return s, err
}

// fieldsOf are the named columns in the order of the names.
func (t *Table) fieldsOf(names []string) []schema.Field {
	var fields []schema.Field
	for _, name := range names {
		f, _ := t.schema.Field(name)
		fields = append(fields, f)
	}
	return fields
}

// project reads the wanted columns, those that the condition looks at, and others that are needed.
func (t *Table) project(system []schema.Field, needed []string, wanted []schema.Field, c predicate.Condition, where *predicate.Predicate) (*projection, *predicate.Predicate, error) {
	for _, f := range wanted {
		needed = append(needed, f.Name)
	}
	for _, i := range where.Columns() {
		needed = append(needed, t.schema.Fields[i].Name)
	}
	fields := slices.DeleteFunc(slices.Clone(t.schema.Fields), func(f schema.Field) bool { return !slices.Contains(needed, f.Name) })
	bound, err := predicate.Bind(fields, c)
	return newProjection(t, system, fields, wanted), bound, err
}

// mergeBy prepares to merge rows of a key table, of which keys and what orders rows must be read beside what is wanted.
func (s *scan) mergeBy(wanted []schema.Field, c predicate.Condition) error {
	t := s.table.schema
	set := func(option string) bool { return strings.EqualFold(t.Options[option], "true") }
	s.hidden = set("deletion-vectors.enabled") && !set("deletion-vectors.merge-on-read")
	whole, err := mergetree.SpecOf(t)
	if err != nil {
		// Files that need no merging may be read all the same.
		s.unmergeable = fmt.Errorf("rows of a key table that must be merged %w: %w", ErrNotReadable, err)
		return nil
	}
	s.hidden = s.hidden || whole.Engine == mergetree.FirstRow
	needed := t.TrimmedPrimaryKey()
	for _, i := range whole.Sequence {
		needed = append(needed, t.Fields[i].Name)
	}
	if s.merged, s.mergedWhere, err = s.table.project(whole.Fields()[:mergetree.ValueColumns], needed, wanted, c, s.where); err != nil {
		return err
	}
	some := *t
	some.Fields = s.merged.fields
	s.spec, err = mergetree.SpecOf(&some)
	return err
}

// choose lists the files of a snapshot that may hold a wanted row.
func (p *Plan) choose(ctx context.Context, snap *snapshot.Snapshot) ([]File, error) {
	s := p.scan
	var files []File
	rows := int64(0)
	err := s.table.eachFile(ctx, snap, s.filter(), func(f *File) error {
		rows += f.DataFile.Rows
		keep, err := s.mayHold(ctx, f)
		if err != nil {
			return fmt.Errorf("data file %s: %w", f.DataFile.Name, err)
		}
		if !keep {
			p.Skipped++
			return nil
		}
		files = append(files, *f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if s.partition.Always() && rows != snap.TotalRecordCount {
		return nil, fmt.Errorf("scan %s: %w: snapshot %d shows %d rows, its files hold %d",
			s.table.store.URI(s.table.path), manifest.ErrCorrupt, snap.ID, snap.TotalRecordCount, rows)
	}
	return files, nil
}

// split divides the chosen files into what can be read apart.
func (p *Plan) split(ctx context.Context, files []File) error {
	if len(p.scan.table.schema.PrimaryKeys) == 0 {
		for i := range files {
			p.add(files[i:i+1], false)
		}
		return nil
	}
	types, err := p.scan.table.schema.PartitionTypes()
	if err != nil {
		return err
	}
	var order []string
	buckets := map[string][]File{}
	for i := range files {
		key := string(bucketKey(nil, row.Serialize(types, files[i].Partition), files[i].Bucket))
		if buckets[key] == nil {
			order = append(order, key)
		}
		buckets[key] = append(buckets[key], files[i])
	}
	for _, key := range order {
		if err := p.splitBucket(ctx, buckets[key]); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) add(files []File, merge bool) {
	p.Splits = append(p.Splits, Split{Partition: files[0].Partition, Bucket: files[0].Bucket, Files: files, Merge: merge})
}

// splitBucket divides the files of a bucket of a key table (org.apache.paimon.table.source.MergeTreeSplitGenerator).
func (p *Plan) splitBucket(ctx context.Context, files []File) error {
	s := p.scan
	withDeletes := func(f File) bool { return orZero(f.DataFile.DeleteRows) > 0 }
	if s.hidden && !slices.ContainsFunc(files, withDeletes) {
		// What the levels above 0 show has no key in common: compactions have seen to it.
		for i := range files {
			if err := p.addRaw(ctx, files[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	types, err := s.table.schema.Types(s.table.schema.TrimmedPrimaryKey())
	if err != nil {
		return err
	}
	parts, err := sections(files, types, func(id schema.ID) (*schema.Table, error) { return s.versions.get(ctx, id) })
	if err != nil {
		return err
	}
	for _, section := range parts {
		var all []File
		for _, r := range section {
			all = append(all, r...)
		}
		if len(all) == 1 && !withDeletes(all[0]) {
			err = p.addRaw(ctx, all)
		} else {
			err = p.addMerge(ctx, all)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addRaw adds a file whose rows are the table's, unless no wanted one is among them.
func (p *Plan) addRaw(ctx context.Context, file []File) error {
	may, err := p.scan.mayMatchValues(ctx, &file[0])
	switch {
	case err != nil:
		return err
	case !may:
		p.Skipped++
	default:
		p.add(file, false)
	}
	return nil
}

// addMerge adds files whose rows must be merged, unless none of them has a wanted row: then no merged row is wanted, as
// each is one of theirs. A partial update may bring values of several rows together, so that this does not hold there.
func (p *Plan) addMerge(ctx context.Context, files []File) error {
	if p.scan.unmergeable != nil {
		return p.scan.unmergeable
	}
	may := p.scan.spec.Engine == mergetree.PartialUpdate
	for i := range files {
		if may {
			break
		}
		var err error
		if may, err = p.scan.mayMatchValues(ctx, &files[i]); err != nil {
			return err
		}
	}
	if !may {
		p.Skipped += len(files)
		return nil
	}
	p.add(files, true)
	return nil
}

// open opens the files of a split.
func (s *scan) open(ctx context.Context, sp *Split) (mergetree.Source, *output, error) {
	if !sp.Merge {
		rows, err := s.openFile(ctx, s.raw, &sp.Files[0])
		return rows, &output{p: s.raw, where: s.rawWhere}, err
	}
	parts, err := sections(sp.Files, s.spec.KeyTypes(), func(id schema.ID) (*schema.Table, error) { return s.versions.get(ctx, id) })
	if err != nil {
		return nil, nil, err
	}
	if len(parts) != 1 {
		return nil, nil, fmt.Errorf("%w: files that are merged together have no key in common", manifest.ErrCorrupt)
	}
	rows := mergeRuns(s.spec, parts[0], mergetree.MergeOptions{DropDeletes: true}, func(ctx context.Context, f *File) (mergetree.Source, error) {
		return s.openFile(ctx, s.merged, f)
	})
	return rows, &output{p: s.merged, where: s.mergedWhere}, nil
}

// openFile opens a file to read those of its rows that are not deleted.
func (s *scan) openFile(ctx context.Context, p *projection, f *File) (mergetree.Source, error) {
	written, err := s.versions.get(ctx, f.DataFile.SchemaID)
	if err != nil {
		return nil, err
	}
	deleted, err := s.deletions.of(ctx, f)
	if err != nil {
		return nil, err
	}
	return p.open(ctx, f, written, deleted)
}
