package s3_test

import (
	"flag"
	"testing"

	"github.com/tributary-lake/tributary/internal/testenv/commitrace"
	"github.com/tributary-lake/tributary/internal/testenv/s3proxy"
	"github.com/tributary-lake/tributary/lake/fileio"
)

var commits = flag.Int("commits", 100, "how many commits the committers of the race make in all, a multiple of 10")

// Ten committers, each a process of its own as far as the store is concerned, append to one table at the same time: one
// winner for each snapshot id, none lost, none twice. A request of twenty fails on the way.
func TestCommitRace(t *testing.T) {
	server := theServer(t)
	proxy := s3proxy.NewProxy(t, server.Endpoint)
	proxy.Choose(s3proxy.Random(3, 0.05))
	uri := "s3://" + server.Bucket(t) + "/lake"
	commitrace.Run(t, *commits, func() fileio.Store { return newStore(t, newClient(t, proxy.Endpoint), uri) })
}
