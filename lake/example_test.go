package lake_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/predicate"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// create makes a warehouse on the local disk with one table.
func create(ctx context.Context, spec schema.Spec) (table *lake.Table, remove func(), err error) {
	root, err := os.MkdirTemp("", "lake")
	if err != nil {
		return nil, nil, err
	}
	store, err := fileio.NewLocal(root)
	if err != nil {
		return nil, nil, err
	}
	s, err := schema.New(spec)
	if err != nil {
		return nil, nil, err
	}
	c := catalog.NewFilesystem(store)
	id := catalog.Identifier{Database: "ods", Table: "orders"}
	if s, err = c.CreateTable(ctx, id, s); err != nil {
		return nil, nil, err
	}
	return lake.NewTable(store, c.Path(id), s), func() { _ = os.RemoveAll(root) }, nil
}

// publish commits what a writer made, as the n-th commit of a job.
func publish(ctx context.Context, table *lake.Table, w *lake.Writer, n int64) error {
	messages, err := w.Close(ctx)
	if err != nil {
		return errors.Join(err, w.Abort(ctx))
	}
	// The base is the latest snapshot when the work began; see snapshot.Manager.LatestID. Here nobody else commits.
	_, err = table.Committer().Publish(ctx, commit.Request{
		User: "example", Identifier: n, Kind: snapshot.Append, Messages: messages, Planned: table.Schema(), Base: snapshot.ID(n - 1),
	})
	return err
}

// A table is made, written to, committed to, and read back.
func Example() {
	ctx := context.Background()
	table, remove, err := create(ctx, schema.Spec{
		Fields: []schema.Field{
			{Name: "id", Type: schema.Of(schema.BigInt)},
			{Name: "city", Type: schema.StringType()},
		},
		PartitionKeys: []string{"city"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()

	rows := row.NewBatch(row.Types(table.Schema().Fields))
	for id, city := range []string{"Oslo", "Rome", "Oslo"} {
		rows.Columns[0].Append(row.Value{I64: int64(id)})
		rows.Columns[1].AppendBytes([]byte(city))
		rows.Rows++
	}
	w, err := table.NewWriter(lake.WriterOptions{Prefix: "data-example-"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Write(ctx, rows); err != nil {
		fmt.Println(errors.Join(err, w.Abort(ctx)))
		return
	}
	if err := publish(ctx, table, w, 1); err != nil {
		fmt.Println(err)
		return
	}

	oslo := predicate.Eq("city", row.Value{B: []byte("Oslo")})
	err = table.Scan(ctx, lake.ScanOptions{Columns: []string{"id"}, Where: oslo}, func(b *row.Batch) error {
		fmt.Println("ids in Oslo:", b.Columns[0].I64)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: ids in Oslo: [0 2]
}

// A row of a key table takes the place of the one that had its key, and a row of kind -D takes it away.
func ExampleWriter_WriteKinds() {
	ctx := context.Background()
	table, remove, err := create(ctx, schema.Spec{
		Fields: []schema.Field{
			{Name: "id", Type: schema.Of(schema.BigInt)},
			{Name: "status", Type: schema.StringType()},
		},
		PrimaryKeys: []string{"id"},
		Options:     map[string]string{"bucket": "2"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()

	type change struct {
		kind   row.Kind
		id     int64
		status string
	}
	for n, changes := range [][]change{
		{{row.Insert, 1, "open"}, {row.Insert, 2, "open"}, {row.Insert, 3, "open"}},
		{{row.UpdateAfter, 2, "paid"}, {row.Delete, 3, "open"}},
	} {
		rows := row.NewBatch(row.Types(table.Schema().Fields))
		var kinds []row.Kind
		for _, c := range changes {
			rows.Columns[0].Append(row.Value{I64: c.id})
			rows.Columns[1].AppendBytes([]byte(c.status))
			rows.Rows++
			kinds = append(kinds, c.kind)
		}
		w, err := table.NewWriter(lake.WriterOptions{Prefix: fmt.Sprintf("data-example-%d-", n)})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := w.WriteKinds(ctx, rows, kinds); err != nil {
			fmt.Println(errors.Join(err, w.Abort(ctx)))
			return
		}
		if err := publish(ctx, table, w, int64(n+1)); err != nil {
			fmt.Println(err)
			return
		}
	}

	err = table.Scan(ctx, lake.ScanOptions{}, func(b *row.Batch) error {
		for i := range b.Rows {
			fmt.Println(b.Columns[0].I64[i], string(b.Columns[1].Bytes(i)))
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// 1 open
	// 2 paid
}
