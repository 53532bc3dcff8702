package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/workflows"
)

// mode is how a lane loads its table.
type mode string

const (
	fullRefresh mode = "full-refresh"
	// appending and upserting add what has changed since the run that was committed last; the target of upserting has a
	// primary key.
	appending mode = "append"
	upserting mode = "upsert"
)

const shards = 3

// lane loads one table again and again.
type lane struct {
	*world
	name   string
	mode   mode
	random *rand.Rand

	database string
	// n is the number of the newest run, last that of the newest one that was committed.
	n, last int
	// want are the rows that the table must hold, by what tells them apart.
	want map[string]string
	// live are the data files of all snapshots so far.
	live map[string]bool
	counts
}

func newLane(w *world, name string, m mode, random *rand.Rand) *lane {
	l := &lane{world: w, name: name, mode: m, random: random, want: map[string]string{}, live: map[string]bool{}}
	l.database = w.mysql.NewDatabase(w.t)
	for n := range shards {
		w.mysql.Exec(w.t, "USE "+l.database, fmt.Sprintf("CREATE TABLE s_%d (id INT PRIMARY KEY, run INT NOT NULL, v VARCHAR(40), amount DECIMAL(12,2))", n),
			fmt.Sprintf("INSERT INTO s_%d SELECT seq, 0, MD5(seq), seq / 7 FROM seq_1_to_600", n))
	}
	return l
}

// load makes runs until the world is over. It is a goroutine of its own: a failure ends it, and the others learn of it.
func (l *lane) load() {
	for !l.over() {
		l.n++
		l.change()
		rows := l.rows()
		committed := l.run(fmt.Sprintf("%s-%d", l.name, l.n))
		if committed {
			l.committed++
			l.last = l.n
			if l.mode == fullRefresh {
				clear(l.want)
			}
			maps.Copy(l.want, rows)
		} else {
			l.notCommitted++
		}
		l.compare()
		l.ended.Add(1)
	}
}

// change inserts, changes and deletes rows, and marks those of the coming run.
func (l *lane) change() {
	for n := range shards {
		r := l.random.IntN(20)
		l.mysql.Exec(l.t, "USE "+l.database,
			fmt.Sprintf("INSERT INTO s_%d SELECT m + seq, %d, IF(seq %% 5 = 0, NULL, MD5(m * seq + %d)), m / seq FROM seq_1_to_%d, (SELECT MAX(id) m FROM s_%d) x", n, l.n, r, 20+r, n),
			fmt.Sprintf("UPDATE s_%d SET run = %d, v = CONCAT(%d, '-', MD5(id)), amount = -amount WHERE id %% 20 = %d", n, l.n, l.n, r),
			fmt.Sprintf("DELETE FROM s_%d WHERE id %% 40 = %d", n, l.random.IntN(40)))
	}
}

// where is the condition on the rows of the coming run.
func (l *lane) where() string {
	if l.mode == fullRefresh || l.last == 0 {
		return ""
	}
	return fmt.Sprintf("run > %d", l.last)
}

// rows are those that MySQL gives the coming run.
func (l *lane) rows() map[string]string {
	out := map[string]string{}
	where := l.where()
	if where == "" {
		where = "TRUE"
	}
	for n := range shards {
		shard := fmt.Sprintf("s_%d", n)
		for _, r := range l.mysql.Query(l.t, fmt.Sprintf("SELECT id, run, IFNULL(v, '-'), amount FROM %s.%s WHERE %s", l.database, shard, where)) {
			row := map[string]*string{"id": &r[0], "run": &r[1], "v": &r[2], "amount": &r[3], "_table": &shard}
			if r[2] == "-" {
				row["v"] = nil
			}
			key := shard + " " + r[0]
			if l.mode == appending {
				key += fmt.Sprint(" ", l.n)
			}
			line, err := json.Marshal(row)
			require.NoError(l.t, err)
			out[key] = string(line)
		}
	}
	return out
}

func (l *lane) job() json.RawMessage {
	table := map[string]any{
		"name": "s", "match": "s_*", "mode": "append", "where": l.where(), "provenance": map[string]any{"table": "_table"},
		"split": map[string]any{"count": 6}, "target": map[string]any{"database": "ods", "table": l.name},
	}
	switch l.mode {
	case fullRefresh:
		table["mode"] = "full-refresh"
	case upserting:
		table["primary_key"] = []string{"_table", "id"}
		table["target"].(map[string]any)["bucket"] = 2
	case appending:
	}
	data, err := json.Marshal(map[string]any{
		"job": l.name, "temporal": map[string]any{"task_queue": taskQueue}, "tables": []any{table},
		"source": map[string]any{"instances": []any{map[string]any{
			"name": "a", "host": "127.0.0.1", "port": l.mysql.Port(), "user": user, "password": "${env:" + passwordVariable + "}", "databases": l.database,
		}}},
		"target": map[string]any{"warehouse": "file://" + l.warehouse},
		"run":    map[string]any{"parallelism": 3, "verify": "counts"},
	})
	require.NoError(l.t, err)
	return data
}

// run makes a run, whatever it takes until it is settled, and tells whether it was committed.
func (l *lane) run(id string) bool {
	job := l.job()
	l.start(id, workflows.SyncName, workflows.SyncInput{Job: job, Run: id})
	switch l.random.IntN(12) {
	case 0:
		l.wait(time.Duration(l.random.IntN(4000)) * time.Millisecond)
		l.cancelled++
		l.stop(func(ctx context.Context) error { return l.client.CancelWorkflow(ctx, id, "") })
	case 1, 2:
		l.wait(time.Duration(l.random.IntN(4000)) * time.Millisecond)
		l.terminated++
		for _, workflow := range []string{id, activities.WorkflowID("file://"+l.warehouse, catalog.Identifier{Database: "ods", Table: l.name})} {
			l.stop(func(ctx context.Context) error { return l.client.TerminateWorkflow(ctx, workflow, "", "chaos") })
		}
	}
	var s workflows.Summary
	if l.result(id, &s) {
		return true
	}
	if l.random.IntN(2) == 0 {
		l.resumed++
		resume := id + "-resumed"
		l.start(resume, workflows.SyncName, workflows.SyncInput{Job: job, Run: id, Resume: true})
		if l.result(resume, &s) {
			return true
		}
	}
	return l.giveUp(id, job)
}

// giveUp settles a run for good.
func (l *lane) giveUp(id string, job json.RawMessage) bool {
	for try := range 5 {
		abort := fmt.Sprintf("abort-%s-%d", id, try)
		l.start(abort, workflows.AbortName, workflows.AbortRunInput{Job: job, Run: id})
		var tables []workflows.AbortedTable
		err := l.get(abort, &tables)
		if err != nil {
			if _, kind := activities.Describe(err); kind == activities.TypeConfig || kind == activities.TypeAborted {
				return false // nothing of it was ever kept
			}
			l.t.Logf("give up %s: %v", id, err)
			continue
		}
		switch tables[0].State {
		case activities.StateCommitted:
			return true
		case activities.StateAborted, activities.StateUnchanged:
			return false
		}
		l.t.Logf("give up %s: %s: %s", id, tables[0].State, tables[0].Message)
	}
	l.t.Errorf("run %s cannot be settled", id)
	return false
}

// start starts a workflow. It may have been started by a call whose answer was lost.
func (l *lane) start(id, name string, input any) {
	l.insist("start "+id, func(ctx context.Context) error {
		_, err := l.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: id, TaskQueue: taskQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			WorkflowExecutionErrorWhenAlreadyStarted: true,
		}, name, input)
		var started *serviceerror.WorkflowExecutionAlreadyStarted
		if errors.As(err, &started) {
			return nil
		}
		return err
	})
}

// stop asks for the end of a workflow, which may have ended.
func (l *lane) stop(do func(ctx context.Context) error) {
	l.insist("stop a run", func(ctx context.Context) error {
		err := do(ctx)
		var gone *serviceerror.NotFound
		if errors.As(err, &gone) {
			return nil
		}
		return err
	})
}

// get waits for the end of a workflow and returns its error.
func (l *lane) get(id string, to any) error {
	var ended error
	l.insist("the end of "+id, func(ctx context.Context) error {
		err := l.client.GetWorkflow(ctx, id, "").Get(ctx, to)
		var failed *temporal.WorkflowExecutionError
		if errors.As(err, &failed) {
			ended = err
			return nil
		}
		return err
	})
	return ended
}

// result waits for the end of a run and tells whether it says that it is committed.
func (l *lane) result(id string, s *workflows.Summary) bool {
	err := l.get(id, s)
	if err == nil {
		require.Equal(l.t, activities.StateCommitted, s.Tables[0].Status, "a run of %s that changes rows", id)
		return true
	}
	text, _ := activities.Describe(err)
	l.t.Logf("%s: %s ended with: %.300s", time.Now().Format(time.TimeOnly), id, text)
	return false
}

// compare lets Paimon read the table, and looks for files that no snapshot names.
func (l *lane) compare() {
	java := testenv.Referee(l.t)
	table := "ods." + l.name
	got := map[string]int{}
	if l.last > 0 {
		l.learn()
		for _, line := range java.Read(l.t, l.warehouse, table, 0) {
			var row map[string]*string
			require.NoError(l.t, json.Unmarshal([]byte(line), &row))
			data, err := json.Marshal(row)
			require.NoError(l.t, err)
			got[string(data)]++
		}
	} else {
		require.NoDirExists(l.t, filepath.Join(l.warehouse, "ods.db", l.name, "snapshot"), "nothing is committed")
	}
	l.rowsCompared(got)
	// What an attempt that outlived its run was writing, it removes itself when it learns of that; and a compaction that the run
	// has started comes to its commit.
	tidy := func() bool {
		if len(l.stray()) > 0 && l.last > 0 {
			l.learn()
		}
		return len(l.stray()) == 0
	}
	if !l.eventually(90*time.Second, tidy) {
		l.orphans += len(l.stray())
		l.t.Errorf("%s, run %d: files of no snapshot: %v", l.name, l.n, l.stray())
	}
}

// learn adds the data files of the newest snapshot to those that are known.
func (l *lane) learn() {
	for _, f := range testenv.Referee(l.t).Describe(l.t, l.warehouse, "ods."+l.name, 0).Files {
		l.live[f.Name] = true
	}
}

func (l *lane) rowsCompared(got map[string]int) {
	lost, doubled := 0, 0
	for _, line := range l.want {
		if got[line]--; got[line] < 0 {
			lost++
		}
	}
	example := ""
	for line, n := range got {
		if n > 0 {
			doubled += n
			example = line
		}
	}
	l.counts.rows += len(l.want)
	l.lost += lost
	l.doubled += doubled
	if lost+doubled > 0 {
		l.t.Errorf("%s, run %d: of %d rows %d are lost, and %d are too many, such as %s", l.name, l.n, len(l.want), lost, doubled, example)
	}
}

// eventually polls until cond holds, and tells whether it did.
func (l *lane) eventually(within time.Duration, cond func() bool) bool {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); {
		if cond() {
			return true
		}
		pause(100 * time.Millisecond)
	}
	return cond()
}

// stray are data files that are in no snapshot, and sorted rows that no run needs any more.
func (l *lane) stray() []string {
	var out []string
	for _, root := range []string{filepath.Join(l.warehouse, "ods.db", l.name), filepath.Join(l.warehouse, "_tributary", l.name)} {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // files come and go
			if err != nil || d.IsDir() {
				return nil
			}
			if strings.Contains(path, "/bucket-") && !l.live[d.Name()] || strings.Contains(path, "/runs/") {
				out = append(out, path)
			}
			return nil
		})
	}
	slices.Sort(out)
	return out
}

// tidy lets Paimon look for files that it does not know, when all is over.
func (l *lane) tidy() {
	for _, f := range testenv.Referee(l.t).CleanOrphans(l.t, l.warehouse, "ods."+l.name, 0) {
		l.orphans++
		l.t.Errorf("%s: Paimon does not know %s", l.name, f)
	}
}
