package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/source"
)

const (
	// leastProbes and mostProbes bound into how many parts a key is divided to see whether it is evenly used.
	leastProbes, mostProbes = 16, 1024
	// probesAtOnce go into one statement.
	probesAtOnce = 128
	// walkedAnyway is how many rows a shard has at most, by its statistics, that is not worth an estimate.
	walkedAnyway = 20_000
	// leastProbed is how many rows a part has to have on average: estimates never say that there are none.
	leastProbed = 8
)

// integers cuts by one integer column that is never NULL, between its least and its greatest value now.
func (p *splitter) integers(ctx context.Context) ([]source.Split, error) {
	column := p.key.Columns[0]
	r := source.Range{Column: column.Name, Unsigned: column.Kind.Unsigned}
	var least, greatest sql.NullString
	name := quoteName(column.Name)
	query := fmt.Sprintf("SELECT MIN(%s), MAX(%s) FROM %s", name, name, tableSQL(p.table.Shard)) + wheres(p.conditions(""))
	if err := p.conn.QueryRowContext(ctx, query).Scan(&least, &greatest); err != nil {
		return nil, err
	}
	if !least.Valid {
		return nil, nil
	}
	r.Lower, r.Upper = least.String, greatest.String
	lower, upper, err := r.Places()
	if err != nil {
		return nil, err
	}
	if n, rows, ok := p.settled(upper - lower); ok {
		return equalWidths(r, n, rows)
	}
	if p.key.Index != "" {
		even, rows, err := p.even(ctx, r, upper-lower)
		if err != nil {
			return nil, err
		}
		if even {
			return equalWidths(r, p.parts(rows, upper-lower), rows)
		}
	}
	return p.walkIntegers(ctx, r)
}

// equalWidths cuts a range of so many rows into n splits.
func equalWidths(r source.Range, n int, rows int64) ([]source.Split, error) {
	ranges, err := r.Cut(n)
	if err != nil {
		return nil, err
	}
	splits := make([]source.Split, len(ranges))
	for i := range ranges {
		splits[i] = source.Split{Range: &ranges[i], Rows: (rows + int64(n) - 1) / int64(n)}
	}
	return splits, nil
}

// parts is into how many splits so many rows go.
func (p *splitter) parts(rows int64, span uint64) int {
	if p.options.Count > 0 {
		return p.options.Count
	}
	return source.Parts(rows, p.options.Rows, span, MostSplits)
}

// settled is the number of splits where the key's span alone decides it: a unique key has no more rows than values.
func (p *splitter) settled(span uint64) (n int, rows int64, ok bool) {
	rows = max(p.table.Rows, 1)
	if p.key.Unique && span < math.MaxInt64 {
		rows = min(rows, int64(span)+1)
	}
	switch {
	case p.options.Count == 1 || span == 0:
		return 1, rows, true
	case p.options.Count > 0:
		return 0, 0, false
	}
	return p.parts(rows, span), rows, p.key.Unique && span < 2*uint64(p.options.Rows)
}

// even tells whether splits of equal width would have about the same number of rows, and how many rows there are. It has
// the server estimate parts of the key's span by a look into the index, which costs no reading of rows. Where statistics
// say that there are few rows, or other than what the index shows, there is no base for an estimate: not even.
func (p *splitter) even(ctx context.Context, r source.Range, span uint64) (bool, int64, error) {
	if p.options.Count == 0 && p.table.Rows <= min(p.options.Rows, walkedAnyway) {
		return false, 0, nil
	}
	n := p.parts(p.table.Rows, span)
	for {
		probes := max(leastProbes, min(n, mostProbes))
		ranges, err := r.Cut(probes)
		if err != nil {
			return false, 0, err
		}
		estimates, err := p.estimate(ctx, ranges)
		if err != nil {
			return false, 0, err
		}
		if len(estimates) == 0 {
			return false, 0, nil
		}
		total, most := int64(0), int64(0)
		for _, e := range estimates {
			total += e
			most = max(most, e)
		}
		average := total / int64(len(estimates))
		sparse := 0
		for _, e := range estimates {
			if e < average/4 {
				sparse++
			}
		}
		// InnoDB says up to twice the rows that there are where it does not count, and never more than half of what its
		// statistics say.
		rows := p.table.Rows
		if average < leastProbed || most > 2*average || sparse > len(estimates)/8 || total/3 > rows || most > rows/3 {
			return false, 0, nil
		}
		if rows > total+total/2 {
			rows = total
		}
		if n = p.parts(rows, span); n <= probes || probes == mostProbes {
			return true, rows, nil
		}
	}
}

// estimate asks the server how many rows it expects in each range. There are none where the server has an EXPLAIN of its own
// kind, as MySQL's look-alikes do.
func (p *splitter) estimate(ctx context.Context, ranges []source.Range) ([]int64, error) {
	out := make([]int64, 0, len(ranges))
	for len(out) < len(ranges) {
		some := ranges[len(out):min(len(out)+probesAtOnce, len(ranges))]
		selects := make([]string, len(some))
		for i, r := range some {
			condition, err := rangeSQL(r)
			if err != nil {
				return nil, err
			}
			selects[i] = "SELECT " + quoteName(r.Column) + " FROM " + p.from() + " WHERE " + condition
		}
		estimates, err := p.explain(ctx, strings.Join(selects, " UNION ALL "))
		var number *strconv.NumError
		if errors.As(err, &number) || err == nil && len(estimates) != len(some) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, estimates...)
	}
	return out, nil
}

// explain is the number of rows in each line of an EXPLAIN, 0 where the server sees that there are none.
func (p *splitter) explain(ctx context.Context, query string) ([]int64, error) {
	rows, err := p.conn.QueryContext(ctx, "EXPLAIN "+query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	fields, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]sql.NullString, len(fields))
	into := make([]any, len(fields))
	for i := range values {
		into[i] = &values[i]
	}
	var out []int64
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		var estimate int64
		result := false
		for i, f := range fields {
			switch strings.ToLower(f) {
			case "rows":
				estimate, _ = strconv.ParseInt(values[i].String, 10, 64) // NULL for none
			case "select_type":
				result = values[i].String == "UNION RESULT"
			}
		}
		if !result {
			out = append(out, estimate)
		}
	}
	return out, rows.Err()
}

// walkIntegers cuts by walking along the key.
func (p *splitter) walkIntegers(ctx context.Context, r source.Range) ([]source.Split, error) {
	condition, err := rangeSQL(r)
	if err != nil {
		return nil, err
	}
	found, err := p.walk(ctx, condition)
	if err != nil {
		return nil, err
	}
	var after []string
	splits := make([]source.Split, 0, len(found))
	for _, b := range found {
		splits = append(splits, source.Split{Rows: b.rows})
		after = append(after, b.key[0])
	}
	if len(splits) == 0 {
		// All rows have gone since the range was found.
		splits, after = []source.Split{{}}, []string{r.Upper}
	}
	r.Upper = after[len(after)-1]
	ranges, err := r.CutAt(after[:len(after)-1])
	if err != nil {
		return nil, err
	}
	for i := range splits {
		splits[i].Range = &ranges[i]
	}
	return splits, nil
}
