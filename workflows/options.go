package workflows

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/upkeep"
)

// All timeouts and retries stand here and nowhere else.

// heartbeat is how long a silent worker is believed to be alive.
const heartbeat = 30 * time.Second

// quick is for calls that read or write metadata. A source that cannot be reached is reported after some seconds.
func quick(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Minute,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second, MaximumAttempts: 3,
		},
	})
}

// split is for reading and writing a unit: seconds of work, hours at most. A lost connection is tried again for minutes.
func split(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: 10,
		},
	})
}

// commit is for what must become known: it is tried for some hours, then the run ends as of unknown outcome and a person
// is told how to settle it.
func commit(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 5 * time.Minute, MaximumAttempts: 50,
		},
	})
}

// cleanup is for what runs after a failure or a cancellation, in a context of its own.
func cleanup(ctx workflow.Context, summary string) (workflow.Context, workflow.CancelFunc) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Minute,
		HeartbeatTimeout:    heartbeat,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: 10,
		},
	}), cancel
}

// child runs a table under its target's workflow id. If a run holds that id already, the start fails.
func child(ctx workflow.Context, t activities.PreparedTable) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:          t.WorkflowID,
		WaitForCancellation: true,
		// A terminated parent must not leave a table half written and undecided.
		ParentClosePolicy: parentClosePolicy,
		StaticSummary:     t.Key.Table + " → " + t.Target,
	})
}

// tidy is for what keeps a table in order or looks whether it is: minutes of work, hours at most, which the next time does as well.
func tidy(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 12 * time.Hour,
		HeartbeatTimeout:    heartbeat,
		WaitForCancellation: true,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: 3,
		},
	})
}

// keeping runs a table's upkeep under its target's workflow id. If one holds that id already, the start fails.
func keeping(ctx workflow.Context, t upkeep.Table, then enumspb.ParentClosePolicy) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: t.WorkflowID, WaitForCancellation: true, ParentClosePolicy: then, StaticSummary: t.Name + " → " + t.Target,
	})
}
