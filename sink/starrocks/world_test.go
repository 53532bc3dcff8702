package starrocks_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	srtest "github.com/tributary-lake/tributary/internal/testenv/starrocks"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/sink"
	"github.com/tributary-lake/tributary/sink/starrocks"
	"github.com/tributary-lake/tributary/sink/starrocks/encode"
)

const password = "s3cret-word"

var orders = sink.Table{Database: "shop", Name: "orders"}

var orderColumns = []encode.Column{
	{Name: "id", Type: schema.Of(schema.BigInt)},
	{Name: "note", Type: schema.StringType()},
	{Name: "data", Type: schema.BytesType()},
}

// cluster starts a server with the table of orders.
func cluster(t testing.TB, o srtest.Options) *srtest.Server {
	t.Helper()
	o.User, o.Password = "loader", password
	s := srtest.Start(t, o)
	s.Create("shop", "orders", []srtest.Column{{Name: "id", Type: "BIGINT", NotNull: true}, {Name: "note", Type: "VARCHAR(40)"}, {Name: "data", Type: "VARBINARY(16)"}})
	return s
}

func client(t testing.TB, s *srtest.Server, change ...func(*starrocks.Config)) *starrocks.Client {
	t.Helper()
	c := starrocks.Config{
		Nodes: s.Nodes(), User: "loader", Password: password,
		Reply: 30 * time.Second, Patience: time.Minute, Pause: time.Millisecond,
	}
	for _, f := range change {
		f(&c)
	}
	made, err := starrocks.New(c)
	require.NoError(t, err)
	return made
}

// hurried does not wait long for a reply where one is stuck.
func hurried(k srtest.Kind) func(*starrocks.Config) {
	return func(c *starrocks.Config) {
		if k == srtest.Stuck {
			c.Reply = 500 * time.Millisecond
		}
	}
}

// rows are orders from one number to below another.
func rows(from, to int) *row.Batch {
	b := row.NewBatch([]schema.Type{schema.Of(schema.BigInt), schema.StringType(), schema.BytesType()})
	for i := from; i < to; i++ {
		b.Columns[0].I64 = append(b.Columns[0].I64, int64(i))
		if i%3 == 0 {
			b.Columns[1].AppendNull()
		} else {
			b.Columns[1].AppendBytes(fmt.Appendf(nil, "note\t%d\n", i))
		}
		b.Columns[2].AppendBytes([]byte{0, 0xff, byte(i)})
		b.Rows++
	}
	return b
}

// want is what a query must show of them.
func want(from, to int) [][]srtest.Value {
	out := [][]srtest.Value{}
	for i := from; i < to; i++ {
		note := srtest.Value{Text: fmt.Sprintf("note\t%d\n", i)}
		if i%3 == 0 {
			note = srtest.Value{Null: true}
		}
		out = append(out, []srtest.Value{{Text: fmt.Sprint(i)}, note, {Text: string([]byte{0, 0xff, byte(i)})}})
	}
	return out
}

func csv(t testing.TB) encode.Format {
	t.Helper()
	f, err := encode.NewCSV(orderColumns)
	require.NoError(t, err)
	return f
}

func jsonFormat(t testing.TB) encode.Format {
	t.Helper()
	f, err := encode.NewJSON(orderColumns)
	require.NoError(t, err)
	return f
}

func unit(t testing.TB, c *starrocks.Client, label string, f encode.Format) *starrocks.Unit {
	t.Helper()
	u, err := c.NewUnit(starrocks.UnitOptions{Table: orders, Label: label, Format: f, Rows: 10})
	require.NoError(t, err)
	return u
}

// once answers a request of one node and kind in another way, the first so many times.
func once(node, op string, times int, f srtest.Fault) func(srtest.Point) srtest.Fault {
	return func(p srtest.Point) srtest.Fault {
		if p.Node == node && p.Op == op && times > 0 {
			times--
			return f
		}
		return srtest.Fault{}
	}
}
