package twophase

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/ledger"
)

// Designs with a fault are caught, each by the thing that must not be.
func TestTheModelCatchesBrokenDesigns(t *testing.T) {
	busy := budget{foreigns: 1, compactions: 1, expiries: 1, unpins: 1}
	for name, c := range map[string]struct {
		design design
		start  world
		caught string
	}{
		"does not look for its own commit": {
			design{next: Next, blind: true},
			begin(false, budget{crashes: 1}, Commit), "the commit is in the table twice",
		},
		"aborts after an unknown outcome": {
			design{next: func(g Goal, s Sight) Step {
				step := Next(g, s)
				if (step == Unknown || step == Pending || step == Look) && !s.Deleted {
					return Delete
				}
				return step
			}},
			begin(false, budget{faults: 1}, Commit, RollBack), "names files that were deleted",
		},
		"does not obey the other's decision": {
			design{next: func(g Goal, s Sight) Step {
				if g == RollBack && s.Verdict == ledger.Commit {
					s.Verdict = ledger.Abort
				}
				return Next(g, s)
			}},
			begin(false, budget{}, Commit, RollBack), "names files that were deleted",
		},
		"gives up what nothing names without a fence": {
			design{next: func(g Goal, s Sight) Step {
				if s.Table == Lost {
					s.Table = LostFenced
				}
				return Next(g, s)
			}},
			begin(false, budget{foreigns: 2, expiries: 1, unpins: 1}, Commit, Force), "names files that were deleted",
		},
		"believes a snapshot that came late": {
			design{next: Next, credulous: true}, begin(false, busy, Commit, Force), "names files that were deleted",
		},
		"waits for the other's end": {
			design{next: func(g Goal, s Sight) Step {
				if step := Next(g, s); step != Pending && step != Judge {
					return step
				}
				return Look
			}},
			begin(false, budget{}, Commit, RollBack), "comes to no end",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := explore(c.design, c.start)
			require.ErrorContains(t, err, c.caught)
			t.Logf("%d states, then %v", n, err)
		})
	}
}
