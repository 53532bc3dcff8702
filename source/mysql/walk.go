package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/source/mysql/key"
)

// bound is the end of a split: the literals of a key, and about how many rows there are up to it from the one before.
type bound struct {
	key  []string
	rows int64
}

// mostBoundBytes bounds what the bounds of one shard hold in memory. Beyond it, splits get twice the rows.
const mostBoundBytes = 32 << 20

// walk finds the bounds of splits, the last of which is the greatest key now; none when the shard has no key. Floor is a
// condition that keys have to meet too, or empty.
//
// Every bound comes from the server as a key that it finds greater than the bound before and less than the greatest one.
// So bounds that are equal under the key's collation cannot come up, and no split is empty when it is planned.
func (p *splitter) walk(ctx context.Context, floor string) ([]bound, error) {
	pace, err := p.pace(ctx)
	if err != nil {
		return nil, err
	}
	if p.key.Index == "" {
		return p.group(ctx, floor, pace)
	}
	w := &bounds{pace: pace}
	greatest, err := p.seek(ctx, floor, nil, nil, "DESC", 0)
	if err != nil || greatest == nil {
		return nil, err
	}
	for !pace.last(len(w.all)) {
		rows := pace.step(len(w.all))
		next, err := p.seek(ctx, floor, w.key(), greatest, "ASC", rows-1)
		if err != nil {
			return nil, err
		}
		if next == nil || slices.Equal(next, greatest) {
			break
		}
		if slices.Equal(next, w.key()) {
			return nil, fmt.Errorf("the server finds the key %.500q greater than itself: check the table, or name another column with split.column", next)
		}
		w.add(next, rows)
	}
	return append(w.all, bound{greatest, p.rest(w)}), nil
}

// rest is how many rows the last split may have.
func (p *splitter) rest(w *bounds) int64 {
	rows, most := p.table.Rows, w.pace.rows
	if w.pace.parts > 0 {
		rows, most = w.pace.total, w.pace.total
	}
	for _, b := range w.all {
		rows -= b.rows
	}
	return max(1, min(rows, most))
}

// seek is the key that stands offset keys behind the first one between two bounds, each of which may be nil, in an order.
// It is nil when there are not as many.
func (p *splitter) seek(ctx context.Context, floor string, above, below []string, order string, offset int64) ([]string, error) {
	printed := make([]string, len(p.key.Columns))
	into := make([]any, len(printed))
	for i := range printed {
		into[i] = &printed[i]
	}
	query := p.seekSQL(floor, above, below, order, offset)
	if err := p.conn.QueryRowContext(ctx, query).Scan(into...); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return nil, nil
		}
		return nil, err
	}
	return p.literals(printed)
}

func (p *splitter) seekSQL(floor string, above, below []string, order string, offset int64) string {
	var names, expressions, orders []string
	for _, c := range p.key.Columns {
		name := quoteName(c.Name)
		names = append(names, name)
		expressions = append(expressions, c.Expression())
		orders = append(orders, name+" "+order)
	}
	conditions := p.conditions(floor)
	if within := key.Between(names, above, below, "<"); within != "" {
		conditions = append(conditions, within)
	}
	return "SELECT " + strings.Join(expressions, ", ") + " FROM " + p.from() + wheres(conditions) +
		" ORDER BY " + strings.Join(orders, ", ") + fmt.Sprintf(" LIMIT 1 OFFSET %d", offset)
}

// literals are a printed key as SQL.
func (p *splitter) literals(printed []string) ([]string, error) {
	out := make([]string, len(printed))
	for i, c := range p.key.Columns {
		var err error
		if out[i], err = c.Literal(printed[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// from is the shard, with its key's index: the optimizer would sort the whole shard rather than walk far.
func (p *splitter) from() string {
	from := tableSQL(p.table.Shard)
	if p.key.Index != "" {
		from += " FORCE INDEX (" + quoteName(p.key.Index) + ")"
	}
	return from
}

// conditions are those of every query for keys.
func (p *splitter) conditions(more string) []string {
	var all []string
	if c := p.key.Columns[0]; c.Nullable {
		all = append(all, quoteName(c.Name)+" IS NOT NULL")
	}
	if more != "" {
		all = append(all, more)
	}
	if p.options.Where != "" {
		all = append(all, whereSQL(p.options.Where))
	}
	return all
}

func wheres(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// group finds the bounds of a column that no index begins with: the server groups and sorts its values once, by its own
// collation, and they are counted as they come.
func (p *splitter) group(ctx context.Context, floor string, pace *pace) ([]bound, error) {
	c := p.key.Columns[0]
	name := quoteName(c.Name)
	rows, err := p.conn.QueryContext(ctx, "SELECT "+c.Expression()+", COUNT(*) FROM "+p.from()+wheres(p.conditions(floor))+
		" GROUP BY "+name+" ORDER BY "+name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	w := &bounds{pace: pace}
	var count int64
	var last []string
	for rows.Next() {
		printed := make([]string, 1)
		var n int64
		if err := rows.Scan(&printed[0], &n); err != nil {
			return nil, err
		}
		if last, err = p.literals(printed); err != nil {
			return nil, err
		}
		if count += n; !pace.last(len(w.all)) && count >= pace.step(len(w.all)) && !slices.Equal(w.key(), last) {
			w.add(last, count)
			count = 0
		}
	}
	if last != nil && !slices.Equal(w.key(), last) {
		w.all = append(w.all, bound{last, count})
	}
	return w.all, rows.Err()
}

// pace tells how many rows go into each split.
type pace struct {
	// rows a split, when parts is 0; else total rows go into parts.
	rows         int64
	parts, total int64
}

// pace of the options. How many rows there are is counted when the number of splits is given: statistics are no base for it.
func (p *splitter) pace(ctx context.Context) (*pace, error) {
	if p.options.Count < 1 {
		return &pace{rows: p.options.Rows}, nil
	}
	out := &pace{parts: int64(p.options.Count)}
	if out.parts == 1 {
		return out, nil
	}
	query := "SELECT COUNT(*) FROM " + tableSQL(p.table.Shard) + wheres(p.conditions(""))
	return out, p.conn.QueryRowContext(ctx, query).Scan(&out.total)
}

// step is how many rows the split after done others has.
func (p *pace) step(done int) int64 {
	if p.parts == 0 {
		return p.rows
	}
	d := int64(done)
	return max(1, (d+1)*p.total/p.parts-d*p.total/p.parts)
}

// last tells that the split after done others is the last one.
func (p *pace) last(done int) bool { return p.parts > 0 && int64(done) >= p.parts-1 }

// bounds collects the ends of splits in order.
type bounds struct {
	pace  *pace
	all   []bound
	bytes int
}

// key is the last bound, nil when there is none yet.
func (b *bounds) key() []string {
	if len(b.all) == 0 {
		return nil
	}
	return b.all[len(b.all)-1].key
}

// add takes in a bound. When there are too many, each two splits become one, and those to come get twice the rows.
func (b *bounds) add(key []string, rows int64) {
	b.all = append(b.all, bound{key, rows})
	for _, literal := range key {
		b.bytes += len(literal)
	}
	if len(b.all) < MostSplits-1 && b.bytes < mostBoundBytes || b.pace.parts > 0 {
		return
	}
	n := 0
	b.bytes /= 2
	for i := 1; i < len(b.all); i += 2 {
		b.all[n] = bound{b.all[i].key, b.all[i-1].rows + b.all[i].rows}
		n++
	}
	b.all = b.all[:n] // an odd one is walked again
	b.pace.rows *= 2
}
