package lake

import (
	"context"
	"fmt"
	"slices"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// keyRange is a file of a key table with its bounds.
type keyRange struct {
	file     File
	min, max []row.Value
}

// run is a series of files whose keys do not overlap, lowest first.
type run []File

// sections divides files of one bucket into parts that have no key in common, lowest first, and each of these into as few
// runs as it takes. Rows of a key lie in one section
// (org.apache.paimon.mergetree.compact.IntervalPartition).
func sections(files []File, types []schema.Type, schemas func(schema.ID) (*schema.Table, error)) ([][]run, error) {
	ranges := make([]keyRange, len(files))
	for i, f := range files {
		var err error
		if ranges[i], err = rangeOf(f, schemas); err != nil {
			return nil, fmt.Errorf("keys of file %s: %w", f.DataFile.Name, err)
		}
	}
	slices.SortStableFunc(ranges, func(a, b keyRange) int {
		if c := compareKeys(types, a.min, b.min); c != 0 {
			return c
		}
		return compareKeys(types, a.max, b.max)
	})
	var out [][]run
	for len(ranges) > 0 {
		n, bound := 1, ranges[0].max
		for n < len(ranges) && compareKeys(types, ranges[n].min, bound) <= 0 {
			if compareKeys(types, ranges[n].max, bound) > 0 {
				bound = ranges[n].max
			}
			n++
		}
		out = append(out, runs(ranges[:n], types))
		ranges = ranges[n:]
	}
	return out, nil
}

// runs puts each file behind the run that ended first, if that lies wholly before it.
func runs(ranges []keyRange, types []schema.Type) []run {
	var out []run
	var ends [][]row.Value
	for _, r := range ranges {
		first := -1
		for i, end := range ends {
			if first < 0 || compareKeys(types, end, ends[first]) < 0 {
				first = i
			}
		}
		if first < 0 || compareKeys(types, ends[first], r.min) >= 0 {
			out, ends = append(out, run{r.file}), append(ends, r.max)
			continue
		}
		out[first], ends[first] = append(out[first], r.file), r.max
	}
	return out
}

func compareKeys(types []schema.Type, a, b []row.Value) int {
	for i, t := range types {
		if c := row.Compare(t, a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// rangeOf reads a file's bounds, which are of the key's types in the file's schema.
func rangeOf(f File, schemas func(schema.ID) (*schema.Table, error)) (keyRange, error) {
	written, err := schemas(f.DataFile.SchemaID)
	if err != nil {
		return keyRange{}, err
	}
	types, err := written.Types(written.TrimmedPrimaryKey())
	if err != nil {
		return keyRange{}, err
	}
	r := keyRange{file: f}
	if r.min, err = row.Deserialize(types, f.DataFile.MinKey); err != nil {
		return r, fmt.Errorf("%w: %w", manifest.ErrCorrupt, err)
	}
	if r.max, err = row.Deserialize(types, f.DataFile.MaxKey); err != nil {
		return r, fmt.Errorf("%w: %w", manifest.ErrCorrupt, err)
	}
	return r, nil
}

// mergeRuns merges the rows of a section. Files of a run are opened one after the other.
func mergeRuns(spec *mergetree.Spec, section []run, o mergetree.MergeOptions, open func(context.Context, *File) (mergetree.Source, error)) mergetree.Source {
	sources := make([]mergetree.Source, len(section))
	for i, r := range section {
		files := make([]func(context.Context) (mergetree.Source, error), len(r))
		for k := range r {
			files[k] = func(ctx context.Context) (mergetree.Source, error) { return open(ctx, &r[k]) }
		}
		sources[i] = mergetree.Chain(files...)
	}
	return mergetree.Merge(spec, sources, o)
}

// Merged reads files of one partition and bucket of a key table as one stream in merge order, of all the table's columns in
// its own schema: what a compaction writes. All files that hold a key of one of them must be among them, or come after.
// A file is opened when its turn has come. Deletion vectors are not looked at.
func (t *Table) Merged(ctx context.Context, files []File, o mergetree.MergeOptions) (mergetree.Source, error) {
	spec, err := mergetree.SpecOf(t.schema)
	if err != nil {
		return nil, err
	}
	v := newVersions(t)
	parts, err := sections(files, spec.KeyTypes(), func(id schema.ID) (*schema.Table, error) { return v.get(ctx, id) })
	if err != nil {
		return nil, err
	}
	p := newProjection(t, spec.Fields()[:mergetree.ValueColumns], t.schema.Fields, t.schema.Fields)
	open := func(ctx context.Context, f *File) (mergetree.Source, error) {
		written, err := v.get(ctx, f.DataFile.SchemaID)
		if err != nil {
			return nil, err
		}
		return p.open(ctx, f, written, nil)
	}
	merges := make([]func(context.Context) (mergetree.Source, error), len(parts))
	for i, section := range parts {
		merges[i] = func(context.Context) (mergetree.Source, error) { return mergeRuns(spec, section, o, open), nil }
	}
	return mergetree.Chain(merges...), nil
}
