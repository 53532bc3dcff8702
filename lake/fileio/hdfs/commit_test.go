package hdfs_test

import (
	"flag"
	"testing"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/internal/testenv/commitrace"
	"github.com/tributary-lake/tributary/lake/fileio"
)

var commits = flag.Int("commits", 100, "how many commits the committers of the race make in all, a multiple of 10")

// Ten committers, each with connections of its own, append to one table at the same time: one winner for each snapshot id,
// none lost, none twice.
func TestCommitRace(t *testing.T) {
	cluster := testenv.HDFS(t)
	uri := cluster.Folder()
	commitrace.Run(t, *commits, func() fileio.Store { return newStore(t, newClient(t, cluster), uri) })
}
