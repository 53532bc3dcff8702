package partition

import (
	"fmt"
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
)

// Spec names partitions by the values of some or all partition keys, as canonical text (see row.ParseText). The table's
// `partition.default-name` stands for null. An empty spec names every partition.
type Spec map[string]string

// Filter selects partitions: those that one of its specs names, and those that were added one by one. It may be used from
// several goroutines while none is added.
type Filter struct {
	layout *Layout
	specs  [][]*row.Value
	exact  map[string][]row.Value
}

// NewFilter returns a filter for the partitions that any of the specs names.
func (l *Layout) NewFilter(specs ...Spec) (*Filter, error) {
	f := &Filter{layout: l, exact: map[string][]row.Value{}}
	for _, spec := range specs {
		values := make([]*row.Value, len(l.keys))
		for name, text := range spec {
			i := slices.Index(l.keys, name)
			if i < 0 {
				return nil, fmt.Errorf("partition %v: %q is no partition key; the keys are %q", spec, name, l.keys)
			}
			value := row.NullValue()
			if text != l.naming.DefaultName {
				var err error
				if value, err = row.ParseText(l.types[i], text); err != nil {
					return nil, fmt.Errorf("partition %v: key %s: %w", spec, name, err)
				}
			}
			values[i] = &value
		}
		f.specs = append(f.specs, values)
	}
	return f, nil
}

// Add selects one more partition, given as messages and manifests have it.
func (f *Filter) Add(serialized []byte) error {
	if f.exact[string(serialized)] != nil {
		return nil
	}
	values, err := f.layout.Values(serialized)
	if err != nil {
		return err
	}
	f.exact[string(serialized)] = append([]row.Value{}, values...)
	return nil
}

// Selects tells whether a partition, given as messages and manifests have it, is selected. One that cannot be read is not.
func (f *Filter) Selects(serialized []byte) bool {
	if f.exact[string(serialized)] != nil {
		return true
	}
	if len(f.specs) == 0 {
		return false
	}
	values, err := f.layout.Values(serialized)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(f.specs, func(spec []*row.Value) bool {
		for i, want := range spec {
			if want != nil && row.Compare(f.layout.types[i], *want, values[i]) != 0 {
				return false
			}
		}
		return true
	})
}

// MaySelect tells whether a selected partition can be among partitions of which the bounds and the numbers of nulls of each
// key are known, as a manifest list has them. What cannot be read is taken to be anything.
func (f *Filter) MaySelect(low, high []byte, nulls []*int64) bool {
	if len(f.layout.keys) == 0 {
		return len(f.specs)+len(f.exact) > 0
	}
	from, err := f.layout.Values(low)
	if err != nil {
		return true
	}
	to, err := f.layout.Values(high)
	if err != nil || len(nulls) != len(to) {
		return true
	}
	within := func(i int, v row.Value) bool {
		if v.Null {
			return nulls[i] == nil || *nulls[i] > 0
		}
		if from[i].Null || to[i].Null { // nothing but nulls, or a type without bounds
			return true
		}
		t := f.layout.types[i]
		return row.Compare(t, from[i], v) <= 0 && row.Compare(t, v, to[i]) <= 0
	}
	for _, spec := range f.specs {
		may := true
		for i, want := range spec {
			may = may && (want == nil || within(i, *want))
		}
		if may {
			return true
		}
	}
	for _, values := range f.exact {
		may := true
		for i, v := range values {
			may = may && within(i, v)
		}
		if may {
			return true
		}
	}
	return false
}
