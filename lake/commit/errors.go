package commit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tributary-lake/tributary/lake/snapshot"
)

var (
	// ErrConflict is returned when another writer changed the table since the plan in a way that the commit would undo.
	// Nothing was published by this call. Plan anew, or allow it by Request.AllowForeign.
	ErrConflict = errors.New("conflicting change of the table")
	// ErrOvertaken is an ErrConflict: another writer added rows to a bucket whose numbers are not below those of the commit. It may
	// be made of files with higher numbers, as the same commit.
	ErrOvertaken = fmt.Errorf("%w: others added rows to the same buckets meanwhile", ErrConflict)
	// ErrRefused is returned for a commit that must not be made as it stands: a file is missing, the schema does not fit,
	// the table is of a sort that is not committed here. Nothing was published by this call, and calling again does not
	// help.
	ErrRefused = errors.New("commit refused")
	// ErrFenced is an ErrRefused: the commit was given up, and a snapshot of its own says so.
	ErrFenced = fmt.Errorf("%w: it was given up", ErrRefused)
	// ErrOutcomeUnknown is returned when it cannot be told whether the commit is in the table. Look again later by
	// calling Publish or Find; delete nothing until one of them answers.
	ErrOutcomeUnknown = errors.New("outcome of the commit is unknown")
)

// Error says what went wrong where. It wraps one of the sentinels of this package, or the store's error.
type Error struct {
	// Op is check, publish, find or fence.
	Op string
	// Table is the full address of the table.
	Table string
	// Snapshot that stands in the way, 0 when there is none.
	Snapshot snapshot.ID
	// Path of the file that is the matter, relative to the store's root; empty when there is none.
	Path string
	Err  error
	// Hint tells what to do; it may be empty.
	Hint string
}

// Error gives it on one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: ", e.Op, e.Table)
	if e.Snapshot > 0 {
		fmt.Fprintf(&b, "snapshot %d: ", e.Snapshot)
	}
	if e.Path != "" {
		fmt.Fprintf(&b, "file %s: ", e.Path)
	}
	b.WriteString(e.Err.Error())
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// final tells that trying again cannot change the answer.
func final(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrRefused) || errors.Is(err, ErrOutcomeUnknown)
}
