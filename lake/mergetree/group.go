package mergetree

import (
	"fmt"

	"github.com/tributary-lake/tributary/lake/row"
)

// group makes one row of the rows of a key, which come in order. A single row stays as it is, whatever its kind, as
// org.apache.paimon.mergetree.compact.ReducerMergeFunctionWrapper has it.
type group struct {
	spec   *Spec
	m      *merged
	engine Engine

	rows int // of the key so far
	// kept is the row that the key has so far. It is there unless all rows were ignored.
	kept  pick
	there bool

	// held keeps the kept row when its batch is replaced.
	held *row.Batch
	// made keeps rows that are none of those that came.
	made *row.Batch
	// told are the rows that OnDuplicate gets.
	told [2]*row.Batch

	partial partial
}

// partial is the row of a key of a partial-update table from its second row on.
type partial struct {
	row      *row.Batch // one row, when set
	set      bool
	sequence int64
	deleted  bool // the last row removed the key
	inserted bool // a row that adds has come
}

func newGroup(spec *Spec, m *merged) *group {
	g := &group{spec: spec, m: m, engine: spec.Engine, held: spec.NewBatch(), made: spec.NewBatch()}
	g.partial.row = spec.NewBatch()
	return g
}

// The batches of a group stand behind those of the cursors.
func (g *group) heldAt() int32 { return int32(len(g.m.cursors)) }
func (g *group) madeAt() int32 { return int32(len(g.m.cursors)) + 1 }

func (g *group) kind(p pick) row.Kind {
	return row.Kind(g.m.batches[p.batch].Columns[KindColumn].I32[p.row])
}

// add takes the next row of the key.
func (g *group) add(p pick) error {
	g.rows++
	if g.rows == 1 {
		g.kept, g.there = p, true
		return nil
	}
	switch g.engine {
	case FirstRow:
		return g.addFirst(p)
	case PartialUpdate:
		if g.rows == 2 {
			g.partial = partial{row: g.partial.row}
			if err := g.addPartial(g.kept); err != nil {
				return err
			}
		}
		g.kept = p
		return g.addPartial(p)
	default:
		if g.rows == 2 && g.spec.IgnoreDelete {
			g.there = !g.kind(g.kept).Retracts()
		}
		if !g.spec.IgnoreDelete || !g.kind(p).Retracts() {
			g.kept, g.there = p, true
		}
		return nil
	}
}

func (g *group) addFirst(p pick) error {
	for _, q := range []pick{g.kept, p} {
		if g.there && g.kind(q).Retracts() && !g.spec.IgnoreDelete {
			return g.retractError(q)
		}
	}
	if g.rows == 2 {
		g.there = !g.kind(g.kept).Retracts()
	}
	if !g.there && !g.kind(p).Retracts() {
		g.kept, g.there = p, true
	}
	return nil
}

func (g *group) retractError(p pick) error {
	return fmt.Errorf("%w: merge-engine = %s, row %s of key %s; set ignore-delete to leave such rows out",
		ErrRetract, g.engine, g.kind(p), g.m.keyer.text(g.m.batches[p.batch], int(p.row)))
}

// addPartial does what PartialUpdateMergeFunction.add does where there are no sequence groups: also where that seems odd, as
// when values of a deleted row come back with the next row of the key.
func (g *group) addPartial(p pick) error {
	b, s := g.m.batches[p.batch], &g.partial
	s.deleted = false
	if kind := g.kind(p); kind.Retracts() {
		if !s.set {
			s.take(b, p.row)
		}
		if g.spec.IgnoreDelete {
			return nil
		}
		s.sequence = b.Columns[SequenceColumn].I64[p.row]
		if !g.spec.RemoveOnDelete {
			return g.retractError(p)
		}
		if kind == row.Delete {
			s.deleted = true
			s.take(b, p.row)
		}
		return nil
	}
	s.sequence = b.Columns[SequenceColumn].I64[p.row]
	s.inserted = true
	if !s.set {
		s.take(b, p.row)
		return nil
	}
	for c := ValueColumns; c < len(b.Columns); c++ {
		if v := &b.Columns[c]; !v.IsNull(int(p.row)) {
			s.row.Columns[c].Reset()
			appendValue(&s.row.Columns[c], v, int(p.row))
		}
	}
	return nil
}

// take makes the row what another is.
func (s *partial) take(b *row.Batch, i uint32) {
	s.row.Reset()
	appendRow(s.row, b, i)
	s.set = true
}

// finish ends the group and names its row, if it has one.
func (g *group) finish() (pick, bool) {
	if g.rows == 0 {
		return pick{}, false
	}
	rows := g.rows
	g.rows = 0
	if rows == 1 || g.engine != PartialUpdate {
		return g.kept, g.there
	}
	s := &g.partial
	kind := row.Insert
	if s.deleted || !s.inserted {
		kind = row.Delete
	}
	appendRow(g.made, s.row, 0)
	last := g.made.Rows - 1
	g.made.Columns[SequenceColumn].I64[last] = s.sequence
	g.made.Columns[KindColumn].I32[last] = int32(kind)
	return pick{g.madeAt(), uint32(last)}, true
}

// flushed tells that all rows that were picked have been copied.
func (g *group) flushed() { g.made.Reset() }

// release copies the kept row if it lies in the batch of a cursor, which is about to go.
func (g *group) release(at int32) {
	if g.rows == 0 || g.kept.batch != at {
		return
	}
	g.held.Reset()
	appendRow(g.held, g.m.batches[at], g.kept.row)
	g.kept = pick{g.heldAt(), 0}
}

// tell hands the row kept so far and the next to a function.
func (g *group) tell(next pick, fn func(kept, next *row.Batch) error) error {
	for i, p := range []pick{g.kept, next} {
		if g.told[i] == nil {
			g.told[i] = g.spec.NewBatch()
		}
		g.told[i].Reset()
		appendRow(g.told[i], g.m.batches[p.batch], p.row)
	}
	return fn(g.told[0], g.told[1])
}
