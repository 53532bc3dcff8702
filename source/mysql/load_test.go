package mysql

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/userlock"
)

// TestLoadPass checks how long a read waits for an instance that is loaded, or that cannot be watched.
func TestLoadPass(t *testing.T) {
	loaded := func(reason string, err error) *load {
		l := &load{instance: "a", log: slog.New(slog.DiscardHandler), changed: make(chan struct{})}
		l.looks = append(l.looks, func(context.Context) (string, error) { return reason, err })
		t.Cleanup(l.close)
		return l
	}
	idle := loaded("", nil)
	require.NoError(t, idle.enter(t.Context(), 0))
	require.NoError(t, idle.pass(t.Context(), time.Nanosecond))
	idle.leave()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	busy := loaded("the server is busy", nil)
	require.ErrorIs(t, busy.enter(ctx, 0), context.DeadlineExceeded, "a read that has not begun waits as long as it may")
	err := busy.pass(t.Context(), 20*time.Millisecond)
	require.ErrorIs(t, err, source.ErrUnavailable, "one that has begun is given up")
	require.ErrorContains(t, err, "paused for 20ms, as the server is busy")
	waiting := make(chan error, 1)
	go func() { waiting <- busy.pass(t.Context(), 0) }()
	busy.close()
	require.ErrorIs(t, <-waiting, userlock.ErrClosed)

	denied := loaded("", source.ErrDenied)
	require.ErrorIs(t, denied.enter(t.Context(), 0), source.ErrDenied)

	gone := errors.New("nobody answers")
	blinded := loaded("", gone)
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, blinded.enter(ctx, 0), context.DeadlineExceeded, "one answer may be lost")
	blinded.mu.Lock()
	blinded.errSince = time.Now().Add(-2 * blind)
	blinded.mu.Unlock()
	require.ErrorIs(t, blinded.pass(t.Context(), 0), gone)
}
