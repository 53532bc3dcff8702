package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	length = flag.Duration("for", 2*time.Minute, "begin new runs for so long")
	least  = flag.Int("runs", 0, "and until so many have ended")
)

// seedOf is TRIBUTARY_SEED, or the time.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("TRIBUTARY_SEED")
	if text == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return seed
}

// TestChaos is the soak. Each lane loads in one of the modes; each fault strikes at least once.
func TestChaos(t *testing.T) {
	seed := seedOf(t)
	t.Logf("TRIBUTARY_SEED=%d makes the same choices again", seed)
	w := newWorld(t, *length, *least)
	began := time.Now()
	striker := newStriker(w, rand.New(rand.NewPCG(seed, 0)))
	lanes := []*lane{}
	for i, mode := range []mode{fullRefresh, appending, upserting, fullRefresh, appending, upserting} {
		lanes = append(lanes, newLane(w, fmt.Sprintf("%s_%d", strings.ReplaceAll(string(mode), "-", ""), i), mode, rand.New(rand.NewPCG(seed, uint64(i+1)))))
	}
	var loading, striking sync.WaitGroup
	for _, l := range lanes {
		loading.Go(l.load)
	}
	striking.Go(striker.strike)
	loading.Wait()
	w.end()
	striking.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, l := range lanes {
		l.tidy()
	}
	total := counts{}
	for _, l := range lanes {
		t.Logf("%-14s %s", l.name, l.counts)
		total = total.add(l.counts)
	}
	t.Logf("%-14s %s, in %s", "all", total, time.Since(began).Round(time.Second))
	t.Logf("faults: %s", striker)
	require.GreaterOrEqual(t, total.committed, len(lanes), "runs that committed")
	require.Zero(t, total.lost+total.doubled+total.orphans)
	striker.hitAll()
}

// counts are what a lane has seen.
type counts struct {
	committed, notCommitted, cancelled, terminated, resumed int
	rows, lost, doubled, orphans                            int
}

func (c counts) runs() int { return c.committed + c.notCommitted }

func (c counts) String() string {
	return fmt.Sprintf("%3d runs: %d committed, %d not; %d were cancelled, %d terminated, %d resumed; %d rows compared: %d lost, %d doubled; %d orphans",
		c.runs(), c.committed, c.notCommitted, c.cancelled, c.terminated, c.resumed, c.rows, c.lost, c.doubled, c.orphans)
}

func (c counts) add(o counts) counts {
	return counts{
		c.committed + o.committed, c.notCommitted + o.notCommitted, c.cancelled + o.cancelled, c.terminated + o.terminated, c.resumed + o.resumed,
		c.rows + o.rows, c.lost + o.lost, c.doubled + o.doubled, c.orphans + o.orphans,
	}
}
