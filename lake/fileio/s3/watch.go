package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// stall is how long a request may go on without a byte being sent or received.
const stall = time.Minute

// errStalled ends a request on which nothing moves. It is tried again.
var errStalled error = stalled{}

type stalled struct{}

func (stalled) Error() string { return "nothing was sent or received for too long" }

// Timeout makes the SDK try the request again.
func (stalled) Timeout() bool { return true }

// watched is an HTTP client that gives up requests on which nothing moves: TCP alone waits a quarter of an hour for a peer
// that is gone, and a response's body for ever.
type watched struct {
	next  s3.HTTPClient
	stall time.Duration
}

// Do implements s3.HTTPClient.
func (w *watched) Do(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	beat := &heart{timer: time.AfterFunc(w.stall, func() { cancel(errStalled) }), every: w.stall}
	request = request.WithContext(ctx)
	if request.Body != nil && request.Body != http.NoBody {
		request.Body = &moving{ReadCloser: request.Body, heart: beat}
	}
	response, err := w.next.Do(request)
	if err != nil {
		beat.timer.Stop()
		if errors.Is(context.Cause(ctx), errStalled) {
			err = errStalled
		}
		cancel(nil)
		return nil, err
	}
	response.Body = &moving{ReadCloser: response.Body, heart: beat, cause: func() error { return context.Cause(ctx) }, end: func() {
		beat.timer.Stop()
		cancel(nil)
	}}
	return response, nil
}

type heart struct {
	timer *time.Timer
	every time.Duration
}

// moving is a body whose every read shows that the request is alive.
type moving struct {
	io.ReadCloser
	heart *heart
	// Of a response's body:
	cause func() error // why the request was given up
	end   func()
}

func (m *moving) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	if n > 0 {
		m.heart.timer.Reset(m.heart.every)
	}
	if err != nil && m.cause != nil && errors.Is(m.cause(), errStalled) {
		err = errStalled
	}
	return n, err
}

func (m *moving) Close() error {
	if m.end != nil {
		defer m.end()
	}
	return m.ReadCloser.Close()
}
