package budget_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities/budget"
)

const mib = 1 << 20

func join(t *testing.T, b *budget.Budget, name string, memory int64) *budget.Share {
	t.Helper()
	s, err := b.Join(t.Context(), name, memory)
	require.NoError(t, err)
	return s
}

// answering keeps to the share's limit whenever it is pressed, as a pipe does.
func answering(t *testing.T, s *budget.Share) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-s.Pressed():
				s.Limit()
				s.Keeps()
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// never asserts that a call waits: it does not return while the test looks, and ends with its context.
func never(t *testing.T, f func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, f(ctx), context.DeadlineExceeded)
}

func TestSharesDivideWhatJobsMayUse(t *testing.T) {
	var limit int64
	b := budget.New(1024*mib, func(n int64) { limit = n })
	require.EqualValues(t, 1024*mib, limit)
	one := join(t, b, "a", 256*mib)
	require.EqualValues(t, 256*mib, limit)
	alone := one.Limit()
	require.Greater(t, alone, int64(128*mib))
	two := join(t, b, "a", 256*mib)
	require.EqualValues(t, 256*mib, limit)
	require.InDelta(t, alone/2, one.Limit(), mib)
	other := join(t, b, "b", 2048*mib)
	require.EqualValues(t, 1024*mib, limit, "more than the worker has is not there")
	require.Greater(t, other.Limit()*3, int64(512*mib))
	other.Leave()
	other.Leave()
	two.Leave()
	require.Equal(t, alone, one.Limit())
	one.Leave()
	require.EqualValues(t, 1024*mib, limit)
}

// More than the memory is good for wait for others to leave; the first one never waits.
func TestJoinWaits(t *testing.T) {
	b := budget.New(64*mib, nil)
	first := join(t, b, "a", 1024*mib)
	second := join(t, b, "a", 1024*mib)
	never(t, func(ctx context.Context) error {
		_, err := b.Join(ctx, "a", 1024*mib)
		return err
	})
	joined := make(chan *budget.Share)
	go func() {
		s, _ := b.Join(t.Context(), "a", 1024*mib)
		joined <- s
	}()
	first.Leave()
	require.NotNil(t, <-joined)
	second.Leave()
}

// A row takes memory only when all shares have said that they keep to what it leaves them.
func TestTakeWaitsForAllToKeepToLess(t *testing.T) {
	b := budget.New(256*mib, nil)
	one, two := join(t, b, "a", 256*mib), join(t, b, "a", 256*mib)
	answering(t, one)
	before := two.Limit()
	two.Keeps()
	never(t, func(ctx context.Context) error { return one.Take(ctx, 100*mib, false) })
	require.Less(t, two.Limit(), before)
	answering(t, two)
	one.Give(100 * mib)
	require.NoError(t, one.Take(t.Context(), 100*mib, false))
	require.NoError(t, two.Take(t.Context(), 100*mib, false))
	require.Less(t, one.Limit(), int64(8*mib))
	never(t, func(ctx context.Context) error { return one.Take(ctx, 100*mib, false) })
	two.Leave()
	require.NoError(t, one.Take(t.Context(), 100*mib, false))
	one.Give(200 * mib)
	require.Greater(t, one.Limit(), before)
}

// Rows of which the length is not known yet come one at a time, so that two never wait for each other half way.
func TestGrowingRowsTakeTurns(t *testing.T) {
	b := budget.New(256*mib, nil)
	one, two := join(t, b, "a", 256*mib), join(t, b, "a", 256*mib)
	answering(t, one)
	answering(t, two)
	require.NoError(t, one.Take(t.Context(), 48*mib, true))
	never(t, func(ctx context.Context) error { return two.Take(ctx, 48*mib, true) })
	done := make(chan error)
	go func() { done <- two.Take(t.Context(), 48*mib, true) }()
	require.NoError(t, one.Take(t.Context(), 48*mib, true))
	require.NoError(t, one.Take(t.Context(), 96*mib, false))
	one.Give(192 * mib)
	require.NoError(t, <-done)
	two.Leave()
	require.NoError(t, one.Take(t.Context(), 200*mib, false))
}

// What can never be had is refused, with the setting to raise.
func TestRowsBeyondAllMemory(t *testing.T) {
	b := budget.New(512*mib, nil)
	one := join(t, b, "a", 256*mib)
	answering(t, one)
	require.NoError(t, one.Take(t.Context(), 150*mib, true))
	err := one.Take(t.Context(), 100*mib, true)
	require.ErrorIs(t, err, budget.ErrRow)
	require.ErrorContains(t, err, "takes 250 MiB or more, rows may take 204: raise run.memory")
	one.Leave()
	big := join(t, b, "a", 4096*mib)
	require.ErrorContains(t, big.Take(t.Context(), 500*mib, false), "raise the worker's --memory")
}
