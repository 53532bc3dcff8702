package compact

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// section is a set of files that have keys in common with each other and with no other file of their bucket.
type section struct {
	files []lake.File
	max   []row.Value
}

// ranged is a file with its bounds.
type ranged struct {
	file     lake.File
	min, max []row.Value
}

// planKeyed chooses the files of one bucket of a key table that are not as a full compaction leaves them. Sections that are
// to be written and lie next to each other become one task, so that small files grow together.
func (c *Compactor) planKeyed(ctx context.Context, files []lake.File) ([]Task, error) {
	if sortedRuns(files) < c.trigger {
		return nil, nil
	}
	list, err := c.sections(ctx, files)
	if err != nil {
		return nil, err
	}
	var tasks []Task
	var group []lake.File
	flush := func() {
		switch {
		case len(group) == 1 && deletes(&group[0]) == 0 && c.atTop(&group[0]):
			// A small file that nothing can be put together with.
		case len(group) == 1 && deletes(&group[0]) == 0:
			tasks = append(tasks, c.task(group, true))
		case len(group) > 0:
			tasks = append(tasks, c.task(group, false))
		}
		group = nil
	}
	for _, s := range list {
		if f := &s.files[0]; len(s.files) == 1 && deletes(f) == 0 && f.DataFile.Size >= c.small {
			flush()
			if !c.atTop(f) {
				tasks = append(tasks, c.task(s.files, true))
			}
			continue
		}
		group = append(group, s.files...)
	}
	flush()
	return tasks, nil
}

// sortedRuns counts them as org.apache.paimon.mergetree.Levels.numberOfSortedRuns.
func sortedRuns(files []lake.File) int {
	runs, levels := 0, map[int32]bool{}
	for i := range files {
		if level := files[i].DataFile.Level; level == 0 {
			runs++
		} else {
			levels[level] = true
		}
	}
	return runs + len(levels)
}

// atTop tells whether a file lies where a full compaction puts files. A level above, from a time when the table had more
// of them, is as good.
func (c *Compactor) atTop(f *lake.File) bool { return f.DataFile.Level >= c.top() }

func (c *Compactor) top() int32 { return int32(c.options.NumLevels - 1) }

func deletes(f *lake.File) int64 {
	if f.DataFile.DeleteRows == nil {
		return 0
	}
	return *f.DataFile.DeleteRows
}

// sections divides the files of a bucket, lowest keys first.
func (c *Compactor) sections(ctx context.Context, files []lake.File) ([]section, error) {
	types, err := c.schema.Types(c.schema.TrimmedPrimaryKey())
	if err != nil {
		return nil, err
	}
	schemas := snapshot.Schemas{Store: c.store, Table: c.path}
	keys := map[schema.ID][]schema.Type{c.schema.ID: types}
	ranges := make([]ranged, len(files))
	for i, f := range files {
		written := keys[f.DataFile.SchemaID]
		if written == nil {
			s, err := schemas.Get(ctx, f.DataFile.SchemaID)
			if err != nil {
				return nil, err
			}
			if written, err = s.Types(s.TrimmedPrimaryKey()); err != nil {
				return nil, err
			}
			keys[f.DataFile.SchemaID] = written
		}
		if ranges[i], err = rangeOf(f, written); err != nil {
			return nil, fmt.Errorf("keys of data file %s: %w: %w", f.DataFile.Name, manifest.ErrCorrupt, err)
		}
	}
	slices.SortStableFunc(ranges, func(a, b ranged) int { return compare(types, a.min, b.min) })
	var list []section
	for _, r := range ranges {
		if n := len(list) - 1; n >= 0 && compare(types, r.min, list[n].max) <= 0 {
			list[n].files = append(list[n].files, r.file)
			if compare(types, r.max, list[n].max) > 0 {
				list[n].max = r.max
			}
			continue
		}
		list = append(list, section{files: []lake.File{r.file}, max: r.max})
	}
	return list, nil
}

func rangeOf(f lake.File, types []schema.Type) (ranged, error) {
	lo, err := row.Deserialize(types, f.DataFile.MinKey)
	if err != nil {
		return ranged{}, err
	}
	hi, err := row.Deserialize(types, f.DataFile.MaxKey)
	return ranged{file: f, min: lo, max: hi}, err
}

func compare(types []schema.Type, a, b []row.Value) int {
	for i, t := range types {
		if c := row.Compare(t, a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// lift describes the files of a task at the top level.
func (c *Compactor) lift(t *Task) []manifest.DataFile {
	files := make([]manifest.DataFile, len(t.Files))
	for i := range t.Files {
		files[i] = t.Files[i].DataFile
		files[i].Level = c.top()
	}
	return files
}

// merge writes what the files of a task come to. All files that could hold one of their keys are among them, so that rows
// which take away have done their work and go.
func (c *Compactor) merge(ctx context.Context, t *Task) ([]manifest.DataFile, error) {
	spec, err := mergetree.SpecOf(c.schema)
	if err != nil {
		return nil, err
	}
	w, err := mergetree.NewWriter(spec, mergetree.WriterOptions{
		File:  datafile.Options{RowGroupBytes: c.o.RowGroupBytes}.WithBlockSize(c.options.BlockSize),
		Store: c.store, Folder: path.Dir(t.Files[0].Path), Name: c.name, BeforeFile: c.o.Guard,
		Level: c.top(), Source: manifest.SourceCompact,
	})
	if err != nil {
		return nil, err
	}
	merged, err := c.table.Merged(ctx, t.Files, mergetree.MergeOptions{DropDeletes: true})
	if err == nil {
		err = w.WriteAll(ctx, merged)
	}
	var files []manifest.DataFile
	if err == nil {
		files, err = w.Close()
	}
	if err != nil {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		return nil, errors.Join(err, w.Abort(cleaning))
	}
	return files, nil
}
