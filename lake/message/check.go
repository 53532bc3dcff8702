package message

import (
	"fmt"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
)

// check tells what makes a message harmful to whoever commits it, read or about to be written: readers prune and delete by
// these values, and Java takes them on trust.
func (m *Commit) check() error {
	if _, err := row.Arity(m.Partition); err != nil {
		return fmt.Errorf("%w: partition: %w", ErrCorrupt, err)
	}
	for _, files := range m.dataFiles() {
		for i := range files {
			if err := checkDataFile(&files[i]); err != nil {
				return fmt.Errorf("%w: file %q: %w", ErrCorrupt, files[i].Name, err)
			}
		}
	}
	for _, files := range m.indexFiles() {
		for i := range files {
			if f := &files[i]; f.Name == "" || f.Size < 0 || f.Rows < 0 {
				return fmt.Errorf("%w: index file %q: no name, or negative size or rows", ErrCorrupt, f.Name)
			}
		}
	}
	return nil
}

func checkDataFile(f *manifest.DataFile) error {
	if f.Name == "" || f.Size < 0 || f.Rows < 0 {
		return fmt.Errorf("no name, or negative size %d or rows %d", f.Size, f.Rows)
	}
	if f.Source != nil && *f.Source != manifest.SourceAppend && *f.Source != manifest.SourceCompact {
		return fmt.Errorf("unknown source %d", *f.Source)
	}
	for what, key := range map[string][]byte{"smallest key": f.MinKey, "largest key": f.MaxKey} {
		if _, err := row.Arity(key); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if _, err := checkStats(f.KeyStats); err != nil {
		return fmt.Errorf("statistics of keys: %w", err)
	}
	columns, err := checkStats(f.ValueStats)
	if err != nil {
		return fmt.Errorf("statistics of values: %w", err)
	}
	if f.ValueStatsColumns != nil && len(f.ValueStatsColumns) != columns {
		return fmt.Errorf("statistics of %d values for %d columns", columns, len(f.ValueStatsColumns))
	}
	return nil
}

// checkStats gives the number of columns.
func checkStats(s manifest.Stats) (int, error) {
	low, err := row.Arity(s.Min)
	if err != nil {
		return 0, fmt.Errorf("lower bounds: %w", err)
	}
	high, err := row.Arity(s.Max)
	if err != nil {
		return 0, fmt.Errorf("upper bounds: %w", err)
	}
	if low != high || low != len(s.NullCounts) {
		return 0, fmt.Errorf("%d lower bounds, %d upper bounds and %d null counts", low, high, len(s.NullCounts))
	}
	return low, nil
}
