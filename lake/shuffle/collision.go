package shuffle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// ErrManyCollisions ends a merge in which as many rows have the key of another as are noted.
var ErrManyCollisions = errors.New("as many rows with the key of another as are noted")

// Collisions notes rows that have the key of another one. It is not for use by several goroutines.
type Collisions struct {
	// Count is the number of such rows.
	Count int64
	// List are the first of them.
	List []Collision

	table *schema.Table
	most  int
}

// Collision are two rows of one key.
type Collision struct {
	// Key is the primary key, for people.
	Key string
	// Kept and Next are the sequence numbers of the row that the key had so far and of the one that came.
	Kept, Next int64
}

// NewCollisions counts such rows of a table and, if most is not 0, notes as many of them and ends the merge then.
func NewCollisions(table *schema.Table, most int) *Collisions {
	return &Collisions{table: table, most: most}
}

// Met is for lake.BucketMergerOptions.OnDuplicate.
func (c *Collisions) Met(kept, next *row.Batch) error {
	c.Count++
	if c.most == 0 {
		return nil
	}
	number := func(b *row.Batch) int64 { return b.Columns[mergetree.SequenceColumn].I64[0] }
	c.List = append(c.List, Collision{Key: c.key(next), Kept: number(kept), Next: number(next)})
	if c.Full() {
		return ErrManyCollisions
	}
	return nil
}

// Full tells whether as many are noted as may be.
func (c *Collisions) Full() bool { return c.most > 0 && len(c.List) >= c.most }

// Text lists what is noted, a line for each, with where the rows are from by their sequence numbers.
func (c *Collisions) Text(from func(sequence int64) string) string {
	var b strings.Builder
	for _, x := range c.List {
		if kept, next := from(x.Kept), from(x.Next); kept == next {
			fmt.Fprintf(&b, "\n  %s: twice in %s", x.Key, kept)
		} else {
			fmt.Fprintf(&b, "\n  %s: in %s and in %s", x.Key, kept, next)
		}
	}
	if c.Full() {
		b.WriteString("\n  … and perhaps more")
	}
	return b.String()
}

// key is a row's primary key for people.
func (c *Collisions) key(b *row.Batch) string {
	var parts []string
	for _, name := range c.table.PrimaryKeys {
		at := c.table.Index(name)
		parts = append(parts, fmt.Sprintf("%s = %.100s", name, row.Text(c.table.Fields[at].Type, b.Columns[mergetree.ValueColumns+at].Value(0))))
	}
	return strings.Join(parts, ", ")
}
