package deletes

import (
	"context"
	"fmt"
	"strings"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/keydiff"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/predicate"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/tally"
)

// Spec is what a job says of rows that are gone from the source. The zero value: nothing.
type Spec struct {
	// Column and Value are the mark of a deleted row (soft_delete), as text; no column is no mark.
	Column, Value string
	// Compare lets a full refresh change the table in place of replacing it (detect_deletes: compare_keys): rows are upserted,
	// and those whose key the source has no more are taken away.
	Compare bool
	// Refresh tells that all rows of the source are read, for a table that is to hold these and nothing else. Otherwise they are
	// added to it.
	Refresh bool
}

// Check tells in a sentence why it cannot be done to a table, or nothing. The table has the fields that are written; replace tells
// that what others changed may go (on_conflict: replace).
func (s Spec) Check(table *schema.Table, replace bool) string {
	if s.Column == "" && !s.Compare {
		return ""
	}
	if len(table.PrimaryKeys) == 0 {
		return s.noKey()
	}
	spec, err := mergetree.SpecOf(table)
	if err != nil {
		return err.Error()
	}
	if s.Column != "" {
		if _, err := s.Marked(table); err != nil {
			return "soft_delete: " + err.Error()
		}
	}
	if s.Compare {
		return s.checkCompare(spec, replace)
	}
	if !s.Refresh && !takesDeletes(spec) {
		return fmt.Sprintf("soft_delete takes rows away, which a table with merge-engine = %s and ignore-delete = %t does not let happen", spec.Engine, spec.IgnoreDelete)
	}
	return ""
}

func (s Spec) noKey() string {
	if s.Compare {
		return "detect_deletes: compare_keys needs a primary_key: a full refresh of an append table replaces all rows anyway"
	}
	return "soft_delete needs a primary_key: rows of an append table cannot be taken away; leave them out by where"
}

func takesDeletes(spec *mergetree.Spec) bool {
	return !spec.IgnoreDelete && (spec.Engine == mergetree.Deduplicate || spec.RemoveOnDelete)
}

func (s Spec) checkCompare(spec *mergetree.Spec, replace bool) string {
	switch {
	case !s.Refresh:
		return "detect_deletes: compare_keys needs mode: full-refresh, since keys can be missed only where all are read"
	case replace:
		return "detect_deletes: compare_keys takes away what is not in the source, so that on_conflict: replace cannot be told from it: use fail"
	case spec.Engine != mergetree.Deduplicate || spec.IgnoreDelete:
		return fmt.Sprintf("detect_deletes: compare_keys needs merge-engine = deduplicate without ignore-delete: with %s the table would not become what the source is", spec.Engine)
	case len(spec.Sequence) > 0:
		return "detect_deletes: compare_keys makes the table what the source is, which sequence.field may prevent: a row that is older there than in the table would lose"
	}
	return ""
}

// Fate says for people what becomes of rows that are gone from the source.
func (s Spec) Fate() string {
	var parts []string
	if s.Column != "" {
		parts = append(parts, fmt.Sprintf("rows with %s = %s are not in the table", s.Column, s.Value))
	}
	if s.Compare {
		parts = append(parts, "rows are compared with those of the table, and what the source has no more is taken away")
	}
	if len(parts) == 0 {
		return "nothing is deleted"
	}
	return strings.Join(parts, ", ")
}

// Marked is the condition that deleted rows meet.
func (s Spec) Marked(table *schema.Table) (*predicate.Predicate, error) {
	at := table.Index(s.Column)
	if at < 0 {
		return nil, fmt.Errorf("column %q is not among those of the table", s.Column)
	}
	t := table.Fields[at].Type
	v, err := row.ParseText(t, s.text(t))
	if err != nil {
		return nil, fmt.Errorf("value %q for column %s of type %s: %w", s.Value, s.Column, t, err)
	}
	return predicate.Bind(table.Fields, predicate.Eq(s.Column, v))
}

// Mark is what sets deleted rows of the source apart.
func (s Spec) Mark(table *schema.Table) (*source.Mark, error) {
	if _, err := s.Marked(table); err != nil {
		return nil, err
	}
	m := &source.Mark{Output: table.Index(s.Column)}
	t := table.Fields[m.Output].Type
	v, err := row.ParseText(t, s.text(t))
	if err != nil {
		return nil, err
	}
	one := row.NewBatch([]schema.Type{t})
	one.Columns[0].Append(v)
	m.Text = string(tally.AppendText(nil, &one.Columns[0], 0))
	return m, nil
}

// text is the value for a column of a type. MySQL's booleans are numbers.
func (s Spec) text(t schema.Type) string {
	numbers := map[string]string{"true": "1", "false": "0"}
	switch t.Kind {
	case schema.TinyInt, schema.SmallInt, schema.Int, schema.BigInt:
		if n, ok := numbers[strings.ToLower(s.Value)]; ok {
			return n
		}
	case schema.Boolean:
		for text, n := range numbers {
			if s.Value == n {
				return text
			}
		}
	default:
	}
	return s.Value
}

// Buckets are the partitions and buckets that a table has rows in, as parts without sources: a comparison must reach them all.
func Buckets(ctx context.Context, table *lake.Table) ([]lake.ShuffledPart, error) {
	files, err := table.Files(ctx, 0)
	if err != nil {
		return nil, err
	}
	types, err := table.Schema().PartitionTypes()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var parts []lake.ShuffledPart
	for i := range files {
		p := lake.ShuffledPart{Partition: row.Serialize(types, files[i].Partition), Bucket: files[i].Bucket}
		if id := fmt.Sprint(p.Partition, p.Bucket); !seen[id] {
			seen[id] = true
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// Comparison compares the merged rows of buckets with those that the table has there. It is not for use by several goroutines.
type Comparison struct {
	table *lake.Table
	spec  *mergetree.Spec
	types []schema.Type
	files map[string][]lake.File
	now   *keydiff.Diff
	sums  *keydiff.Sums // of all buckets so far; nil where they are not wanted
}

// Compare begins comparisons with the latest snapshot of a table, with checksums of what needs not be written or is taken away.
func Compare(ctx context.Context, table *lake.Table, checksums bool) (*Comparison, error) {
	c := &Comparison{table: table, files: map[string][]lake.File{}}
	if checksums {
		c.sums = &keydiff.Sums{}
	}
	var err error
	if c.spec, err = mergetree.SpecOf(table.Schema()); err != nil {
		return nil, err
	}
	if c.types, err = table.Schema().PartitionTypes(); err != nil {
		return nil, err
	}
	files, err := table.Files(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		id := fmt.Sprint(row.Serialize(c.types, f.Partition), f.Bucket)
		c.files[id] = append(c.files[id], f)
	}
	return c, nil
}

// Against is for lake.BucketMergerOptions.
func (c *Comparison) Against(ctx context.Context, p lake.ShuffledPart, wanted mergetree.Source) (mergetree.Source, error) {
	there, err := c.table.Merged(ctx, c.files[fmt.Sprint(p.Partition, p.Bucket)], mergetree.MergeOptions{DropDeletes: true})
	if err != nil {
		return nil, err
	}
	c.now = keydiff.New(c.spec, there, wanted)
	c.now.Sums = c.sums
	return c.now, nil
}

// Bucket is how many rows of the last bucket are there already, and how many that were there are taken away.
func (c *Comparison) Bucket() (same, gone int64) { return c.now.Same, c.now.Gone }

// Sums are those of all such rows of all buckets, where they are wanted.
func (c *Comparison) Sums() (same, gone uint64) { return c.sums.Same.Sum, c.sums.Gone.Sum }
