package predicate

import (
	"fmt"
	"slices"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// FileStats are a data file's statistics as its manifest has them (manifest.DataFile's ValueStats or KeyStats).
type FileStats struct {
	// Fields are the columns of the schema version that the file was written with; for key statistics those of the key.
	Fields []schema.Field
	// Columns names the columns of the statistics; nil means all of Fields in order (ValueStatsColumns).
	Columns []string
	// Min and Max are serialized BinaryRows with their arity in front, of the types in Fields.
	Min, Max []byte
	// Nulls has the number of nulls of each column, nil where unknown.
	Nulls []*int64
	// Rows is the number of rows in the file.
	Rows int64
}

// MayMatchFile tells whether a data file may hold a wanted row, whatever schema version it has. Its columns are found by
// id; one that it lacks is NULL in all its rows, one whose type was widened since has its bounds widened too
// (SimpleStatsEvolution). Statistics that contradict themselves are an error.
//
// Rows of a key table replace each other: there, a file without a wanted row may still hold the row that replaces an
// unwanted one, so that only what is said of the key, which is the same in both, may rule a single file out. See Project.
func (p *Predicate) MayMatchFile(s FileStats) (bool, error) {
	if p.root.always() {
		return s.Rows != 0, nil
	}
	known, err := s.known(p.fields, p.Columns())
	if err != nil {
		return false, fmt.Errorf("statistics of a data file: %w", err)
	}
	return s.Rows != 0 && p.root.mayMatch(func(field int) bounds { return known[field] }, s.Rows), nil
}

// known is what the statistics say of the wanted fields.
func (s FileStats) known(fields []schema.Field, wanted []int) (map[int]bounds, error) {
	columns, low, high, err := s.decode()
	if err != nil {
		return nil, err
	}
	known := map[int]bounds{}
	for _, i := range wanted {
		f := fields[i]
		at := slices.IndexFunc(s.Fields, func(g schema.Field) bool { return g.ID == f.ID })
		b := unknown()
		if at < 0 {
			b.nulls = &s.Rows
		} else if j := slices.IndexFunc(columns, func(g schema.Field) bool { return g.ID == f.ID }); j >= 0 {
			b = bounds{min: low[j], max: high[j], nulls: s.Nulls[j]}.widen(s.Fields[at].Type, f.Type)
		}
		known[i] = b
	}
	return known, nil
}

func (s FileStats) decode() (columns []schema.Field, low, high []row.Value, err error) {
	columns = s.Fields
	if s.Columns != nil {
		columns = make([]schema.Field, 0, len(s.Columns))
		for _, name := range s.Columns {
			i := slices.IndexFunc(s.Fields, func(f schema.Field) bool { return f.Name == name })
			if i < 0 {
				return nil, nil, nil, fmt.Errorf("they name a column %.100q that the file's schema lacks", name)
			}
			columns = append(columns, s.Fields[i])
		}
	}
	arity, err := row.Arity(s.Min)
	if err != nil {
		return nil, nil, nil, err
	}
	if arity == 0 && len(s.Nulls) == 0 {
		return nil, nil, nil, nil // nothing is known, which older writers say without naming columns
	}
	types := row.Types(columns)
	if low, err = row.Deserialize(types, s.Min); err != nil {
		return nil, nil, nil, fmt.Errorf("lower bounds: %w", err)
	}
	if high, err = row.Deserialize(types, s.Max); err != nil {
		return nil, nil, nil, fmt.Errorf("upper bounds: %w", err)
	}
	if len(s.Nulls) != len(columns) {
		return nil, nil, nil, fmt.Errorf("they have %d numbers of nulls for %d columns", len(s.Nulls), len(columns))
	}
	return columns, low, high, nil
}

// widen makes bounds of a column's type those of the type that it was changed into. What a cast may turn into another value
// or NULL is not known.
func (b bounds) widen(from, to schema.Type) bounds {
	from, to = from.WithNotNull(false), to.WithNotNull(false)
	if schema.Equal(from, to) {
		return b
	}
	ok := schema.Widens(from, to)
	for _, v := range []*row.Value{&b.min, &b.max} {
		if ok && !v.Null {
			*v, ok = widen(from, to, *v)
		}
	}
	if !ok {
		return unknown()
	}
	return b
}

// widen is a value in the wider type. Those that look alike in both stay; the others go by their text.
func widen(from, to schema.Type, v row.Value) (row.Value, bool) {
	switch to.Kind {
	case schema.Decimal, schema.Timestamp, schema.TimestampLTZ:
		wide, err := row.ParseText(to, row.Text(from, v))
		return wide, err == nil
	default:
		return v, true
	}
}
