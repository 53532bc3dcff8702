package faultio_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/fileio/fileiotest"
)

func local(t *testing.T) fileio.Store {
	s, err := fileio.NewLocal(t.TempDir())
	require.NoError(t, err)
	return s
}

func TestWithoutFaultsItIsTheStore(t *testing.T) {
	fileiotest.Run(t, fileiotest.Config{Rounds: 5, New: func(t *testing.T) fileio.Store {
		return faultio.New(local(t), func(faultio.Op) faultio.Fault { return faultio.None })
	}})
}

// at returns a store whose n-th operation suffers the fault, and the operations seen.
func at(t *testing.T, n int, f faultio.Fault) (faulty, plain fileio.Store, ops *[]faultio.Op) {
	plain = local(t)
	ops = &[]faultio.Op{}
	return faultio.New(plain, func(op faultio.Op) faultio.Fault {
		*ops = append(*ops, op)
		if op.N == n {
			return f
		}
		return faultio.None
	}), plain, ops
}

func TestFailBefore(t *testing.T) {
	s, plain, ops := at(t, 2, faultio.FailBefore)
	require.ErrorIs(t, fileio.WriteFile(t.Context(), s, "f", []byte("x")), faultio.ErrInjected)
	require.Equal(t, []faultio.Op{{faultio.Create, "f", 0}, {faultio.Write, "f", 1}, {faultio.Close, "f", 2}}, *ops)
	require.NoError(t, plain.List(t.Context(), "", func(i fileio.Info) error {
		t.Errorf("%s was left", i.Path)
		return nil
	}))
}

func TestFailAfter(t *testing.T) {
	s, plain, _ := at(t, 0, faultio.FailAfter)
	require.ErrorIs(t, s.CreateExclusive(t.Context(), "f", []byte("x")), faultio.ErrInjected)
	data, err := fileio.ReadFile(t.Context(), plain, "f", 10)
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	require.NoError(t, s.CreateExclusive(t.Context(), "f", []byte("x")))
}

func TestBlock(t *testing.T) {
	s, plain, _ := at(t, 0, faultio.Block)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Delete(ctx, "f") }()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	_, err := plain.Stat(t.Context(), "f")
	require.ErrorIs(t, err, fileio.ErrNotExist)
}
