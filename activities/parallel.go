package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"
)

// parallel calls fn for 0 … n-1, at most limit at once, and returns the first error.
func parallel(ctx context.Context, n, limit int, fn func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return fn(ctx, i)
		})
	}
	return g.Wait()
}

// heartbeatEvery is below a third of the heartbeat timeout of every activity.
const heartbeatEvery = 5 * time.Second

// Beat tells Temporal that the activity is alive until the returned function is called. Without it a worker's death
// would be noticed only at the end of the activity's time, and a cancellation never. Outside of an activity there is
// nobody to tell.
func Beat(ctx context.Context) func() {
	return beatWith(ctx, func() any { return nil })
}

func beatWith(ctx context.Context, details func() any) func() {
	if !activity.IsActivity(ctx) {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		t := time.NewTicker(heartbeatEvery)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-t.C:
				activity.RecordHeartbeat(ctx, details())
			}
		}
	}()
	return func() { close(done) }
}
