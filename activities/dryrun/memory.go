package dryrun

import "fmt"

// Memory is what a run needs of one worker that has all of its units in flight, and what the job lets it use.
type Memory struct {
	Need int64 `json:"need_bytes"`
	Has  int64 `json:"run_memory_bytes"`
	// How the need is computed, for people.
	How string `json:"how"`
}

// MemoryOf is what so many units in flight hold: each a row group that is being filled, and the batches on the way to it, of
// which one has a row at least.
func MemoryOf(ways, rowGroup, batches int, has int64, r *Result) Memory {
	batch, why := int64(1<<20), ""
	if r != nil && r.LargestRow > batch {
		batch, why = r.LargestRow, ", as the largest row of the sample is"
	}
	return Memory{
		Has: has, Need: int64(ways) * (int64(rowGroup) + int64(batches)*batch),
		How: fmt.Sprintf("%d units in flight, each with a row group of %.1f MiB and %d batches of %.1f MiB%s",
			ways, float64(rowGroup)/(1<<20), batches, float64(batch)/(1<<20), why),
	}
}
