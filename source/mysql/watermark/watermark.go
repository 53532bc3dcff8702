package watermark

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
	"github.com/tributary-lake/tributary/source/mysql/key"
)

// kind is how values of a column grow.
type kind int

const (
	unfit kind = iota
	integer
	moment
	day
)

func kindOf(d definition.Type) kind {
	switch {
	case d.Integer():
		return integer
	case d.Base == "datetime", d.Base == "timestamp":
		return moment
	case d.Base == "date":
		return day
	}
	return unfit
}

// planner plans the windows of one instance.
type planner struct {
	conn     *sql.Conn
	mark     source.Watermark
	patience time.Duration

	instance string
	shards   []*shard
	clock    time.Time
	// blind tells that open transactions are not seen; held are those that were open.
	blind bool
	held  []transaction
	notes []string
}

// shard is one with what was found out about it.
type shard struct {
	source.Since
	column key.Column
	index  bool
	kind   kind
	// greatest integer that was visible, NULL when nothing is new.
	greatest sql.NullString
	window   source.Window
}

// Plan finds the windows of an instance's shards, one at least, with a connection that nobody else uses meanwhile and whose
// time zone is UTC. A shard that has no such column, or rows in which it is NULL, is a [source.ErrRefused].
func Plan(ctx context.Context, conn *sql.Conn, mark source.Watermark, shards []source.Since) (source.Windows, error) {
	p := &planner{conn: conn, mark: mark, patience: patience, instance: shards[0].Table.Shard.Instance}
	if err := p.plan(ctx, shards); err != nil {
		return source.Windows{}, err
	}
	out := source.Windows{Notes: p.notes}
	for _, s := range p.shards {
		out.List = append(out.List, s.window)
	}
	return out, nil
}

func (p *planner) plan(ctx context.Context, shards []source.Since) error {
	for _, since := range shards {
		s, err := p.look(ctx, since)
		if err != nil {
			return fmt.Errorf("watermark of shard %s: %w", since.Table.Shard, err)
		}
		p.shards = append(p.shards, s)
	}
	if err := p.see(ctx); err != nil {
		return err
	}
	settled := false
	if !p.blind && p.has(integer) {
		var err error
		if settled, err = p.ended(ctx, append([]transaction(nil), p.held...)); err != nil {
			return err
		}
	}
	for _, s := range p.shards {
		if err := p.bound(ctx, s, settled); err != nil {
			return fmt.Errorf("watermark of shard %s: %w", s.Table.Shard, err)
		}
	}
	p.note(settled)
	return nil
}

// look finds the column and its index, and refuses rows that no window would ever have.
func (p *planner) look(ctx context.Context, since source.Since) (*shard, error) {
	found, err := key.Read(ctx, p.conn, since.Table.Shard)
	if err != nil {
		return nil, err
	}
	by, err := found.Forced(since.Table.Shard, p.mark.Column)
	if err != nil {
		return nil, fmt.Errorf("%w: it has no column %q that can be a watermark: use a DATETIME, TIMESTAMP, DATE or integer column that all shards have", source.ErrRefused, p.mark.Column)
	}
	s := &shard{Since: since, column: by.Columns[0], index: by.Index != "", kind: kindOf(by.Columns[0].Kind)}
	if s.kind == unfit {
		return nil, fmt.Errorf("%w: column %q is %s: a watermark is a DATETIME, TIMESTAMP, DATE or integer", source.ErrRefused, s.column.Name, s.column.Kind.Base)
	}
	if after := since.After; after != "" && (after[0] == '\'') == (s.kind == integer) {
		return nil, fmt.Errorf("%w: column %q is %s now, and the watermark of the last run is %s: the column's type was changed; load into a new table",
			source.ErrRefused, s.column.Name, s.column.Kind.Base, after)
	}
	s.window = source.Window{Shard: since.Table.Shard, Column: s.column.Name, After: since.After, Indexed: s.index}
	if !s.column.Nullable {
		return s, nil
	}
	var nulls int64
	name := key.QuoteName(s.column.Name)
	if err := p.conn.QueryRowContext(ctx, "SELECT COUNT(*)"+p.from(s, name+" IS NULL")).Scan(&nulls); err != nil {
		return nil, err
	}
	if nulls > 0 {
		return nil, fmt.Errorf("%w: %d rows have no value in column %q, so that no window would ever have them: fill it, or leave them out by where: %s IS NOT NULL",
			source.ErrRefused, nulls, s.column.Name, s.column.Name)
	}
	return s, nil
}

// from is the rest of a query for rows that meet a condition and the job's.
func (p *planner) from(s *shard, conditions ...string) string {
	if p.mark.Where != "" {
		conditions = append(conditions, "(\n"+p.mark.Where+"\n)")
	}
	text := " FROM " + key.TableSQL(s.Table.Shard)
	if len(conditions) > 0 {
		text += " WHERE " + strings.Join(conditions, " AND ")
	}
	return text
}

// above are the conditions of rows past the shard's watermark.
func (s *shard) above(more ...string) []string {
	if s.After != "" {
		return append([]string{key.QuoteName(s.column.Name) + " > " + s.After}, more...)
	}
	return more
}

func (p *planner) has(k kind) bool {
	for _, s := range p.shards {
		if s.kind == k {
			return true
		}
	}
	return false
}

// see reads the clock and the greatest integers, and then which transactions are open.
func (p *planner) see(ctx context.Context) error {
	var text string
	if err := p.conn.QueryRowContext(ctx, "SELECT DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%d %H:%i:%s')").Scan(&text); err != nil {
		return err
	}
	var err error
	if p.clock, err = parseClock(text); err != nil {
		return err
	}
	for _, s := range p.shards {
		if s.kind != integer {
			continue
		}
		if s.greatest, err = p.greatest(ctx, s, s.above()...); err != nil {
			return fmt.Errorf("watermark of shard %s: %w", s.Table.Shard, err)
		}
	}
	p.held, err = p.open(ctx)
	if errors.Is(err, errBlind) {
		p.blind = true
		return nil
	}
	return err
}

// greatest is the greatest value of rows that meet conditions.
func (p *planner) greatest(ctx context.Context, s *shard, conditions ...string) (sql.NullString, error) {
	var out sql.NullString
	err := p.conn.QueryRowContext(ctx, "SELECT MAX("+key.QuoteName(s.column.Name)+")"+p.from(s, conditions...)).Scan(&out)
	return out, err
}

// bound fixes the end of a shard's window. Settled tells that nothing at or below the greatest integers can still become
// visible.
func (p *planner) bound(ctx context.Context, s *shard, settled bool) error {
	upTo := s.greatest
	var err error
	name := key.QuoteName(s.column.Name)
	switch {
	case s.kind != integer:
		h := horizon(p.clock, oldest(p.held), time.Duration(p.mark.Overlap)*time.Microsecond)
		if s.kind == moment {
			s.window.Held = "before " + h.Format(clockForm)
		} else {
			s.window.Held = "before " + h.Format(dayForm)
		}
		upTo, err = p.greatest(ctx, s, s.above(name+" < "+literalOf(h, s.kind == day))...)
	case !upTo.Valid || settled:
	case !p.blind:
		s.window.Held, upTo.Valid = "transactions are open that may have numbers below the greatest", false
	case p.mark.Values > 0:
		s.window.Held = fmt.Sprintf("%d below the greatest", p.mark.Values)
		var end string
		if end, err = p.less(ctx, upTo.String); err == nil {
			upTo, err = p.greatest(ctx, s, s.above(name+" <= "+end)...)
		}
	}
	if err != nil || !upTo.Valid {
		return err
	}
	return p.finish(ctx, s, upTo.String)
}

// less is an integer less the values that are held back. It may be below what the column can hold.
func (p *planner) less(ctx context.Context, number string) (string, error) {
	var out string
	err := p.conn.QueryRowContext(ctx, fmt.Sprintf("SELECT CAST(%s AS DECIMAL(30)) - %d", number, p.mark.Values)).Scan(&out)
	return out, err
}
