package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/condition"
	"github.com/tributary-lake/tributary/source/mysql/definition"
	"github.com/tributary-lake/tributary/source/mysql/key"
	servertally "github.com/tributary-lake/tributary/source/mysql/tally"
	"github.com/tributary-lake/tributary/source/mysql/wire"
	"github.com/tributary-lake/tributary/source/tally"
)

// Read reads the rows of a split into batches, which have a column for each output, and returns what it read. swap takes a
// full batch and gives one to fill next, of the same types: the same one when nothing is kept. What it holds is dropped.
// An error of swap ends the read and is wrapped.
//
// Rows that were handed on before an error do not count: a read is tried again from its start.
func (s *Source) Read(ctx context.Context, r source.Read, swap func(full *row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	in, err := s.instance(r.Shard.Instance)
	if err != nil {
		return source.ReadStats{}, err
	}
	if r.Outputs, err = withConstants(r); err != nil {
		return source.ReadStats{}, err
	}
	stats, err := in.read(ctx, r, wire.Request{Outputs: r.Outputs, Shard: r.Shard, Sample: r.Sample, Swap: swap, Room: r.Room}, s.options)
	if err != nil {
		return source.ReadStats{}, named(ctx, r.Shard, err)
	}
	return stats, nil
}

// named says which shard an error in reading is about.
func named(ctx context.Context, shard source.Shard, err error) error {
	if err == nil {
		return nil
	}
	var own *wire.SwapError
	if ctx.Err() != nil && !errors.As(err, &own) {
		err = context.Cause(ctx)
	}
	var changed *source.SchemaChangedError
	if errors.As(err, &changed) {
		return changed // it names the shard
	}
	return fmt.Errorf("read shard %s: %w", shard, err)
}

// withConstants gives provenance columns their value for the shard, which plans leave out.
func withConstants(r source.Read) ([]source.Output, error) {
	outputs := slices.Clone(r.Outputs)
	for i := range outputs {
		var err error
		if o := &outputs[i]; o.Constant == nil {
			if o.Constant, err = o.ConstantOf(r.Shard); err != nil {
				return nil, err
			}
		}
	}
	return outputs, nil
}

func (in *instance) read(ctx context.Context, r source.Read, q wire.Request, o Options) (source.ReadStats, error) {
	end, err := in.begin(ctx, &q, r, o, 0)
	if err != nil {
		return source.ReadStats{}, err
	}
	defer end()
	c, err := in.conn(ctx)
	if err != nil {
		return source.ReadStats{}, err
	}
	defer c.Close()
	if r.Tally {
		return readTwice(ctx, c, r, q)
	}
	return readOn(ctx, c, r, q)
}

// readTwice reads a split in a snapshot in which its rows are summed too.
func readTwice(ctx context.Context, c *sql.Conn, r source.Read, q wire.Request) (stats source.ReadStats, err error) {
	for _, begin := range []string{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
		if _, err := c.ExecContext(ctx, begin); err != nil {
			return stats, classify(fmt.Errorf("open a snapshot: %w", err))
		}
	}
	stats, err = readOn(ctx, c, r, q)
	if _, ended := c.ExecContext(ctx, "ROLLBACK"); ended != nil {
		// The connection cannot be used again; what was read counts all the same.
		_ = c.Raw(func(any) error { return driver.ErrBadConn })
	}
	return stats, err
}

// tallyOn has the server count and sum the rows of a split that meet other conditions too.
func tallyOn(ctx context.Context, c *sql.Conn, r source.Read, conditions ...string) (*tally.Sum, error) {
	what, err := servertally.Select(r.Outputs, quoteName)
	if err != nil {
		return nil, err
	}
	from, err := fromSQL(r, conditions...)
	if err != nil {
		return nil, err
	}
	var text string
	if err := c.QueryRowContext(ctx, "SELECT "+what+from).Scan(&text); err != nil {
		return nil, classify(fmt.Errorf("have the server sum the rows: %w", err))
	}
	sum, err := servertally.Parse(text)
	return &sum, err
}

// readOn reads a split on a connection.
func readOn(ctx context.Context, c *sql.Conn, r source.Read, q wire.Request) (stats source.ReadStats, err error) {
	if err := checkColumns(ctx, c, r); err != nil {
		return stats, classify(err)
	}
	var own *tally.Sum
	if r.Tally {
		if own, err = tallyOn(ctx, c, r); err != nil {
			return stats, err
		}
	}
	var failed error
	err = c.Raw(func(dc any) error {
		raw, ok := dc.(*conn)
		if !ok {
			failed = fmt.Errorf("the pool holds a %T", dc)
			return nil
		}
		var clean bool
		if stats, clean, failed = raw.run(ctx, q); !clean {
			return driver.ErrBadConn // the pool closes it
		}
		return nil
	})
	stats.Tally = own
	if failed != nil {
		return stats, explain(failed, r, stats.Rows)
	}
	if errors.Is(err, driver.ErrBadConn) {
		return stats, nil // the rows are complete
	}
	return stats, err
}

// rowsIn is how many rows of the outputs fit into twice so many bytes, whatever is in them: a NULL takes a bit of a packet, and
// the room of a value in a batch.
func rowsIn(outputs []source.Output, bytes int) int {
	const value = 8 // or less, but for a few
	return max(1, 2*bytes/(value*len(outputs)))
}

// run streams one statement on a connection that is not otherwise in use. The connection may be used again if it
// is left clean; a cancelled context cuts it.
func (c *conn) run(ctx context.Context, q wire.Request) (stats source.ReadStats, clean bool, err error) {
	if !c.IsValid() {
		return stats, false, fmt.Errorf("%w: the connection was closed", source.ErrUnavailable)
	}
	end := c.guard(ctx)
	stop := context.AfterFunc(ctx, func() { _ = c.tap.Close() })
	defer func() {
		end()
		if !stop() {
			clean = false // it is cut, or will be at any moment
		}
	}()
	if c.reader == nil {
		if err := c.widen(ctx); err != nil {
			return stats, false, err
		}
		c.reader = wire.NewReader(c.wire, c.tap.features())
	}
	return c.reader.Read(q)
}

// selectSQL is the statement that reads a split.
func selectSQL(r source.Read) (string, error) {
	var names []string
	for _, o := range r.Outputs {
		if o.Column.Name != "" {
			names = append(names, quoteName(o.Column.Name))
		}
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%w: no column is selected", source.ErrRefused)
	}
	from, err := fromSQL(r)
	if err != nil {
		return "", err
	}
	query := "SELECT " + strings.Join(names, ", ") + from
	if r.Sample != nil {
		query += fmt.Sprintf("\nLIMIT %d", r.Sample.Rows) // a where may end with a comment
	}
	return query, nil
}

// fromSQL is the rest of the statement: the rows of a split that meet other conditions too.
func fromSQL(r source.Read, conditions ...string) (string, error) {
	if r.Split.Range != nil {
		c, err := rangeSQL(*r.Split.Range)
		if err != nil {
			return "", err
		}
		conditions = append(conditions, c)
	}
	if r.Split.Keys != nil {
		c, err := key.Condition(*r.Split.Keys)
		if err != nil {
			return "", err
		}
		conditions = append(conditions, "("+c+")")
	}
	if r.Split.Window != nil {
		c, err := key.Condition(*r.Split.Window)
		if err != nil {
			return "", err
		}
		conditions = append(conditions, "("+c+")")
	}
	if r.Where != "" {
		if err := condition.Check(r.Where); err != nil {
			return "", err
		}
		conditions = append(conditions, whereSQL(r.Where))
	}
	from := " FROM " + tableSQL(r.Shard)
	if len(conditions) > 0 {
		from += " WHERE " + strings.Join(conditions, " AND ")
	}
	return from, nil
}

// rangeSQL is a range as a condition with literals of the column's own kind: a decimal integer up to 2^63-1 is signed
// for the server, a larger one unsigned, and both compare exactly with an integer column of their signedness.
func rangeSQL(r source.Range) (string, error) {
	if _, _, err := r.Places(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s BETWEEN %s AND %s", quoteName(r.Column), r.Lower, r.Upper), nil
}

// whereSQL stands on lines of its own, so that a comment in it ends there.
func whereSQL(where string) string { return "(\n" + where + "\n)" }

// whyNoColumns tells a table that is gone from one that the account may no longer see: information_schema shows neither.
func whyNoColumns(ctx context.Context, c *sql.Conn, shard source.Shard) error {
	var one int
	err := c.QueryRowContext(ctx, "SELECT 1 FROM "+tableSQL(shard)+" LIMIT 0").Scan(&one)
	if err != nil && !errors.Is(err, sql.ErrNoRows) && !missing(err) {
		return fmt.Errorf("check the columns: %w", err)
	}
	return &source.SchemaChangedError{Shard: shard}
}

// checkColumns compares the shard's columns with those that the plan knows.
func checkColumns(ctx context.Context, c *sql.Conn, r source.Read) error {
	rows, err := c.QueryContext(ctx, "SELECT "+columnFields+" FROM information_schema.columns WHERE table_schema = "+
		quoteText(r.Shard.Database)+" AND table_name = "+quoteText(r.Shard.Table))
	if err != nil {
		return fmt.Errorf("check the columns: %w", err)
	}
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var i definition.Column
		var nullable string
		if err := rows.Scan(&i.Name, &i.Type, &i.Charset, &nullable, &i.Extra, &i.Comment); err != nil {
			return fmt.Errorf("check the columns: %w", err)
		}
		i.NotNull = nullable == "NO"
		found[strings.ToLower(i.Name)] = i.Definition()
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("check the columns: %w", err)
	}
	if len(found) == 0 {
		return whyNoColumns(ctx, c, r.Shard)
	}
	for _, o := range r.Outputs {
		if o.Column.Name == "" {
			continue
		}
		if now := found[strings.ToLower(o.Column.Name)]; now != o.Column.Definition {
			return &source.SchemaChangedError{Shard: r.Shard, Column: o.Column.Name, Planned: o.Column.Definition, Found: now}
		}
	}
	if r.Every {
		return checkAdded(found, r)
	}
	return nil
}

// checkAdded finds a column that the plan does not have.
func checkAdded(found map[string]string, r source.Read) error {
	for _, o := range r.Outputs {
		delete(found, strings.ToLower(o.Column.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		return &source.SchemaChangedError{Shard: r.Shard, Column: name, Found: found[name]}
	}
	return nil
}

// explain gives an error of a read its class and says what it means for the shard.
func explain(err error, r source.Read, rows int64) error {
	var own *wire.SwapError
	if errors.As(err, &own) {
		return err
	}
	if missing(err) {
		return &source.SchemaChangedError{Shard: r.Shard}
	}
	if name, ok := unknownColumn(err, r.Outputs); ok {
		return &source.SchemaChangedError{Shard: r.Shard, Column: name.Name, Planned: name.Definition}
	}
	err = classify(err)
	if rows > 0 && errors.Is(err, source.ErrUnavailable) {
		return fmt.Errorf("after %d rows: %w", rows, err)
	}
	return err
}
