package userlock_test

import (
	"context"
	"fmt"
	"testing"

	driversql "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/userlock"
)

// refusing is a session of a server that refuses every query.
type refusing struct{ err error }

func (r refusing) Ask(context.Context, string) (string, error) { return "", r.err }

// TestLocksRefused tells a server that has no user locks, which is not read, from one that is going down.
func TestLocksRefused(t *testing.T) {
	s := userlock.NewSlots(2)
	no := &driversql.MySQLError{Number: 1105, Message: "no"}
	err := s.Take(t.Context(), refusing{no})
	require.ErrorIs(t, err, source.ErrDenied)
	require.ErrorContains(t, err, "pxc_strict_mode")
	err = s.Take(t.Context(), refusing{fmt.Errorf("%w: %w", source.ErrUnavailable, no)})
	require.ErrorIs(t, err, source.ErrUnavailable)
	require.NotErrorIs(t, err, source.ErrDenied)
}
