package boundaries

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// fault is what happens at a boundary.
type fault string

const (
	fails            fault = "fails before it begins"
	replyLost        fault = "is done and its result lost"
	hangs            fault = "hangs and goes on when all is over"
	cancelledBefore  fault = "is cancelled before"
	cancelledAfter   fault = "is cancelled after"
	terminatedBefore fault = "is terminated before"
	terminatedAfter  fault = "is terminated after"
)

var errPlanted = errors.New("planted by the test")

// boundary is the one activity of a run around which something happens.
type boundary struct {
	fault fault
	// at is its number among the attempts of the run's activities; negative is none.
	at   int64
	seen atomic.Int64
	// stop cancels or terminates the run.
	stop func()
	// struck is the activity's type; it has one value.
	struck chan string
	// over closes when a hanging activity may go on, woken when it has.
	over, woken chan struct{}
}

func newBoundary(f fault, at int64) *boundary {
	return &boundary{fault: f, at: at, struck: make(chan string, 1), over: make(chan struct{}), woken: make(chan struct{})}
}

// gate stands around the activities of a worker.
type gate struct {
	interceptor.WorkerInterceptorBase
	mu sync.Mutex
	// byWorkflow are the boundaries of the runs that go on; a run has two workflows.
	byWorkflow map[string]*boundary
}

// watch lets b happen to the activities of these workflows.
func (g *gate) watch(b *boundary, workflows ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range workflows {
		g.byWorkflow[w] = b
	}
}

func (g *gate) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	a := &around{gate: g}
	a.Next = next
	return a
}

type around struct {
	interceptor.ActivityInboundInterceptorBase
	gate *gate
}

func (a *around) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	a.gate.mu.Lock()
	b := a.gate.byWorkflow[info.WorkflowExecution.ID]
	a.gate.mu.Unlock()
	if b == nil || b.seen.Add(1)-1 != b.at {
		return a.Next.ExecuteActivity(ctx, in)
	}
	b.struck <- info.ActivityType.Name
	switch b.fault {
	case fails:
		return nil, errPlanted
	case hangs:
		defer close(b.woken)
		<-b.over
	case cancelledBefore, terminatedBefore:
		b.stop()
	case replyLost, cancelledAfter, terminatedAfter:
	}
	out, err := a.Next.ExecuteActivity(ctx, in)
	switch b.fault {
	case replyLost:
		return nil, errors.Join(errPlanted, err)
	case cancelledAfter, terminatedAfter:
		b.stop()
	case fails, hangs, cancelledBefore, terminatedBefore:
	}
	return out, err
}
