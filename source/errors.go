package source

import (
	"errors"
	"fmt"
	"strings"
)

// The classes of errors that tell a caller what it may do. Errors of this package and of the drivers wrap one of them
// where it applies; any other error is of unknown kind and may be tried again.
var (
	// ErrSchemaChanged is returned when a shard is no longer what was planned. Trying again is of no use: plan anew.
	ErrSchemaChanged = errors.New("schema changed")
	// ErrRefused is returned for a column or a value that the policies in force do not let pass. Trying again is of no
	// use before the configuration changes.
	ErrRefused = errors.New("refused")
	// ErrDenied is returned when the source rejects the account or lacks a right, or the configuration cannot work.
	// Trying again is of no use before somebody changes it.
	ErrDenied = errors.New("denied")
	// ErrUnavailable is returned when an instance cannot be reached or a connection is lost. The read may be tried again
	// from its start; nothing that was handed on before counts.
	ErrUnavailable = errors.New("unavailable")
)

// SchemaChangedError tells what about a shard differs from the plan. It is an [ErrSchemaChanged].
type SchemaChangedError struct {
	Shard Shard
	// Column is empty when the whole table is gone.
	Column string
	// Planned is the column's definition in the plan; empty when the plan does not have the column, which was added.
	Planned string
	// Found is the definition now; empty when the column, or the table, is gone.
	Found string
}

// Error names the shard, the column and both definitions.
func (e *SchemaChangedError) Error() string {
	const remedy = "start a new run, which plans anew"
	switch {
	case e.Column == "":
		return fmt.Sprintf("shard %s: the table was dropped or renamed after the plan was made: %s", e.Shard, remedy)
	case e.Planned == "" && e.Found != "":
		return fmt.Sprintf("shard %s: column %q (%s) was added or renamed after the plan was made: %s", e.Shard, e.Column, e.Found, remedy)
	case e.Found == "":
		return fmt.Sprintf("shard %s: column %q (%s) was dropped or renamed after the plan was made: %s", e.Shard, e.Column, e.Planned, remedy)
	}
	return fmt.Sprintf("shard %s: column %q was %s when the plan was made and is %s now: %s", e.Shard, e.Column, e.Planned, e.Found, remedy)
}

// Is makes it an [ErrSchemaChanged].
func (e *SchemaChangedError) Is(target error) bool { return target == ErrSchemaChanged }

// lossLines bounds the text of an error; the struct holds all.
const lossLines = 100

// ShardLoss is a loss and the shard that it was found in.
type ShardLoss struct {
	Shard Shard `json:"shard"`
	Loss
}

// RefusedError lists the columns that cannot be read under the policies in force. It is an [ErrRefused].
type RefusedError struct {
	Losses []ShardLoss
}

// Error lists the columns, one a line.
func (e *RefusedError) Error() string {
	var b strings.Builder
	b.WriteString("columns cannot be read under the policies in force:")
	for i, l := range e.Losses {
		if i == lossLines {
			fmt.Fprintf(&b, "\n  … and %d more", len(e.Losses)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s column %q: %s", l.Shard, l.Column, l.What)
		if l.Policy != "" {
			fmt.Fprintf(&b, " (%s)", l.Policy)
		}
	}
	return b.String()
}

// Is makes it an [ErrRefused].
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }
