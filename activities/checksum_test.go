package activities

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/sink"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// tenRows reads the rows 0 to 9 of a column id and a text, in batches of three.
func tenRows(_ context.Context, _ source.Read, emit func(*row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	b := row.NewBatch(twoColumns())
	for i := range int64(10) {
		appendRow(b, i)
		if b.Rows == 3 || i == 9 {
			next, err := emit(b)
			if err != nil {
				return source.ReadStats{}, err
			}
			b = next
		}
	}
	return source.ReadStats{Rows: 10}, nil
}

func twoColumns() []schema.Type { return []schema.Type{schema.Of(schema.BigInt), schema.StringType()} }

func appendRow(b *row.Batch, id int64) {
	b.Columns[0].I64 = append(b.Columns[0].I64, id)
	if id%4 == 0 {
		b.Columns[1].AppendNull()
	} else {
		b.Columns[1].AppendBytes(fmt.Appendf(nil, "text %d", id))
	}
	b.Rows++
}

// lossy changes the rows between the reader and the files, and says nothing of it.
type lossy struct {
	sink.Sink
	change func(b *row.Batch)
}

func (l *lossy) Write(ctx context.Context, b *row.Batch) error {
	changed := row.NewBatch(twoColumns())
	for _, id := range b.Columns[0].I64 {
		appendRow(changed, id)
	}
	l.change(changed)
	return l.Sink.Write(ctx, changed)
}

// Whatever becomes of a row between the source and the file, the unit is not claimed, and the error says where.
func TestReadAgain(t *testing.T) {
	once := func(change func(b *row.Batch)) func(*row.Batch) {
		done := false
		return func(b *row.Batch) {
			if !done {
				change(b)
			}
			done = true
		}
	}
	for name, c := range map[string]struct {
		change func(b *row.Batch)
		want   string
	}{
		"nothing": {func(*row.Batch) {}, ""},
		"a row is dropped": {once(func(b *row.Batch) {
			b.Reset()
			appendRow(b, 1)
			appendRow(b, 2)
		}), "in the written files are 9 rows"},
		"a row is doubled": {once(func(b *row.Batch) { appendRow(b, 2) }), "in the written files are 11 rows"},
		"one row for another": {once(func(b *row.Batch) {
			b.Reset()
			appendRow(b, 0)
			appendRow(b, 1)
			appendRow(b, 1)
		}), "in the written files are 10 rows"},
		"a number is changed": {once(func(b *row.Batch) { b.Columns[0].I64[2]++ }), "in the written files are 10 rows"},
		"a letter is changed": {once(func(b *row.Batch) { b.Columns[1].Data[3] ^= 1 }), "in the written files are 10 rows"},
		"a null is a text without letters": {once(func(b *row.Batch) {
			v := row.NewVector(schema.StringType())
			for i := range b.Rows {
				v.AppendBytes(b.Columns[1].Bytes(i))
			}
			b.Columns[1] = v
		}), "in the written files are 10 rows"},
	} {
		t.Run(name, func(t *testing.T) {
			types := twoColumns()
			s, err := schema.New(schema.Spec{Fields: []schema.Field{{Name: "id", Type: types[0]}, {Name: "text", Type: types[1]}}, TimeMillis: 1})
			require.NoError(t, err)
			table := lake.NewTable(fileiotest.NewMemory(), "ods.db/t", s)
			a := &attempt{
				plan: &ledger.Plan{Checksums: true, Shapes: []ledger.Shape{{Outputs: []source.Output{{Type: types[0]}, {Type: types[1]}}}}}, session: &Session{},
				memory: budget.New(256<<20, nil),
			}
			out, err := sink.New(table, sink.Options{Prefix: "data-x-", Codecs: &lake.Codecs{}, RowGroupBytes: 1 << 20}, 0, 1)
			require.NoError(t, err)
			splits := []ledger.UnitSplit{{Shard: source.Shard{Instance: "a", Database: "shop_1", Table: "orders"}, Number: 7}}
			next := func() (s ledger.UnitSplit, ok bool) {
				if len(splits) == 0 {
					return s, false
				}
				s, splits = splits[0], nil
				return s, true
			}
			_, err = a.copy(t.Context(), table, tenRows, next, &lossy{out, c.change})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrMismatch)
			require.ErrorContains(t, err, "shard a/shop_1/orders, split 7: read were 10 rows with checksum ")
			require.ErrorContains(t, err, c.want)
		})
	}
}
