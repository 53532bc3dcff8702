package lake

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// pair is a table with two committers, ours and Java's, and what both committed.
type pair struct {
	*made
	java *testenv.JavaReferee
	want []string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	return &pair{made: openWarehouse(t, t.TempDir()).create("db.t", schema.Spec{
		Fields:  []schema.Field{{Name: "id", Type: schema.Of(schema.Int)}, {Name: "who", Type: schema.StringType()}},
		Options: patient(nil),
	}), java: testenv.Referee(t)}
}

// patient are options with which Java does not give up, as it does after ten lost races, nor wait for long after one.
func patient(options map[string]string) map[string]string {
	all := map[string]string{"commit.max-retries": "10000", "commit.max-retry-wait": "20 ms"}
	maps.Copy(all, options)
	return all
}

// row is the n-th row of somebody.
func (p *pair) row(n int, who string) testenv.Row {
	p.want = append(p.want, fmt.Sprintf(`{"id":"%d","who":"%s"}`, n, who))
	return testenv.Row{"id": fmt.Sprint(n), "who": who}
}

func (p *pair) ours(n int) []*message.Commit {
	p.t.Helper()
	w := p.newWriter(lake.WriterOptions{})
	p.feed(w, []testenv.Row{p.row(2*n, "go")}, 1)
	messages, err := w.Close(p.t.Context())
	require.NoError(p.t, err)
	return messages
}

func (p *pair) javas(n int) string {
	return p.java.Produce(p.t, p.in.dir, p.id.String(), testenv.ProduceOptions{}, p.row(2*n+1, "java"))
}

// settle requires every row once, snapshots without a hole, and a hint that names the last one.
func (p *pair) settle(snapshots int) {
	p.t.Helper()
	slices.Sort(p.want)
	requireSameLines(p.t, p.want, p.made.java(p.java, 0), "Paimon")
	requireSameLines(p.t, p.want, p.rows(0), "this library")
	ids, err := snapshot.NewManager(p.in.disk, p.path).List(p.t.Context())
	require.NoError(p.t, err)
	require.Len(p.t, ids, snapshots)
	require.Equal(p.t, snapshot.ID(snapshots), ids[len(ids)-1])
	hint, err := os.ReadFile(filepath.Join(p.in.dir, p.path, "snapshot", "LATEST"))
	require.NoError(p.t, err)
	require.Equal(p.t, fmt.Sprint(snapshots), strings.TrimSpace(string(hint)))
}

// This library and Java commit to one table by turns.
func TestCommittersByTurns(t *testing.T) {
	p := newPair(t)
	for n := range 10 {
		p.publish(snapshot.Append, nil, p.ours(n))
		_, err := p.java.Commit(t, p.in.dir, p.id.String(), "java", int64(n+1), p.javas(n))
		require.NoError(t, err)
	}
	p.settle(20)
}

// This library and Java commit to one table at the same time.
func TestCommittersAtOnce(t *testing.T) {
	p := newPair(t)
	const each = 30
	messages, files := make([][]*message.Commit, each), make([]string, each)
	for n := range each {
		messages[n], files[n] = p.ours(n), p.javas(n)
	}
	failed := make(chan error, 1)
	go func() {
		for n, file := range files {
			if _, err := p.java.Commit(t, p.in.dir, p.id.String(), "java", int64(n+1), file); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	snapshots := snapshot.NewManager(p.in.disk, p.path)
	for _, m := range messages {
		result, err := p.tryPublish(snapshot.Append, nil, m)
		require.NoError(t, err)
		// What is answered for done is so, and stays so: Java moves its snapshots over what came since it looked.
		s, err := snapshots.Get(t.Context(), result.Snapshot)
		require.NoError(t, err)
		require.Equal(t, p.user, s.CommitUser)
		require.Equal(t, p.jobs, s.CommitIdentifier)
	}
	require.NoError(t, <-failed)
	p.settle(2 * each)
}
