package dryrun

import "fmt"

// Estimate is what a dry run says of the whole.
type Estimate struct {
	// LakeBytes is the size of all data files, Seconds from the first row to the last file; 0 when the rate is not known.
	LakeBytes int64   `json:"lake_bytes"`
	Seconds   float64 `json:"seconds"`
	// How both were computed, for people.
	How string `json:"how"`
}

// Limits are what a run is held to.
type Limits struct {
	// Ways is how many units are read and written at once.
	Ways int
	// RowsPerSecond and BytesPerSecond hold for each instance; 0 is no limit.
	RowsPerSecond, BytesPerSecond int64
}

// Estimate tells how large the files get and how long it takes; nil where no row was read.
func (r *Result) Estimate(l Limits) *Estimate {
	if r == nil || r.Rows == 0 || r.read == 0 {
		return nil
	}
	average := float64(r.read) / float64(r.Rows)
	var rows, bytes float64
	instances := map[string]bool{}
	for i := range r.plan.Shards {
		one, n := r.rowBytes[i], float64(r.plan.Shards[i].rows())
		if one == 0 {
			one = average
		}
		rows += n
		bytes += n * one
		instances[r.plan.Shards[i].Shard.Instance] = true
	}
	ratio := float64(r.encoded) / float64(r.read)
	e := &Estimate{LakeBytes: int64(bytes * ratio)}
	e.How = fmt.Sprintf("%d rows of %d shards were read and encoded: %.0f bytes a row from the source, %.0f in the lake; times the rows that the server estimates",
		r.Rows, r.Shards, average, average*ratio)
	if r.RowsPerSecond <= 0 {
		return e
	}
	rate := r.RowsPerSecond * float64(l.Ways)
	e.How += fmt.Sprintf("; %.0f rows/s by one reader on %d rows, times %d at once", r.RowsPerSecond, r.RateRows, l.Ways)
	n := float64(len(instances))
	if most := float64(l.RowsPerSecond) * n; most > 0 && rate > most {
		rate = most
		e.How += fmt.Sprintf(", but limits.rows_per_second allows %.0f", most)
	}
	if most := float64(l.BytesPerSecond) * n / average; most > 0 && rate > most {
		rate = most
		e.How += fmt.Sprintf(", but limits.bytes_per_second allows %.0f", most)
	}
	e.Seconds = rows / rate
	return e
}
