package units

import (
	"encoding/json"

	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// What is read at one moment.
const (
	Split    = "split"
	Shard    = "shard"
	Instance = "instance"
)

// Spec says how splits become units.
type Spec struct {
	// Consistency is what is read at one moment.
	Consistency string
	// PackRows is up to how many estimated rows small splits are packed into one unit whatever their bytes; 0 packs none.
	PackRows int64
	// FileBytes is the size that files should have; 0 packs by rows alone.
	FileBytes int64
	// Parallelism is how many connections read at once.
	Parallelism int
}

// Shards are those that are read: the tables, the splits of each, and how each is read.
type Shards struct {
	Tables  []source.Table
	Splits  [][]source.Split
	Outputs [][]source.Output
}

// Plan is what a run's units are.
type Plan struct {
	Shapes []ledger.Shape
	Units  []ledger.Unit
	// Readers is by how many connections those units are read that take more than one.
	Readers map[int]int
}

// Of makes the units of shards.
func Of(s Shards, spec Spec) Plan {
	shapes, shapeOf := shapesOf(s.Outputs)
	d := division{Shards: s, shapeOf: shapeOf}
	p := Plan{Shapes: shapes}
	switch spec.Consistency {
	case Shard:
		p.Units = d.shards(spec.PackRows)
		p.Readers = readersOf(p.Units, spec)
	case Instance:
		p.Units = d.instances()
		p.Readers = readersOf(p.Units, spec)
	default:
		p.Units = d.pack(spec.PackRows, d.unitBytes(spec))
	}
	return p
}

// division is the making of units.
type division struct {
	Shards
	shapeOf []int
	// number is that of the next split in the plan.
	number int
}

// splits are the next table's, as a unit holds them.
func (d *division) splits(table int) []ledger.UnitSplit {
	splits := make([]ledger.UnitSplit, len(d.Splits[table]))
	for i, s := range d.Splits[table] {
		splits[i] = ledger.UnitSplit{Shard: d.Tables[table].Shard, Shape: d.shapeOf[table], Split: s, Number: d.number}
		d.number++
	}
	return splits
}

// instances makes a unit of each instance.
func (d *division) instances() []ledger.Unit {
	var units []ledger.Unit
	at := map[string]int{}
	for i, t := range d.Tables {
		if len(d.Splits[i]) == 0 {
			continue // nothing of it is read, so it needs no moment
		}
		n, ok := at[t.Shard.Instance]
		if !ok {
			n = len(units)
			at[t.Shard.Instance] = n
			units = append(units, ledger.Unit{ID: n})
		}
		units[n].Splits = append(units[n].Splits, d.splits(i)...)
	}
	return units
}

// shards makes a unit of each shard; small ones of one instance share one while they stay within rows.
func (d *division) shards(rows int64) []ledger.Unit {
	var units []ledger.Unit
	var last string
	var filled int64
	for i, t := range d.Tables {
		if len(d.Splits[i]) == 0 {
			continue
		}
		splits := d.splits(i)
		more := ledger.Unit{Splits: splits}.Rows()
		if n := len(units) - 1; n >= 0 && last == t.Shard.Instance && filled+more <= rows {
			units[n].Splits = append(units[n].Splits, splits...)
			filled += more
			continue
		}
		units = append(units, ledger.Unit{ID: len(units), Splits: splits})
		last, filled = t.Shard.Instance, more
	}
	return units
}

// readersOf gives each unit its share of the connections, by its rows: all units together take so long as each alone. A
// unit of the size of a split needs no more than one, which needs no lock.
func readersOf(units []ledger.Unit, spec Spec) map[int]int {
	weights := make([]int64, len(units))
	var all int64
	for i, u := range units {
		weights[i] = u.Rows() + int64(len(u.Splits)) // estimates may be 0
		all += weights[i]
	}
	readers := map[int]int{}
	for i, u := range units {
		n := min(len(u.Splits), int(weights[i]*int64(spec.Parallelism)/max(all, 1)))
		if n > 1 && u.Rows() > spec.PackRows {
			readers[u.ID] = n
		}
	}
	return readers
}

const (
	// unitsEach is how many units each of the readers should have, so that all are busy until nearly the end.
	unitsEach = 4
	// perFile is how many bytes of the source a file of its size holds, about: MySQL's pages are not full, and files are
	// compressed.
	perFile = 2
	// mostUnit bounds what is read again when an attempt is lost: it is less than a minute of work.
	mostUnit = 1 << 30
)

// unitBytes is the size of a unit that makes a file of the wanted size, as long as all readers have enough units to share.
func (d *division) unitBytes(spec Spec) int64 {
	if spec.PackRows == 0 {
		return 0 // the job says how many splits it wants
	}
	var total int64
	for _, t := range d.Tables {
		total += t.Bytes
	}
	return min(total/int64(unitsEach*max(1, spec.Parallelism)), perFile*spec.FileBytes, mostUnit)
}

// bytesOf estimates a split; known is false where the server knows nothing of its table's size.
func bytesOf(t source.Table, s source.Split) (bytes int64, known bool) {
	if t.Bytes <= 0 || t.Rows <= 0 || s.Rows <= 0 {
		return 0, false
	}
	return int64(float64(t.Bytes) / float64(t.Rows) * float64(s.Rows)), true
}

// pack makes units of splits: neighbours of one instance share one while they stay within rows, since thousands of small files
// cost every reader of the table, or within bytes.
func (d *division) pack(mostRows, mostBytes int64) []ledger.Unit {
	var units []ledger.Unit
	var last string
	var rows, bytes int64
	for i, t := range d.Tables {
		for _, us := range d.splits(i) {
			b, known := bytesOf(t, us.Split)
			few := rows+us.Split.Rows <= mostRows && bytes+b <= mostUnit
			n := len(units) - 1
			if n >= 0 && last == t.Shard.Instance && (few || known && bytes+b <= mostBytes) {
				units[n].Splits = append(units[n].Splits, us)
				rows, bytes = rows+us.Split.Rows, bytes+b
				continue
			}
			units = append(units, ledger.Unit{ID: len(units), Splits: []ledger.UnitSplit{us}})
			last, rows, bytes = t.Shard.Instance, us.Split.Rows, b
		}
	}
	return units
}

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

// Connections is how many could read all units at once.
func (p Plan) Connections() int {
	n := len(p.Units)
	for _, readers := range p.Readers {
		n += readers - 1
	}
	return n
}

// Moments are the shards of all units, and the most connections that a unit of an instance is read by.
func (p Plan) Moments() (shards []source.Shard, readers map[string]int) {
	readers = map[string]int{}
	for _, u := range p.Units {
		for i, s := range u.Splits {
			if i == 0 || s.Shard != u.Splits[i-1].Shard {
				shards = append(shards, s.Shard)
			}
			readers[s.Shard.Instance] = max(1, p.Readers[u.ID], readers[s.Shard.Instance])
		}
	}
	return shards, readers
}
