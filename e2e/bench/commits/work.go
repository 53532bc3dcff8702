package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

const (
	user = "bench"
	// timedCommits are looked at, the last ones of those that a child makes.
	timedCommits = 10
	// perMessage is the number of files that one writer leaves.
	perMessage = 100
)

func identifier() catalog.Identifier { return catalog.Identifier{Database: "bench", Table: "many"} }

// columns of the table, whose statistics make up most of a description.
func columns() []schema.Field {
	return []schema.Field{
		{Name: "id", Type: schema.Of(schema.BigInt)},
		{Name: "customer", Type: schema.Of(schema.BigInt)},
		{Name: "amount", Type: schema.Type{Kind: schema.Decimal, Precision: 12, Scale: 2}},
		{Name: "state", Type: schema.StringType()},
		{Name: "note", Type: schema.StringType()},
		{Name: "day", Type: schema.Of(schema.Date)},
	}
}

// prepare makes a table and, for a commit of n files and for small ones, data files and their message files.
func prepare(ctx context.Context, warehouse string, n, commits int) error {
	store, err := fileio.NewLocal(warehouse)
	if err != nil {
		return err
	}
	c := catalog.NewFilesystem(store)
	spec, err := schema.New(schema.Spec{Fields: columns(), TimeMillis: 1})
	if err != nil {
		return err
	}
	if _, err := c.CreateTable(ctx, identifier(), spec); err != nil {
		return err
	}
	bucket := filepath.Join(warehouse, c.Path(identifier()), "bucket-0")
	if err := os.MkdirAll(bucket, 0o755); err != nil {
		return err
	}
	if err := leave(bucket, filepath.Join(warehouse, "large"), n); err != nil {
		return err
	}
	for i := range commits {
		if err := leave(bucket, filepath.Join(warehouse, fmt.Sprintf("small-%d", i)), 1); err != nil {
			return err
		}
	}
	return nil
}

// leave writes n data files and a message file of them.
func leave(bucket, file string, n int) error {
	var messages []*message.Commit
	for i := range n {
		f := describe(int64(i))
		if err := os.WriteFile(filepath.Join(bucket, f.Name), make([]byte, f.Size), 0o644); err != nil {
			return err
		}
		if i%perMessage == 0 {
			unaware := int32(schema.BucketUnaware)
			messages = append(messages, &message.Commit{Partition: make([]byte, 12), TotalBuckets: &unaware})
		}
		last := &messages[len(messages)-1].Data
		last.NewFiles = append(last.NewFiles, f)
	}
	data, err := message.WriteFile(message.File{Producer: "bench", SerializerVersion: message.DefaultVersion, Messages: messages})
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// describe makes up a file with bounds as those of real rows.
func describe(i int64) manifest.DataFile {
	text := func(x int64) row.Value { return row.Value{B: fmt.Appendf(nil, "%016x", x*2654435761)} }
	types, none, zero := row.Types(columns()), make([]byte, 12), int64(0)
	low := []row.Value{{I64: i * 1000}, {I64: i * 7}, {I64: i}, text(i), text(i + 3), {I64: 19000 + i%365}}
	high := []row.Value{{I64: i*1000 + 999}, {I64: i*7 + 10_000}, {I64: i + 99_999}, text(i + 1), text(i + 4), {I64: 19000 + i%365}}
	nulls := make([]*int64, len(types))
	for k := range nulls {
		nulls[k] = &zero
	}
	source := manifest.SourceAppend
	return manifest.DataFile{
		Name: fmt.Sprintf("data-%s-0.parquet", uuid.NewString()), Size: 4, Rows: 1000, MinKey: none, MaxKey: none,
		KeyStats: manifest.EmptyStats(), ExtraFiles: []string{}, DeleteRows: &zero, Source: &source, MaxSequence: 999,
		ValueStats: manifest.Stats{Min: row.Serialize(types, low), Max: row.Serialize(types, high), NullCounts: nulls},
	}
}

// work is one part: the large commit, a few small ones, or the rest of them.
func work(ctx context.Context, what, warehouse string, commits int, out io.Writer) error {
	store, err := fileio.NewLocal(warehouse)
	if err != nil {
		return err
	}
	c := catalog.NewFilesystem(store)
	planned, err := c.LoadTable(ctx, identifier())
	if err != nil {
		return err
	}
	b := &bench{committer: commit.New(store, c.Path(identifier())), planned: planned, warehouse: warehouse}
	switch what {
	case "large":
		err = b.commit(ctx, "large", 0)
	case "first":
		err = b.small(ctx, 0, min(timedCommits, commits))
	case "last":
		err = b.small(ctx, min(timedCommits, commits), commits)
	default:
		err = fmt.Errorf("unknown part %q", what)
	}
	if err != nil {
		return err
	}
	manager := snapshot.NewManager(store, c.Path(identifier()))
	latest, err := manager.Latest(ctx)
	if err != nil {
		return err
	}
	r := timed{Millis: b.millis[max(0, len(b.millis)-timedCommits):]}
	for _, l := range []manifest.List{{Name: latest.BaseManifestList}, {Name: latest.DeltaManifestList}} {
		metas, err := manifest.In(store, c.Path(identifier())).ReadList(ctx, l)
		if err != nil {
			return err
		}
		r.Manifests += len(metas)
	}
	if r.PeakKB, err = peak(); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// peak is the most memory that this process has had, in KiB (proc(5), VmHWM).
func peak() (int64, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
		}
	}
	return 0, errors.New("/proc/self/status has no VmHWM")
}

type bench struct {
	committer *commit.Committer
	planned   *schema.Table
	warehouse string
	millis    []float64
}

func (b *bench) small(ctx context.Context, from, to int) error {
	for i := from; i < to; i++ {
		if err := b.commit(ctx, fmt.Sprintf("small-%d", i), i+1); err != nil {
			return err
		}
	}
	return nil
}

// commit publishes a message file on top of the snapshot of that number.
func (b *bench) commit(ctx context.Context, name string, base int) error {
	began := time.Now()
	data, err := os.ReadFile(filepath.Join(b.warehouse, name))
	if err != nil {
		return err
	}
	file, err := message.ReadFile(name, data, b.planned.ID)
	if err != nil {
		return err
	}
	req := commit.Request{
		User: user, Identifier: int64(base), Kind: snapshot.Append, Messages: file.Messages, Planned: b.planned, Base: snapshot.ID(base),
	}
	if err := b.committer.Check(ctx, req); err != nil {
		return err
	}
	if _, err := b.committer.Publish(ctx, req); err != nil {
		return err
	}
	b.millis = append(b.millis, float64(time.Since(began).Microseconds())/1000)
	return nil
}
