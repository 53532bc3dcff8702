package activities

import (
	"encoding/json"

	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// shapesOf finds the distinct ways of reading a shard. A provenance
// constant differs by shard: a shape keeps the mark of what to put there.
func shapesOf(outputs [][]source.Output) ([]ledger.Shape, []int) {
	var shapes []ledger.Shape
	index := map[string]int{}
	shapeOf := make([]int, len(outputs))
	for i := range outputs {
		o := append([]source.Output(nil), outputs[i]...)
		for k := range o {
			o[k].Constant = nil
		}
		// Outputs hold no maps and no pointers to shared values, so their JSON is canonical.
		key, _ := json.Marshal(o)
		n, ok := index[string(key)]
		if !ok {
			n = len(shapes)
			index[string(key)] = n
			shapes = append(shapes, ledger.Shape{Outputs: o})
		}
		shapeOf[i] = n
	}
	return shapes, shapeOf
}

// pack makes units of splits: a large split is a unit, small ones of one instance share one while they stay within rows.
func pack(d *draft, shapeOf []int, rows int64) []ledger.Unit {
	var units []ledger.Unit
	var last string
	number := 0
	for i, t := range d.tables {
		for _, s := range d.splits[i] {
			us := ledger.UnitSplit{Shard: t.Shard, Shape: shapeOf[i], Split: s, Number: number}
			number++
			n := len(units) - 1
			if n >= 0 && last == t.Shard.Instance && units[n].Rows()+s.Rows <= rows {
				units[n].Splits = append(units[n].Splits, us)
				continue
			}
			units = append(units, ledger.Unit{ID: len(units), Splits: []ledger.UnitSplit{us}})
			last = t.Shard.Instance
		}
	}
	return units
}
