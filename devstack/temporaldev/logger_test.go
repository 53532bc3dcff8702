package temporaldev

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

func TestLoggerFatalEndsTheGoroutineOnly(t *testing.T) {
	cause := errors.New("address already in use")
	for name, call := range map[string]func(log.Logger){
		"fatal": func(l log.Logger) { l.Fatal("cannot listen", tag.Error(cause)) },
		"panic": func(l log.Logger) { l.Panic("cannot listen", tag.Error(cause)) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			failed := make(chan error, 1)
			l := log.With(logger{out: slog.New(slog.NewTextHandler(&out, nil)), failed: failed}, tag.Service("history"))
			ended, returned := make(chan struct{}), false
			go func() {
				defer close(ended)
				call(l)
				returned = true
			}()
			<-ended
			require.False(t, returned, "the server relies on this call not to return")
			err := <-failed
			require.ErrorIs(t, err, cause)
			require.ErrorContains(t, err, "cannot listen")
			require.Contains(t, out.String(), "service=history")
		})
	}
}

func TestReportKeepsTheFirstFailure(t *testing.T) {
	failed := make(chan error, 1)
	first := errors.New("first")
	report(failed, first)
	report(failed, errors.New("second"))
	require.Equal(t, first, <-failed)
	require.Empty(t, failed)
}
