package mergetree_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// entry is a row of the model: values one by one, nothing shared with the package.
type entry struct {
	sequence int64
	kind     row.Kind
	values   []row.Value
}

// model is what a merge engine makes of rows, said as plainly as may be.
type model struct {
	table      *schema.Table
	sequence   []string // of sequence.field
	descending bool
	ignore     bool // ignore-delete
}

func (m *model) compare(names []string, a, b entry, descending bool) int {
	for _, name := range names {
		i := m.table.Index(name)
		x, y := a.values[i], b.values[i]
		c := row.Compare(m.table.Fields[i].Type, x, y)
		if descending && !x.Null && !y.Null {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// sorted brings rows into merge order and tells where keys begin.
func (m *model) sorted(rows []entry) [][]entry {
	keys := m.table.TrimmedPrimaryKey()
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b entry) int {
		if c := m.compare(keys, a, b, false); c != 0 {
			return c
		}
		if c := m.compare(m.sequence, a, b, m.descending); c != 0 {
			return c
		}
		if a.sequence != b.sequence {
			return int(a.sequence - b.sequence)
		}
		add := func(e entry) int {
			if e.kind == row.Insert || e.kind == row.UpdateAfter {
				return 1
			}
			return 0
		}
		return add(a) - add(b)
	})
	var groups [][]entry
	for i, e := range rows {
		if i == 0 || m.compare(keys, rows[i-1], e, false) != 0 {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], e)
	}
	return groups
}

func retracts(e entry) bool { return e.kind == row.Delete || e.kind == row.UpdateBefore }

// merge is one row of the rows of a key, if any is left.
func (m *model) merge(group []entry) (entry, bool) {
	if len(group) == 1 {
		return group[0], true
	}
	var adds []entry
	for _, e := range group {
		if !retracts(e) {
			adds = append(adds, e)
		}
	}
	switch m.table.Options["merge-engine"] {
	case "first-row":
		if len(adds) == 0 {
			return entry{}, false
		}
		return adds[0], true
	case "partial-update":
		return m.update(group), true
	}
	if !m.ignore {
		return group[len(group)-1], true
	}
	if len(adds) == 0 {
		return entry{}, false
	}
	return adds[len(adds)-1], true
}

// update is Java's partial update: the last value that is not null, and after a -D what the -D had.
func (m *model) update(group []entry) entry {
	var out entry
	inserted := false
	for _, e := range group {
		switch {
		case retracts(e) && m.ignore:
			out.kind = row.Delete
			if out.values == nil {
				out.values = slices.Clone(e.values)
			}
		case e.kind == row.Delete:
			out = entry{sequence: e.sequence, kind: row.Delete, values: slices.Clone(e.values)}
		case e.kind == row.UpdateBefore:
			if out.values == nil {
				out.values = slices.Clone(e.values)
			}
			out.sequence, out.kind = e.sequence, row.Insert
		default:
			inserted = true
			out.sequence, out.kind = e.sequence, row.Insert
			if out.values == nil {
				out.values = make([]row.Value, len(e.values))
				for i := range out.values {
					out.values[i] = row.NullValue()
				}
			}
			for i, v := range e.values {
				if !v.Null {
					out.values[i] = v
				}
			}
			continue
		}
		if retracts(e) && m.ignore && inserted {
			out.kind = row.Insert
		}
	}
	if !inserted {
		out.kind = row.Delete
	}
	return out
}

// text of a row to compare by.
func (m *model) text(e entry) string {
	out := fmt.Sprint(e.sequence, " ", e.kind)
	for i, v := range e.values {
		out += " " + m.table.Fields[i].Name + "=" + row.Text(m.table.Fields[i].Type, v)
	}
	return out
}

// lines are the rows of a source, which is closed.
func (m *model) lines(tb testing.TB, spec *mergetree.Spec, src mergetree.Source) []string {
	tb.Helper()
	out := []string{}
	b := spec.NewBatch()
	for {
		err := src.Next(tb.Context(), b)
		if errors.Is(err, io.EOF) {
			require.Zero(tb, b.Rows)
			break
		}
		require.NoError(tb, err)
		require.Positive(tb, b.Rows)
		for i := range b.Rows {
			out = append(out, m.text(entryOf(b, i)))
		}
	}
	require.NoError(tb, src.Close())
	return out
}

func entryOf(b *row.Batch, i int) entry {
	e := entry{
		sequence: b.Columns[mergetree.SequenceColumn].I64[i],
		kind:     row.Kind(b.Columns[mergetree.KindColumn].I32[i]),
	}
	for c := range b.Columns[mergetree.ValueColumns:] {
		e.values = append(e.values, b.Columns[mergetree.ValueColumns+c].Value(i))
	}
	return e
}

// want are the lines that a source should have.
func (m *model) want(rows []entry, unmerged, dropDeletes bool) []string {
	out := []string{}
	for _, g := range m.sorted(rows) {
		if unmerged {
			for _, e := range g {
				out = append(out, m.text(e))
			}
			continue
		}
		if e, ok := m.merge(g); ok && (!dropDeletes || !retracts(e)) {
			out = append(out, m.text(e))
		}
	}
	return out
}

// keyTypes are the types that keys and sequence fields are made of.
func keyTypes() []schema.Type {
	return []schema.Type{
		schema.Of(schema.Boolean), schema.Of(schema.TinyInt), schema.Of(schema.SmallInt), schema.Of(schema.Int),
		schema.Of(schema.BigInt), schema.Of(schema.Float), schema.Of(schema.Double), schema.DecimalType(9, 2),
		schema.DecimalType(18, 0), schema.DecimalType(38, 10), schema.StringType(), schema.BytesType(), schema.Of(schema.Date),
		{Kind: schema.Time, Precision: 3},
		{Kind: schema.Timestamp, Precision: 6},
		{Kind: schema.Timestamp, Precision: 9},
		{Kind: schema.TimestampLTZ, Precision: 3},
	}
}

// randomValue is one of few values of a type, so that rows meet, with those at the ends among them.
func randomValue(r *rand.Rand, t schema.Type) row.Value {
	if !t.NotNull && r.IntN(5) == 0 {
		return row.NullValue()
	}
	if t.Nested() {
		v, err := row.ParseText(t, pick(r, `[]`, `["a"]`, `[null,"b","a string that is rather long"]`))
		if err != nil {
			panic(err)
		}
		return v
	}
	small := []int64{0, 1, -1, 2, -2, 7}[r.IntN(6)]
	switch row.LayoutOf(t) {
	case row.LayoutInt32:
		switch t.Kind {
		case schema.Boolean:
			return row.Value{I64: small & 1}
		case schema.Time:
			return row.Value{I64: small & 7}
		case schema.Int, schema.Date:
			return row.Value{I64: pick(r, small, math.MaxInt32, math.MinInt32)}
		}
		return row.Value{I64: pick(r, small, 127, -128)}
	case row.LayoutInt64:
		if t.Kind == schema.BigInt {
			return row.Value{I64: pick(r, small, math.MaxInt64, math.MinInt64)}
		}
		return row.Value{I64: pick(r, small, 999_999_999, -999_999_999)}
	case row.LayoutFloat32, row.LayoutFloat64:
		return row.Value{F64: pick(r, float64(small)/2, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1))}
	case row.LayoutNanos:
		return row.Value{I64: small, Nanos: int32(r.IntN(3)) * 499_999}
	case row.LayoutFixed:
		text := pick(r, fmt.Sprint(small), "9999999999999999999999999999", "-9999999999999999999999999999")
		v, err := row.ParseText(t, text)
		if err != nil {
			panic(err)
		}
		return v
	default:
		return row.Value{B: []byte(pick(r, "", "a", "a\x00", "a\x00b", "ab", "\x00", "\x00\x00", "\xff", "é", "longer than eight bytes", "longer than eight"))}
	}
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// randomTable has one to three key columns among its columns, in another order than these.
func randomTable(r *rand.Rand, engine string) (*schema.Table, *model) {
	types := keyTypes()
	t := &schema.Table{Options: map[string]string{"bucket": "1", "merge-engine": engine}}
	keys := 1 + r.IntN(3)
	for i := range keys + 2 + r.IntN(3) {
		f := schema.Field{ID: i, Name: fmt.Sprint("c", i), Type: pick(r, types...)}
		if i < keys {
			f.Type.NotNull = r.IntN(3) > 0
			t.PrimaryKeys = append(t.PrimaryKeys, f.Name)
		} else if i >= keys+2 && r.IntN(2) == 0 {
			element := schema.StringType()
			f.Type = schema.Type{Kind: schema.Array, Element: &element}
		}
		t.Fields = append(t.Fields, f)
	}
	r.Shuffle(len(t.Fields), func(i, j int) { t.Fields[i], t.Fields[j] = t.Fields[j], t.Fields[i] })
	r.Shuffle(keys, func(i, j int) { t.PrimaryKeys[i], t.PrimaryKeys[j] = t.PrimaryKeys[j], t.PrimaryKeys[i] })
	m := &model{table: t}
	if engine != "first-row" && r.IntN(2) == 0 {
		m.sequence = []string{fmt.Sprint("c", keys)}
		if r.IntN(2) == 0 {
			m.sequence = append(m.sequence, fmt.Sprint("c", keys+1))
		}
		t.Options["sequence.field"] = strings.Join(m.sequence, ",")
		if m.descending = r.IntN(2) == 0; m.descending {
			t.Options["sequence.field.sort-order"] = "descending"
		}
	}
	return t, m
}

// randomRows are rows with sequence numbers that may come twice.
func randomRows(r *rand.Rand, t *schema.Table, n int, kinds []row.Kind) []entry {
	rows := make([]entry, n)
	for i := range rows {
		rows[i] = entry{sequence: int64(r.IntN(2 * n)), kind: pick(r, kinds...)}
		for _, f := range t.Fields {
			rows[i].values = append(rows[i].values, randomValue(r, f.Type))
		}
	}
	return rows
}

// listSource gives rows in batches of random size.
type listSource struct {
	rows   []entry
	r      *rand.Rand
	closed int
}

func (s *listSource) Next(_ ctx, b *row.Batch) error {
	b.Reset()
	if len(s.rows) == 0 {
		return io.EOF
	}
	n := min(len(s.rows), 1+s.r.IntN(5))
	for _, e := range s.rows[:n] {
		b.Columns[mergetree.SequenceColumn].Append(row.Value{I64: e.sequence})
		b.Columns[mergetree.KindColumn].Append(row.Value{I64: int64(e.kind)})
		for c, v := range e.values {
			b.Columns[mergetree.ValueColumns+c].Append(v)
		}
	}
	b.Rows = n
	s.rows = s.rows[n:]
	return nil
}

func (s *listSource) Close() error {
	s.closed++
	return nil
}
