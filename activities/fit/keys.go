package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Keys refuses what a run cannot do to a target with a primary key, and notes what a person should know of it, a sentence
// each. Another target has nothing to say.
func (f *Fitted) Keys(w Wanted, s Shards) ([]string, error) {
	if len(f.Planned.PrimaryKeys) == 0 {
		return nil, nil
	}
	refuse := func(format string, args ...any) ([]string, error) {
		return nil, fmt.Errorf("target %s has the primary key (%s): %w", w.Target, strings.Join(f.Planned.PrimaryKeys, ", "), fmt.Errorf(format, args...))
	}
	o, err := f.Planned.ParseOptions()
	if err != nil {
		return refuse("%w", err)
	}
	if o.Bucket == schema.BucketUnaware {
		return refuse("it needs a number of buckets, which bound how many activities merge rows at once and in what portions readers read: "+
			"set target.bucket, for about %s as these are to %d", s.size(), s.buckets())
	}
	for _, name := range f.Planned.PartitionKeys {
		if !slices.Contains(f.Planned.PrimaryKeys, name) {
			return refuse("the partition column %s is not in it, so rows of one key could lie in several partitions: add it to primary_key, or do not partition by it", name)
		}
	}
	merges, err := mergetree.SpecOf(f.Planned)
	if err == nil {
		err = merges.CheckWritable()
	}
	switch {
	case err != nil:
		return refuse("%w", err)
	case !w.Overwrite && merges.Engine == mergetree.FirstRow:
		return refuse("its merge-engine = first-row hides rows that are added until a compaction of another engine: use mode: full-refresh")
	case !w.Overwrite && merges.Producer == mergetree.ProducerInput:
		return refuse("its changelog-producer = input needs changelog files of added rows, which runs do not write yet: use mode: full-refresh")
	}
	return f.noteKeys(w, s, o.Bucket, merges), nil
}

func (s Shards) estimate() (rows, bytes int64) {
	for _, t := range s.Tables {
		rows += t.Rows
		bytes += t.Bytes
	}
	return rows, bytes
}

// size is how much the shards have, for people.
func (s Shards) size() string {
	rows, bytes := s.estimate()
	return sizeText(rows, bytes)
}

func sizeText(rows, bytes int64) string {
	return fmt.Sprintf("%d rows and %.1f MiB in MySQL", rows, float64(bytes)/(1<<20))
}

// bytesPerBucket is what a bucket should have: Paimon's documentation advises 200 MB to 1 GB.
const bytesPerBucket = 512 << 20

// buckets is the number of buckets that the shards' size asks for, in all partitions together.
func (s Shards) buckets() int {
	_, bytes := s.estimate()
	return int(min(max((bytes+bytesPerBucket-1)/bytesPerBucket, 1), 1024))
}

// noteKeys says what a bucket will have and what tells rows of several shards apart.
func (f *Fitted) noteKeys(w Wanted, s Shards, buckets int, merges *mergetree.Spec) []string {
	rows, bytes := s.estimate()
	note := fmt.Sprintf("primary key (%s): each partition has %d buckets; without partitions a bucket has about %s",
		strings.Join(f.Planned.PrimaryKeys, ", "), buckets, sizeText(rows/int64(buckets), bytes/int64(buckets)))
	if advised := s.buckets(); buckets > 4*advised && buckets > 16 || advised > 4*buckets {
		note += fmt.Sprintf("; for 200 MB to 1 GB each, target.bucket would be %d in all", advised)
	}
	if !w.Overwrite {
		note += "; rows replace those of the table with the same key"
		if len(merges.Sequence) > 0 {
			note += " unless these are later by sequence.field"
		}
		note += ", and " + w.Deletes
	}
	if f.keyTellsShards(s) {
		return []string{note}
	}
	fate := "a key that is met twice ends the run before anything is committed (on_key_collision: fail)"
	if w.LastWins {
		order := "that of the shard last in this plan, and within a shard the one read last"
		switch {
		case merges.Engine == mergetree.FirstRow:
			order = "that of the shard first in this plan, and within a shard the one read first (merge-engine = first-row)"
		case merges.Engine == mergetree.PartialUpdate:
			order = "made of the last value of each column that is not NULL (merge-engine = partial-update)"
		case len(merges.Sequence) > 0:
			order = "the one with the greatest sequence.field"
			if merges.Descending {
				order = "the one with the least sequence.field"
			}
		}
		fate = "of rows with one key one is kept: " + order + " (on_key_collision: last_wins)"
	}
	return []string{note, fmt.Sprintf("nothing in the primary key tells the %d shards apart, so its values must be unique over all of them: %s", len(s.Tables), fate)}
}

// keyTellsShards tells whether the names of shards that are in the primary key are different in all of them.
func (f *Fitted) keyTellsShards(s Shards) bool {
	if len(s.Tables) < 2 {
		return true
	}
	seen := map[string]bool{}
	for i, t := range s.Tables {
		var names []string
		for c, o := range f.Outputs[i] {
			if o.Provenance == "" || !slices.Contains(f.Planned.PrimaryKeys, f.Planned.Fields[c].Name) {
				continue
			}
			if name, err := o.ConstantOf(t.Shard); err == nil && name != nil {
				names = append(names, *name)
			}
		}
		seen[strings.Join(names, "\x00")] = true
	}
	return len(seen) == len(s.Tables)
}

// key compares the primary keys.
func (f *fitting) key() {
	want, has := slices.Clone(f.wanted.key()), slices.Clone(f.target.PrimaryKeys)
	slices.SortFunc(want, strings.Compare)
	slices.SortFunc(has, strings.Compare)
	if slices.Equal(want, has) {
		return
	}
	text := func(key []string) string { return cmp.Or(strings.Join(key, ", "), "none") }
	f.differ("the target has the primary key (%s), the job says (%s)", text(f.target.PrimaryKeys), text(f.wanted.key()))
}
