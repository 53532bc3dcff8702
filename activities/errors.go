package activities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"go.temporal.io/sdk/temporal"

	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/activities/merging"
	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/snapshot"
	"github.com/tributary-lake/tributary/ledger"
	"github.com/tributary-lake/tributary/source"
)

// Types of the errors that activities end with. They are part of histories and of the exit code of the starter.
const (
	// TypeConfig: the job is wrong. The starter exits with 2.
	TypeConfig = "Config"
	// TypePlanRefused: the plan would lose or change something, or the target or store cannot take it. The starter exits with 3.
	TypePlanRefused = "PlanRefused"
	// TypeSource: the source cannot be reached. Tried again for a while.
	TypeSource = "SourceUnavailable"
	// TypeAccess: credentials or rights.
	TypeAccess = "AccessRefused"
	// TypeSchemaChanged: a shard changed after the plan.
	TypeSchemaChanged = "SchemaChanged"
	// TypeValue: a value that the policy refuses, or a row that the memory cannot hold.
	TypeValue = "ValueRefused"
	// TypeKeyCollision: rows have one primary key, and none of them is to win.
	TypeKeyCollision = "KeyCollision"
	// TypeMismatch: what was written is not what was planned or read.
	TypeMismatch = "VerificationFailed"
	// TypeConflict: another writer changed the table since the plan.
	TypeConflict = "Conflict"
	// TypeOvertaken: another writer added to buckets after rows for them were merged. Merged again they can be committed.
	TypeOvertaken = "Overtaken"
	// TypeUnknown: whether the commit happened cannot be known. The starter exits with 4.
	TypeUnknown = "OutcomeUnknown"
	// TypeAborted: the run was given up meanwhile.
	TypeAborted = "RunAborted"
	// TypeBusy: another run holds the table.
	TypeBusy = "TableBusy"
	// TypeCorrupt: a file of the run or of the table is damaged.
	TypeCorrupt = "Corrupt"
	// TypeStorage: a store refuses or fails, such as a full disk.
	TypeStorage = "StorageUnavailable"
	// TypeInternal: anything else. Tried again.
	TypeInternal = "Internal"
)

var (
	// ErrConfig wraps what is wrong with a job.
	ErrConfig = errors.New("job refused")
	// ErrPlanRefused wraps what makes a plan impossible or unsafe.
	ErrPlanRefused = errors.New("plan refused")
	// ErrMismatch is returned when the plan, the claims and the messages do not agree.
	ErrMismatch = merging.ErrMismatch
	// ErrAborted is returned when the run was decided to be given up.
	ErrAborted = errors.New("the run was given up")
)

// class says what Temporal and people are told of an error.
type class struct {
	of    error
	name  string
	retry bool
}

// classes is the one table of errors, the most telling first.
func classes() []class {
	return []class{
		{ErrConfig, TypeConfig, false},
		{ErrPlanRefused, TypePlanRefused, false},
		{ErrAborted, TypeAborted, false},
		{merging.ErrKeyCollision, TypeKeyCollision, false},
		{ErrMismatch, TypeMismatch, false},
		{budget.ErrRow, TypeValue, false},
		{source.ErrDenied, TypeAccess, false},
		{source.ErrSchemaChanged, TypeSchemaChanged, false},
		{source.ErrRefused, TypeValue, false},
		{lake.ErrFolderName, TypeValue, false},
		{source.ErrUnavailable, TypeSource, true},
		{commit.ErrOutcomeUnknown, TypeUnknown, true},
		{commit.ErrOvertaken, TypeOvertaken, false},
		{commit.ErrConflict, TypeConflict, false},
		{commit.ErrRefused, TypeConflict, false},
		{ledger.ErrCorrupt, TypeCorrupt, false},
		{message.ErrCorrupt, TypeCorrupt, false},
		{message.ErrMagic, TypeCorrupt, false},
		{message.ErrVersion, TypeCorrupt, false},
		{message.ErrSchemaID, TypeCorrupt, false},
		{message.ErrShort, TypeCorrupt, false},
		{message.ErrLong, TypeCorrupt, false},
		{message.ErrChecksum, TypeCorrupt, false},
		{snapshot.ErrCorrupt, TypeCorrupt, false},
		{manifest.ErrCorrupt, TypeCorrupt, false},
		{catalog.ErrName, TypeConfig, false},
		{fs.ErrPermission, TypeStorage, true},
		{syscall.EROFS, TypeStorage, true},
		{syscall.ENOSPC, TypeStorage, true},
		{syscall.EDQUOT, TypeStorage, true},
		{syscall.EIO, TypeStorage, true},
		{fileio.ErrNotExist, TypeStorage, true},
	}
}

// translate is the last thing that happens to an activity's error: it becomes the outermost ApplicationError, which is
// all that Temporal looks at. Domain packages wrap freely below.
func translate(ctx context.Context, err error, mask func(string) string) error {
	if err == nil {
		return nil
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) || temporal.IsCanceledError(err) {
		return err
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return temporal.NewCanceledError()
	}
	for _, c := range classes() {
		if errors.Is(err, c.of) {
			return temporal.NewApplicationErrorWithOptions(mask(err.Error()), c.name, temporal.ApplicationErrorOptions{NonRetryable: !c.retry})
		}
	}
	return temporal.NewApplicationErrorWithOptions(mask(err.Error()), TypeInternal, temporal.ApplicationErrorOptions{})
}

// Describe returns the sentence and the type of an error that a workflow received from an activity or a child.
func Describe(err error) (text, kind string) {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Message(), app.Type()
	}
	if temporal.IsCanceledError(err) {
		return "cancelled", ""
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return fmt.Sprintf("no worker finished in time (%s): is one running and reachable?", timeout.TimeoutType()), TypeInternal
	}
	return err.Error(), TypeInternal
}

// Resumable tells whether a failed run may succeed when it goes on later with what it has.
func Resumable(kind string) bool {
	switch kind {
	case TypeSource, TypeStorage, TypeInternal, TypeAccess, TypeUnknown:
		return true
	}
	return false
}
