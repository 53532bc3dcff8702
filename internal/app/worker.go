package app

import (
	"os"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/comparing"
	"github.com/tributary-lake/tributary/activities/upkeep"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/workflows"
)

// slotMemory is what one activity is reckoned with when slots are derived from memory: a row group, pages being filled
// and batches on the way.
const slotMemory = 64 << 20

const heartbeatThrottle = 5 * time.Second

// Slots is the number of activities that a worker runs at once.
func Slots(w config.Worker) int {
	if w.Slots > 0 {
		return w.Slots
	}
	return int(min(max(int64(w.Memory)/slotMemory, 2), 64))
}

// Worker runs all workflows and activities.
type Worker struct {
	worker.Worker
	spill *spill
}

// Stop stops the worker and removes its spill folder.
func (w *Worker) Stop() {
	w.Worker.Stop()
	_ = w.spill.close() // what is left goes with the next worker's start
}

// NewWorker assembles a worker. The process is asked to stay within w.Memory or, while it runs jobs, within what these may
// use of it.
func NewWorker(c client.Client, w config.Worker, env *Env) (*Worker, error) {
	spill, err := openSpill(w.Spill)
	if err != nil {
		return nil, err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	out := worker.New(c, w.Temporal.TaskQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: Slots(w),
		WorkerStopTimeout:                  drain,
		// A cancellation reaches an activity with the answer to a heartbeat, so heartbeats must not be held back for long.
		MaxHeartbeatThrottleInterval: heartbeatThrottle,
		Interceptors:                 []interceptor.WorkerInterceptor{&activities.Interceptor{Mask: env.Masker.Mask}},
	})
	Register(out, env, Resources{Memory: budget.New(int64(w.Memory), setLimit), Spill: spill.folder})
	return &Worker{out, spill}, nil
}

// unmanaged is resident memory that the garbage collector does not count: mostly the program's code.
const unmanaged = 24 << 20

// heapGrowth is how much garbage may lie beside what lives, in hundredths of it. Go's own 100 would let a worker hold twice what
// it needs, and rows leave so little garbage that collecting it sooner costs no time that could be measured.
const heapGrowth = 50

// setLimit lets the garbage collector keep the process to so many bytes.
func setLimit(bytes int64) { debug.SetMemoryLimit(bytes - unmanaged) }

// Resources are what the activities of one process share.
type Resources struct {
	Memory *budget.Budget
	// Spill is as in [activities.Writer].
	Spill func() (fileio.Store, func() error, error)
}

// Registry is what workflows and activities are registered with: a worker, or a test's environment.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers all workflows and activities under their names.
func Register(r Registry, env activities.Env, shared Resources) {
	for name, w := range map[string]any{
		workflows.SyncName: workflows.Sync, workflows.SyncTableName: workflows.SyncTable, workflows.ExplainName: workflows.Explain,
		workflows.MaintainName: workflows.Maintain, workflows.UpkeepTableName: workflows.UpkeepTable,
		workflows.VerifyName: workflows.Verify, workflows.AbortName: workflows.Abort, workflows.AbortTableName: workflows.AbortTable,
	} {
		r.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name})
	}
	preparer, explainer := &activities.Preparer{Env: env}, &activities.Explainer{Env: env}
	planner := &activities.Planner{Env: env, Settler: &activities.Settler{Env: env}}
	writer := &activities.Writer{Env: env, Producer: "tributary/" + Version(), Memory: shared.Memory, Spill: shared.Spill}
	committer := &activities.Committer{Env: env}
	merger := &activities.Merger{Env: env, Producer: "tributary/" + Version(), Memory: shared.Memory}
	cleaner, aborter := &activities.Cleaner{Env: env}, &activities.Aborter{Env: env}
	keeper := &upkeep.Keeper{Env: env, Memory: shared.Memory}
	comparer := &comparing.Comparer{Env: env, Memory: shared.Memory}
	for name, a := range map[string]any{
		comparing.CompareName: comparer.Compare,
		upkeep.TablesName:     keeper.Tables, upkeep.CompactName: keeper.Compact, upkeep.ExpireName: keeper.Expire, upkeep.OrphansName: keeper.Orphans,
		activities.PrepareName: preparer.Prepare, activities.ExplainName: explainer.Explain, activities.PlanName: planner.Plan,
		activities.WriteName: writer.Write, activities.VerifyName: committer.Verify, activities.CommitName: committer.Commit,
		activities.CleanName: cleaner.Clean, activities.AbortName: aborter.Abort,
		activities.PlanMergesName: merger.PlanMerges, activities.MergeName: merger.Merge,
	} {
		r.RegisterActivityWithOptions(a, activity.RegisterOptions{Name: name})
	}
}
