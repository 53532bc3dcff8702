package mysql

import (
	"errors"
	"io"
	"testing"

	driversql "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/source"
)

func TestClassify(t *testing.T) {
	require.NoError(t, classify(nil))
	for code, class := range map[uint16]error{
		codeTableDenied: source.ErrDenied, codeQueryInterrupted: source.ErrUnavailable, codeDefinitionChanged: source.ErrSchemaChanged, codeSyntax: source.ErrDenied,
	} {
		require.ErrorIs(t, classify(&driversql.MySQLError{Number: code}), class)
	}
	plain := errors.New("anything")
	require.Equal(t, plain, classify(plain))
	for _, e := range []error{io.ErrUnexpectedEOF, driversql.ErrInvalidConn} {
		require.ErrorIs(t, classify(e), source.ErrUnavailable)
	}
}
