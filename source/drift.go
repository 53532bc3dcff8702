package source

import (
	"fmt"
	"strings"
)

// DriftPolicy tells what becomes of shards that differ.
type DriftPolicy string

// The policies for shards that differ.
const (
	// DriftWiden merges them to the least common type; what has none is a [*DriftError]. It is what an empty policy means.
	DriftWiden DriftPolicy = "widen"
	// DriftStrict takes shards only if they have the same columns with the same definitions, in any order.
	DriftStrict DriftPolicy = "strict"
	// DriftQuarantine merges as DriftWiden does and leaves out the shards that cannot be merged, as long as they are fewer
	// than those that can.
	DriftQuarantine DriftPolicy = "quarantine"
)

// DriftKind tells in what way a shard differs from the one that it is compared with.
type DriftKind string

// The ways in which shards differ.
const (
	DriftType        DriftKind = "type"
	DriftNullability DriftKind = "nullability"
	DriftMissing     DriftKind = "missing column"
	DriftExtra       DriftKind = "extra column"
	DriftPrimaryKey  DriftKind = "primary key"
	// DriftNothing is a shard that has none of the columns.
	DriftNothing DriftKind = "no column"
)

// Drift is one difference between a shard and the one that it is compared with.
type Drift struct {
	Kind  DriftKind `json:"kind"`
	Shard Shard     `json:"shard"`
	// Column is empty when the difference is not one of a column.
	Column string `json:"column,omitempty"`
	// Found is the definition, or the primary key, in Shard; empty when it has none.
	Found string `json:"found,omitempty"`
	// Reference is the shard that it is compared with, and Expected the definition there.
	Reference Shard  `json:"reference"`
	Expected  string `json:"expected,omitempty"`
	// Outcome is what the merge made of it, a clause such as "becomes BIGINT"; empty when it refused.
	Outcome string `json:"outcome,omitempty"`
	// Loss is what does not arrive as it is, a clause; empty when nothing is lost.
	Loss string `json:"loss,omitempty"`
}

// String is the difference as a clause, without a full stop.
func (d Drift) String() string { return d.text(d.Shard.String()) }

func (d Drift) text(shard string) string {
	text := d.difference(shard)
	if d.Outcome != "" {
		text += ": " + d.Outcome
	}
	if d.Loss != "" {
		text += "; " + d.Loss
	}
	return text
}

func (d Drift) difference(shard string) string {
	switch d.Kind {
	case DriftMissing:
		return fmt.Sprintf("%s lacks column %q, which is %s in %s", shard, d.Column, d.Expected, d.Reference)
	case DriftExtra:
		return fmt.Sprintf("%s has column %q (%s), which %s lacks", shard, d.Column, d.Found, d.Reference)
	case DriftPrimaryKey:
		return fmt.Sprintf("%s has %s, but %s has %s", shard, keyText(d.Found), d.Reference, keyText(d.Expected))
	case DriftNothing:
		return fmt.Sprintf("%s has none of the columns that are read", shard)
	case DriftType, DriftNullability:
	}
	return fmt.Sprintf("column %q is %s in %s, but %s in %s", d.Column, d.Found, shard, d.Expected, d.Reference)
}

func keyText(columns string) string {
	if columns == "" {
		return "no primary key"
	}
	return "primary key (" + columns + ")"
}

// LeftOut is a shard that cannot be merged, and why.
type LeftOut struct {
	Shard Shard `json:"shard"`
	// Rows is the server's estimate.
	Rows int64 `json:"rows"`
	// Drifts are the differences that no merge reconciles.
	Drifts []Drift `json:"drifts"`
}

// leftOutReasons bounds the text of a shard that is left out; the struct holds all.
const leftOutReasons = 5

// String names the shard and the first reasons.
func (l LeftOut) String() string {
	var reasons []string
	for i, d := range l.Drifts {
		if i == leftOutReasons {
			reasons = append(reasons, fmt.Sprintf("and %d more differences", len(l.Drifts)-i))
			break
		}
		reasons = append(reasons, d.String())
	}
	return fmt.Sprintf("%s (about %d rows): %s", l.Shard, l.Rows, strings.Join(reasons, "; "))
}

// DriftGroup is a difference that many shards have alike.
type DriftGroup struct {
	// Drift is the first shard's.
	Drift
	// More is the number of other shards that have it too.
	More int `json:"more,omitempty"`
}

// String is the difference as a clause that counts the shards.
func (g DriftGroup) String() string {
	switch g.More {
	case 0:
		return g.Drift.String()
	case 1:
		return g.text(g.Shard.String() + " (and one more shard)")
	}
	return g.text(fmt.Sprintf("%s (and %d more shards)", g.Shard, g.More))
}

// GroupDrifts makes one of the drifts that differ in nothing but the shard, in the order of the first of each.
func GroupDrifts(drifts []Drift) []DriftGroup {
	var groups []DriftGroup
	at := map[Drift]int{}
	for _, d := range drifts {
		key := d
		key.Shard = Shard{}
		if i, ok := at[key]; ok {
			groups[i].More++
			continue
		}
		at[key] = len(groups)
		groups = append(groups, DriftGroup{Drift: d})
	}
	return groups
}

// DriftError lists the differences between the shards of a logical table that the policy does not let pass. It is an
// [ErrRefused].
type DriftError struct {
	Drifts []Drift
}

// driftLines bounds the text of an error; the struct holds all.
const driftLines = 100

// Error lists the differences, one a line; those that shards have alike are one.
func (e *DriftError) Error() string {
	var b strings.Builder
	groups := GroupDrifts(e.Drifts)
	places := "one place"
	if n := len(e.Drifts); n != 1 {
		places = fmt.Sprintf("%d places", n)
	}
	fmt.Fprintf(&b, "the shards differ in %s; alter them, exclude them, select only columns that agree, give a column a type with columns: {name, type},"+
		" or leave out those that cannot be merged, by name, with drift: quarantine:", places)
	for i, g := range groups {
		if i == driftLines {
			fmt.Fprintf(&b, "\n  … and %d more", len(groups)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s", g)
	}
	return b.String()
}

// Is makes it an [ErrRefused].
func (e *DriftError) Is(target error) bool { return target == ErrRefused }
