package watermark

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/key"
)

// Condition is what rows within a window meet, and a condition of the user's.
func Condition(within source.KeyRange, where string) (string, error) {
	condition, err := key.Condition(within)
	if where != "" {
		condition += " AND (\n" + where + "\n)"
	}
	return condition, err
}

// narrow is the part of a shard's rows up to which an index finds them sooner than a reading of all would.
const narrow = 8

// finish makes the window up to a value that the server printed.
func (p *planner) finish(ctx context.Context, s *shard, printed string) error {
	w := &s.window
	var err error
	if w.UpTo, err = s.column.Literal(printed); err != nil {
		return err
	}
	w.Range = &source.KeyRange{Columns: []string{s.column.Name}, Upper: []string{w.UpTo}, Nullable: s.column.Nullable}
	if lower := w.After; lower != "" {
		if p.mark.Again {
			if lower, err = p.before(ctx, s, lower); err != nil {
				return err
			}
		}
		w.Range.Lower = []string{lower}
	}
	w.Rows = s.Table.Rows
	if w.After == "" || !s.index {
		return nil
	}
	condition, err := key.Condition(*w.Range)
	if err != nil {
		return err
	}
	rows, err := p.estimate(ctx, s, condition)
	if err == nil && rows >= 0 {
		w.Rows, w.Narrow = rows, rows < s.Table.Rows/narrow
	}
	return err
}

// before is a watermark less the overlap.
func (p *planner) before(ctx context.Context, s *shard, literal string) (string, error) {
	if s.kind == integer {
		return p.less(ctx, literal)
	}
	return earlier(literal, time.Duration(p.mark.Overlap)*time.Microsecond), nil
}

// estimate is how many rows the server expects to meet a condition; -1 where it does not say.
func (p *planner) estimate(ctx context.Context, s *shard, condition string) (int64, error) {
	rows, err := p.conn.QueryContext(ctx, "EXPLAIN SELECT "+key.QuoteName(s.column.Name)+" FROM "+key.TableSQL(s.Table.Shard)+" WHERE "+condition)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	fields, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	values := make([]sql.NullString, len(fields))
	into := make([]any, len(fields))
	for i := range values {
		into[i] = &values[i]
	}
	found := int64(-1)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return 0, err
		}
		for i, f := range fields {
			if !strings.EqualFold(f, "rows") {
				continue
			}
			if n, err := strconv.ParseInt(values[i].String, 10, 64); err == nil {
				found = n
			}
		}
	}
	return found, rows.Err()
}

// note says what windows of this instance do not see.
func (p *planner) note(settled bool) {
	add := func(format string, args ...any) {
		p.notes = append(p.notes, "instance "+p.instance+": "+fmt.Sprintf(format, args...))
	}
	times := p.has(moment) || p.has(day)
	switch {
	case p.blind && times:
		add("open transactions cannot be seen (GRANT PROCESS): rows of transactions that are open for longer than overlap, %s, will be missed", time.Duration(p.mark.Overlap)*time.Microsecond)
	case !p.blind && len(p.held) > 0 && times:
		add("the oldest transaction that may have written began at %s UTC: rows from then on wait for a later run", oldest(p.held).Format(clockForm))
	}
	switch {
	case !p.has(integer):
	case p.blind:
		add("open transactions cannot be seen (GRANT PROCESS): a row that becomes visible with a number below the watermark by more than overlap_values, %d, will be missed", p.mark.Values)
	case !settled:
		add("a transaction that may have written is open since %s UTC: as it may have numbers below the greatest, numbered rows wait for a later run", oldest(p.held).Format(clockForm))
	}
	var unindexed []string
	for _, s := range p.shards {
		if !s.index {
			unindexed = append(unindexed, s.Table.Shard.String())
		}
	}
	if n := len(unindexed); n > 0 {
		add("no index begins with %s in %d of %d shards, such as %s: each run reads these whole to find what is new", p.mark.Column, n, len(p.shards), unindexed[0])
	}
}
