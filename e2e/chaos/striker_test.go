package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// fault is something that a striker does.
type fault struct {
	name string
	do   func()
	hits int
}

// striker does one fault after another until the lanes end.
type striker struct {
	w      *world
	random *rand.Rand
	faults []*fault
	// often lists faults by how often they are drawn.
	often []int
}

func newStriker(w *world, random *rand.Rand) *striker {
	s := &striker{w: w, random: random, often: []int{0, 0, 1, 2, 3, 3, 3}}
	s.faults = []*fault{
		{name: "kill -9 of a worker", do: s.killWorker},
		{name: "kill -9 of Temporal", do: s.killTemporal},
		{name: "deploy of a worker, the old one drained by SIGTERM", do: s.deploy},
		{name: "KILL of all MySQL connections", do: s.killConnections},
	}
	return s
}

// strike does every fault once, in some order, then any.
func (s *striker) strike() {
	first := s.random.Perm(len(s.faults))
	for s.w.wait(time.Duration(1000+s.random.IntN(8000)) * time.Millisecond) {
		if s.w.over() {
			continue // the last runs may end in peace, or this would never end
		}
		n := s.often[s.random.IntN(len(s.often))]
		if len(first) > 0 {
			n, first = first[0], first[1:]
		}
		s.w.t.Logf("%s: %s", time.Now().Format(time.TimeOnly), s.faults[n].name)
		s.faults[n].do()
		s.faults[n].hits++
	}
}

func (s *striker) killWorker() {
	n := s.random.IntN(len(s.w.workers))
	s.w.workers[n].kill()
	s.w.wait(time.Duration(s.random.IntN(3000)) * time.Millisecond)
	s.w.workers[n] = s.w.startWorker()
}

func (s *striker) deploy() {
	n := s.random.IntN(len(s.w.workers))
	old := s.w.workers[n]
	s.w.workers[n] = s.w.startWorker()
	old.drain()
}

// killTemporal lets the server be away for a while, and come back at its address with what it kept.
func (s *striker) killTemporal() {
	s.w.server.Kill()
	s.w.wait(time.Duration(s.random.IntN(3000)) * time.Millisecond)
	require.NoError(s.w.t, s.w.server.Restart(s.w.t.Context()))
}

func (s *striker) killConnections() {
	db := s.w.mysql.Open(s.w.t, "tributary", "")
	for _, row := range s.w.mysql.Query(s.w.t, "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = ?", user) {
		_, _ = db.ExecContext(s.w.t.Context(), "KILL "+row[0]) // it may have ended by itself
	}
}

func (s *striker) hitAll() {
	s.w.t.Helper()
	for _, f := range s.faults {
		require.Positive(s.w.t, f.hits, f.name)
	}
}

func (s *striker) String() string {
	var parts []string
	for _, f := range s.faults {
		parts = append(parts, fmt.Sprintf("%d × %s", f.hits, f.name))
	}
	return strings.Join(parts, ", ")
}
