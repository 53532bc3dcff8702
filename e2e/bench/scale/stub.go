package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

const (
	// splitsPerShard of the size that the product cuts by itself, of narrow rows.
	splitsPerShard = 10
	splitRows      = 250_000
	rowBytes       = 52
	// readRows is how many rows a split really has.
	readRows = 3
)

// job is the stub's job file.
type job struct {
	Job    string `json:"job"`
	Shards int    `json:"shards"`
	// Alone makes each split a unit of its own.
	Alone  bool   `json:"alone"`
	Folder string `json:"folder"`
}

// stub is an environment whose source needs no server.
type stub struct{}

func (stub) Job(_ context.Context, data json.RawMessage) (*activities.Job, error) {
	j, err := parse(data)
	if err != nil {
		return nil, err
	}
	return &activities.Job{
		Name: j.Job, Staging: "file://" + j.Folder + "/staging", Settings: activities.Settings{Parallelism: parallelism},
		Tables: []activities.TableSpec{j.spec()},
	}, nil
}

const parallelism = 8

func parse(data json.RawMessage) (job, error) {
	var j job
	if err := json.Unmarshal(data, &j); err != nil {
		return j, fmt.Errorf("%w: %w", activities.ErrConfig, err)
	}
	return j, nil
}

func target() catalog.Identifier { return catalog.Identifier{Database: "bench", Table: "scale"} }

func (j job) warehouse() string { return "file://" + j.Folder + "/lake" }

func (j job) spec() activities.TableSpec {
	s := activities.TableSpec{
		Job: j.Job, Name: "scale", Warehouse: j.warehouse(), Target: target(), Overwrite: true, Retention: time.Hour,
		Parallelism: parallelism, Memory: 1 << 30, PackRows: splitRows,
	}
	if j.Alone {
		s.PackRows = 0
	}
	return s
}

func (stub) Staging(_ context.Context, uri, _ string) (fileio.Store, error) {
	return fileio.OpenLocal(uri)
}

func (stub) Open(_ context.Context, data json.RawMessage, _ string) (*activities.Session, error) {
	j, err := parse(data)
	if err != nil {
		return nil, err
	}
	warehouse, err := fileio.OpenLocal(j.warehouse())
	if err != nil {
		return nil, err
	}
	return &activities.Session{
		Spec: j.spec(), Source: shards(j.Shards), Warehouse: warehouse, Catalog: catalog.NewFilesystem(warehouse), Close: func() {},
	}, nil
}

// shards is a source of so many shards.
type shards int

func idType() schema.Type { return schema.Of(schema.BigInt).WithNotNull(true) }

func (n shards) Discover(context.Context) ([]source.Table, error) {
	columns := []source.Column{{Name: "id", Definition: "bigint", Type: idType()}}
	tables := make([]source.Table, n)
	for i := range tables {
		tables[i] = source.Table{
			Shard:   source.Shard{Instance: fmt.Sprintf("db-%02d", i*16/int(n)), Database: "shop", Table: fmt.Sprintf("orders_%05d", i)},
			Columns: columns, Rows: splitsPerShard * splitRows, Bytes: splitsPerShard * splitRows * rowBytes,
		}
	}
	return tables, nil
}

func (n shards) Merge(tables []source.Table) (*activities.Merged, error) {
	merged, err := source.Merge(tables, source.MergeOptions{})
	if err != nil {
		return nil, err
	}
	out := &activities.Merged{Fields: merged.Fields()}
	for _, t := range tables {
		out.Outputs = append(out.Outputs, merged.Outputs(t))
	}
	return out, nil
}

func (n shards) Split(context.Context, source.Table) ([]source.Split, error) {
	splits := make([]source.Split, splitsPerShard)
	for i := range splits {
		splits[i] = source.Split{
			Range: &source.Range{Column: "id", Lower: fmt.Sprint(i * splitRows), Upper: fmt.Sprint((i+1)*splitRows - 1)}, Rows: splitRows,
		}
	}
	return splits, nil
}

func (n shards) Read(_ context.Context, _ source.Read, emit func(*row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	b := row.NewBatch([]schema.Type{idType()})
	for i := range int64(readRows) {
		b.Columns[0].I64 = append(b.Columns[0].I64, i)
		b.Rows++
	}
	_, err := emit(b)
	return source.ReadStats{Rows: readRows}, err
}

func (n shards) Consistency() string { return "split" }
