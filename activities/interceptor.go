package activities

import (
	"context"

	"go.temporal.io/sdk/interceptor"
)

// Interceptor translates the error of every activity as the last thing that happens to it, after masking secrets.
type Interceptor struct {
	interceptor.WorkerInterceptorBase
	// Mask replaces secrets in a text.
	Mask func(string) string
}

// InterceptActivity puts the translation around an activity.
func (i *Interceptor) InterceptActivity(ctx context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	t := &translator{mask: i.Mask}
	t.Next = next
	return t
}

type translator struct {
	interceptor.ActivityInboundInterceptorBase
	mask func(string) string
}

// ExecuteActivity runs the activity and translates its error.
func (t *translator) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := t.Next.ExecuteActivity(ctx, in)
	return result, translate(ctx, err, t.mask)
}
