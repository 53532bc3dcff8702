package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/condition"
	"github.com/tributary-lake/tributary/source/mysql/key"
)

// SplitAuto lets Split choose the key.
const SplitAuto = "auto"

// MostSplits bounds the splits of one shard, whatever is asked for.
const MostSplits = 100_000

// defaultSplitRows is how many rows a split should have when nobody says.
const defaultSplitRows = 250_000

// SplitOptions tell how to cut a shard.
type SplitOptions struct {
	// Column to cut by, which may be NULL and need not be unique. [SplitAuto] or empty means the primary key, or a unique
	// key of NOT NULL columns where there is none, or what the primary key begins with where its other columns cannot be
	// bounded exactly, as FLOAT, DOUBLE, BIT, ENUM and SET.
	Column string
	// Rows is how many rows a split should have; 0 means 250,000.
	Rows int64
	// Count is into how many splits a shard goes, instead of Rows; 0 means by Rows. A key with fewer values gets fewer.
	Count int
	// Where is an SQL condition; only rows that meet it are read.
	Where string
}

// Split cuts a shard by its key up to the greatest key now, or gives one split for the whole shard when there is no key.
// The splits read every row once that is there from before Split until it is read. Splits of one integer column are
// [source.Range], those of other keys [source.KeyRange]. An empty shard has no split, but that of the NULLs where the
// column may be NULL. Of a table with a window only what is within it is cut. The splits' Shard is 0: the caller gives them their place in its plan.
//
// An integer key that is evenly used, as the server estimates, is cut into equal widths; any other is walked along its
// index, so that a split has Rows rows, or a little more where one value has several. A column that no index begins with
// is grouped and sorted by the server once.
func (s *Source) Split(ctx context.Context, t source.Table, o SplitOptions) ([]source.Split, error) {
	if err := condition.Check(o.Where); err != nil {
		return nil, err
	}
	in, err := s.instance(t.Shard.Instance)
	if err != nil {
		return nil, err
	}
	if o.Rows <= 0 {
		o.Rows = defaultSplitRows
	}
	if t.Window != nil {
		var err error
		if o, err = within(t, o); err != nil {
			return nil, err
		}
	}
	o.Count = min(o.Count, MostSplits)
	c, err := in.conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	splits, err := splitShard(ctx, c, t, o)
	if err != nil {
		if missing(err) {
			return nil, &source.SchemaChangedError{Shard: t.Shard}
		}
		return nil, fmt.Errorf("split shard %s: %w", t.Shard, classify(err))
	}
	return splits, nil
}

func splitShard(ctx context.Context, c *sql.Conn, t source.Table, o SplitOptions) ([]source.Split, error) {
	by, note, err := keyOf(ctx, c, t, o.Column)
	if err != nil {
		return nil, err
	}
	if by == nil {
		return []source.Split{{Rows: t.Rows, Note: note}}, nil
	}
	p := &splitter{conn: c, table: t, key: *by, options: o}
	var splits []source.Split
	if by.Integer() {
		splits, err = p.integers(ctx)
	} else {
		splits, err = p.others(ctx)
	}
	if err != nil || len(splits) == 0 {
		return nil, err
	}
	splits[0].Note = note
	return splits, source.CheckPlan(splits)
}

// keyOf is the key to cut by, nil for none, and why it is not a whole key.
func keyOf(ctx context.Context, c *sql.Conn, t source.Table, column string) (*key.Key, string, error) {
	auto := column == "" || column == SplitAuto
	if by := key.Plain(t); auto && by != nil {
		return by, "", nil
	}
	found, err := key.Read(ctx, c, t.Shard)
	if err != nil {
		return nil, "", err
	}
	if found.Empty() {
		return nil, "", whyNoColumns(ctx, c, t.Shard)
	}
	if auto {
		by, note := found.Choose()
		return by, note, nil
	}
	by, err := found.Forced(t.Shard, column)
	return by, "", err
}

// splitter cuts one shard by one key.
type splitter struct {
	conn    *sql.Conn
	table   source.Table
	key     key.Key
	options SplitOptions
}

// others cuts by a key that is not one integer.
func (p *splitter) others(ctx context.Context) ([]source.Split, error) {
	bounds, err := p.walk(ctx, "")
	if err != nil {
		return nil, err
	}
	var columns []string
	for _, c := range p.key.Columns {
		columns = append(columns, c.Name)
	}
	nullable := p.key.Columns[0].Nullable
	splits := make([]source.Split, 0, len(bounds)+1)
	var lower []string
	nulls := p.table.Rows
	for _, b := range bounds {
		k := &source.KeyRange{Columns: columns, Lower: lower, Upper: b.key, Nullable: nullable}
		splits = append(splits, source.Split{Keys: k, Rows: b.rows})
		lower = b.key
		nulls -= b.rows
	}
	if nullable {
		k := &source.KeyRange{Columns: columns, Nullable: true, Null: true}
		splits = append(splits, source.Split{Keys: k, Rows: max(0, nulls)})
	}
	return splits, nil
}
