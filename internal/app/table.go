package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/deletes"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql"
)

// spec is a logical table as activities see it.
func spec(job *config.Job, t *config.Table) activities.TableSpec {
	s := activities.TableSpec{
		Job: job.Name, Name: t.Name, Warehouse: root(job.Target.Warehouse),
		Target:        catalog.Identifier{Database: t.Target.Database, Table: t.Target.Table},
		PartitionKeys: t.Target.Partition, Options: tableOptions(t.Target),
		PrimaryKey: t.PrimaryKey,
		LastWins:   t.OnKeyCollision == config.LastWins,
		Overwrite:  t.Mode == config.FullRefresh && t.DetectDeletes == config.NoDeletes,
		Deletes: deletes.Spec{
			Column: t.SoftDelete.Column, Value: t.SoftDelete.Value.Text, Compare: t.DetectDeletes == config.CompareKeys, Refresh: t.Mode == config.FullRefresh,
		},
		ReplaceForeign: t.OnConflict == config.ReplaceOnConflict,
		EmptyTarget:    t.EmptySource == config.EmptyTarget,
		Checksums:      job.Run.Verify == config.VerifyChecksums || job.Run.Verify == config.VerifySource,
		SourceSums:     job.Run.Verify == config.VerifySource,
		Retention:      job.Run.Retention,
		Where:          t.Where,
		Watermark:      t.Watermark.Column,
		Drift:          source.DriftPolicy(t.Drift),
		Memory:         int64(job.Run.Memory),
		RowGroupBytes:  rowGroup(int64(job.Run.Memory), job.Run.Parallelism),
		SortBytes:      sortBytes(int64(job.Run.Memory), job.Run.Parallelism),
		Parallelism:    job.Run.Parallelism,

		SerializerVersion: int(job.Target.SerializerVersion),
		Limits: activities.Limits{
			Parallelism: job.Run.Parallelism, Memory: int64(job.Run.Memory),
			RowsPerSecond: job.Source.Limits.RowsPerSecond, BytesPerSecond: int64(job.Source.Limits.BytesPerSecond),
		},
	}
	if t.Split.Count == 0 {
		s.PackRows = t.Split.Rows
	}
	return s
}

// tableOptions are the options of a target that is created.
func tableOptions(t config.TableTarget) map[string]string {
	if t.Bucket == schema.BucketUnaware {
		return t.Options
	}
	options := map[string]string{schema.OptionBucket: strconv.Itoa(t.Bucket)}
	maps.Copy(options, t.Options)
	return options
}

// root writes an address in one way: what holds runs of one table apart is derived from it, so two spellings of one
// folder must not be two warehouses. A symbolic link is another name, not another spelling.
func root(uri string) string {
	if inS3(uri) || inHDFS(uri) {
		return remoteRoot(uri)
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "" && u.Scheme != "file" {
		return uri
	}
	if u.Scheme == "" {
		return "file://" + path.Clean(uri)
	}
	return "file://" + path.Clean(u.Path)
}

// rowGroup divides the memory of a run among its writers. A row group is what a writer holds before it can write it
// out; an eighth leaves room for pages being filled, batches on the way and the garbage collector.
func rowGroup(memory int64, parallelism int) int {
	const least, most = 4 << 20, 16 << 20
	return int(min(max(memory/int64(parallelism)/8, least), most))
}

// sortBytes is the part of an activity's memory that rows of key tables take to be sorted. As much again is taken by their
// keys' growing and by what is written meanwhile, and as much by the garbage collector.
func sortBytes(memory int64, parallelism int) int {
	const least, most = 8 << 20, 256 << 20
	return int(min(max(memory/int64(parallelism)/4, least), most))
}

// tableSource reads one logical table from the instances of a job.
type tableSource struct {
	shared *sharedSource
	masker *config.Masker
	job    *config.Job
	table  *config.Table
	// notes of the last discovery are told with the merge of what it found.
	notes []string
}

// Discover finds the shards.
func (s *tableSource) Discover(ctx context.Context) ([]source.Table, error) {
	src, err := s.shared.get(ctx, s.masker, s.job)
	if err != nil {
		return nil, err
	}
	databases := map[string]config.Pattern{}
	for _, in := range s.job.Source.Instances {
		databases[in.Name] = in.Databases
	}
	types := s.table.Types
	asked, err := columnTypes(s.table)
	if err != nil {
		return nil, err
	}
	out, err := newExclusion(s.table.Exclude)
	if err != nil {
		return nil, err
	}
	found, err := src.Discover(ctx, mysql.Selection{
		Databases: func(instance, database string) bool { return databases[instance].Match(database) },
		Tables:    s.table.Match.Match,
		Exclude:   out.match,
		Policy: mysql.Policy{
			TinyInt1: mysql.TinyInt1(types.TinyInt1), Time: mysql.Time(types.Time),
			ZeroDate: source.ZeroDate(types.ZeroDate), DecimalOverflow: mysql.DecimalOverflow(types.DecimalOverflow),
			ZeroDateColumns: zeroDates(types.ZeroDateColumns), Types: asked,
		},
	})
	if errors.Is(err, source.ErrRefused) {
		err = fmt.Errorf("%w: table %s: %w", activities.ErrPlanRefused, s.table.Name, err)
	}
	if err != nil {
		return nil, err
	}
	if len(found.Tables) == 0 {
		return nil, s.nothing(found)
	}
	s.notes = out.notes()
	if err := s.summable(ctx, src, found.Tables); err != nil {
		return nil, err
	}
	return found.Tables, s.unmatched(found)
}

// summable refuses tables that verify: source cannot compare, as their rows change while they are read.
func (s *tableSource) summable(ctx context.Context, src *mysql.Source, tables []source.Table) error {
	if s.job.Run.Verify != config.VerifySource {
		return nil
	}
	err := src.CheckSnapshots(ctx, tables)
	if errors.Is(err, source.ErrDenied) {
		err = fmt.Errorf("%w: verify: source: %w", activities.ErrPlanRefused, err)
	}
	return err
}

// zeroDates are the choices for single columns, by column in lower case, as MySQL's names have no case.
func zeroDates(choices config.ZeroDates) map[string]source.ZeroDate {
	out := map[string]source.ZeroDate{}
	for column, choice := range choices {
		out[strings.ToLower(column)] = source.ZeroDate(choice)
	}
	return out
}

// provenance is what the source knows of the columns that names fill. The job's types are types of the lake.
func provenance(p config.Provenance) (source.Provenance, error) {
	out := source.Provenance{Instance: p.Instance, Database: p.Database, Table: p.Table}
	for _, c := range p.Columns {
		kind, err := schema.ParseType(string(c.Type))
		if err != nil {
			return out, fmt.Errorf("%w: type of provenance column %s: %w", activities.ErrConfig, c.Name, err)
		}
		out.Derived = append(out.Derived, source.Derived{Name: c.Name, From: source.Origin(c.From), Pattern: c.Pattern, Type: kind})
	}
	return out, nil
}

// columnTypes are the types that the job asks for, by column in lower case, as MySQL's names have no case.
func columnTypes(t *config.Table) (map[string]schema.Type, error) {
	asked := map[string]schema.Type{}
	texts := map[string]string{}
	for _, c := range t.Columns {
		name := strings.ToLower(c.Name)
		if before, ok := texts[name]; ok && before != c.Type {
			return nil, fmt.Errorf("%w: table %s: column %s is selected twice, with the types %q and %q: give it one", activities.ErrConfig, t.Name, c.Name, before, c.Type)
		}
		texts[name] = c.Type
		if c.Type == "" {
			continue
		}
		parsed, err := schema.ParseType(c.Type)
		if err == nil && parsed.Nested() {
			err = fmt.Errorf("%s is no type of a column of MySQL", c.Type)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: table %s: type of column %s: %w", activities.ErrConfig, t.Name, c.Name, err)
		}
		asked[name] = parsed
	}
	return asked, nil
}

// unmatched refuses a job that names databases which an instance does not have, or does not show to the account: a
// refresh would drop the rows of their shards from the lake without a word.
func (s *tableSource) unmatched(found *mysql.Discovery) error {
	for _, in := range s.job.Source.Instances {
		for _, seen := range found.Seen {
			if seen.Instance != in.Name {
				continue
			}
			for _, text := range in.Databases.Texts() {
				p, err := config.ParsePattern(text)
				if err != nil {
					return fmt.Errorf("%w: %w", activities.ErrConfig, err)
				}
				if !slices.ContainsFunc(seen.Databases, p.Match) {
					return fmt.Errorf("%w: instance %s has no database that matches %q, or does not show it to user %s; it has %s: correct databases, or grant SELECT",
						activities.ErrPlanRefused, in.Name, text, in.User, some(seen.Databases))
				}
			}
		}
	}
	return nil
}

// nothing explains a selection without a shard by what is there.
func (s *tableSource) nothing(found *mysql.Discovery) error {
	var b strings.Builder
	for _, in := range found.Seen {
		fmt.Fprintf(&b, "; instance %s ", in.Instance)
		switch {
		case len(in.Databases) == 0:
			b.WriteString("shows this account no database")
		case len(in.Matched) == 0:
			fmt.Fprintf(&b, "has the databases %s, none of which matches", some(in.Databases))
		case len(in.Tables) == 0:
			fmt.Fprintf(&b, "has no table in %s", some(in.Matched))
		default:
			fmt.Fprintf(&b, "has in %s the tables %s", some(in.Matched), some(in.Tables))
		}
	}
	return fmt.Errorf("%w: no shard of table %s matches %q%s: correct match or databases, or grant SELECT",
		activities.ErrPlanRefused, s.table.Name, s.table.Match.String(), b.String())
}

// some lists the first names of many.
func some(names []string) string {
	const shown = 10
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// Merge makes one schema of the shards.
func (s *tableSource) Merge(tables []source.Table) (*activities.Merged, error) {
	names, err := provenance(s.table.Provenance)
	if err != nil {
		return nil, err
	}
	o := source.MergeOptions{Provenance: names, Drift: source.DriftPolicy(s.table.Drift), Alike: mysql.SameDefinition}
	for _, c := range s.table.Columns {
		o.Columns = append(o.Columns, source.Select{Name: c.Name, As: c.As})
	}
	merged, err := source.Merge(tables, o)
	if err != nil {
		return nil, fmt.Errorf("%w: table %s: %w", activities.ErrPlanRefused, s.table.Name, err)
	}
	out := &activities.Merged{Fields: merged.Fields(), Drifts: merged.Drifts, LeftOut: merged.LeftOut, Notes: s.notes}
	for _, t := range tables {
		if merged.Keeps(t.Shard) {
			out.Outputs = append(out.Outputs, merged.Outputs(t))
		}
	}
	return out, nil
}

// Split cuts a shard.
func (s *tableSource) Split(ctx context.Context, t source.Table) ([]source.Split, error) {
	src, err := s.shared.get(ctx, s.masker, s.job)
	if err != nil {
		return nil, err
	}
	splits, err := src.Split(ctx, t, mysql.SplitOptions{
		Column: s.table.Split.Column, Rows: s.table.Split.Rows, Count: s.table.Split.Count, Where: s.table.Where,
	})
	if errors.Is(err, source.ErrRefused) {
		err = fmt.Errorf("%w: %w", activities.ErrPlanRefused, err)
	}
	return splits, err
}

// Read reads a split.
func (s *tableSource) Read(ctx context.Context, r source.Read, emit func(*row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	src, err := s.shared.get(ctx, s.masker, s.job)
	if err != nil {
		return source.ReadStats{}, err
	}
	r.Every = s.every()
	return src.Read(ctx, r, emit)
}

// every tells that all columns of a shard are read.
func (s *tableSource) every() bool { return len(s.table.Columns) == 0 }

// Consistency is the table's.
func (s *tableSource) Consistency() string { return string(s.job.ConsistencyOf(s.table)) }
