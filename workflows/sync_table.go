package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/ledger"
)

const (
	// defaultContinueAfter keeps a history below the 10,240 events at which a server warns: an activity costs three events, and
	// as many again where each wakes the workflow by itself. Servers suggest to continue earlier, from 4,096 events on.
	defaultContinueAfter = 1500
	// maxWindow bounds pending activities, far below the server's 2,000.
	maxWindow = 200
	// maxRounds bounds how many times the rows of a key table are merged again because others add to it.
	maxRounds = 5
)

// TableInput starts the sync of one table. State is set by continue-as-new alone.
type TableInput struct {
	activities.PreparedTable
	Settings      activities.Settings `json:"settings"`
	ContinueAfter int                 `json:"continue_after,omitempty"`
	State         *TableState         `json:"state,omitempty"`
}

// TableState is what a table's workflow takes along when it continues as new.
type TableState struct {
	Planned activities.Planned `json:"planned"`
	// Pending are the units not yet started, or the merges once these are planned. None is in flight when the workflow continues.
	Pending []activities.Range `json:"pending"`
	// Merges are those of a key table, nil until all units are written.
	Merges *activities.PlannedMerges `json:"merges,omitempty"`
	Merged int                       `json:"merged,omitempty"`
	// Again counts how many times they were made again.
	Again int `json:"again,omitempty"`
	// Units are the counts before them.
	Units   ledger.Counts `json:"units,omitzero"`
	Done    int           `json:"done"`
	Counts  ledger.Counts `json:"counts"`
	Started time.Time     `json:"started"`
}

// TableProgress answers ProgressQuery.
type TableProgress struct {
	Table    string `json:"table"`
	Phase    string `json:"phase"`
	Units    int    `json:"units"`
	Done     int    `json:"done"`
	InFlight int    `json:"in_flight"`
	// Merges and Merged are what follows the units of a key table, and how much of it is done.
	Merges   int           `json:"merges,omitempty"`
	Merged   int           `json:"merged,omitempty"`
	Splits   int           `json:"splits"`
	RowsPlan int64         `json:"rows_planned"`
	Counts   ledger.Counts `json:"counts"`
	Started  time.Time     `json:"started"`
}

// table is a SyncTable execution.
type table struct {
	in       TableInput
	state    TableState
	phase    string
	inFlight int
	started  int // units and merges, by this execution
	round    int // of merges, that is to be opened
	// reading is the number of connections of the units in flight.
	reading int
}

// SyncTable brings one logical table into the lake: plan, write in a window of activities, merge in another one where the
// target has a primary key, verify, commit, clean. After
// a failure that a second try may overcome the ledger is kept for `starter resume`; after any other, or a cancellation,
// the run is given up and its files are removed, unless it turns out to be committed.
func SyncTable(ctx workflow.Context, in TableInput) (*activities.TableResult, error) {
	t := &table{in: in, phase: "planning"}
	if in.State != nil {
		t.state = *in.State
	} else {
		t.state.Started = workflow.Now(ctx)
	}
	if err := workflow.SetQueryHandler(ctx, ProgressQuery, t.progress); err != nil {
		return nil, err
	}
	r, err := t.run(ctx)
	if err == nil || workflow.IsContinueAsNewError(err) {
		return r, err
	}
	return t.giveUp(ctx, err)
}

func (t *table) progress() (TableProgress, error) {
	p := t.state.Planned
	out := TableProgress{
		Table: t.in.Key.Table, Phase: t.phase, Units: p.Units, Done: t.state.Done, InFlight: t.inFlight, Splits: p.Splits,
		RowsPlan: p.Rows, Counts: t.state.Counts, Started: t.state.Started, Merged: t.state.Merged,
	}
	if t.state.Merges != nil {
		out.Merges = t.state.Merges.Merges
	}
	return out, nil
}

func (t *table) run(ctx workflow.Context) (*activities.TableResult, error) {
	run := t.in.TableRun
	if t.in.State == nil {
		if err := workflow.ExecuteActivity(quick(ctx, "plan "+run.Table), activities.PlanName, activities.PlanInput{TableRun: run}).Get(ctx, &t.state.Planned); err != nil {
			return nil, err
		}
		t.state.Pending = t.state.Planned.Pending
		t.state.Done = t.state.Planned.Units - size(t.state.Pending)
	}
	r := &activities.TableResult{}
	for {
		again, err := t.finish(ctx, r)
		if again {
			next := t.in
			next.State = &t.state
			return nil, workflow.NewContinueAsNewError(ctx, SyncTableName, next)
		}
		if err == nil {
			break
		}
		if !t.mergeAgain(err) {
			return nil, err
		}
	}
	t.phase = "cleaning"
	// What cleaning leaves undone, the next run of the table does: it cannot change what is committed.
	clean, cancel := cleanup(ctx, "clean "+run.Table)
	defer cancel()
	if err := workflow.ExecuteActivity(clean, activities.CleanName, activities.CleanInput{TableRun: run}).Get(clean, nil); err != nil {
		workflow.GetLogger(ctx).Warn("cleaning is left to the next run", "table", run.Table, "error", err)
	}
	t.phase = "done"
	r.Table, r.Target, r.Seconds = run.Table, t.in.Target, seconds(ctx, t.state.Started)
	return r, nil
}

// finish loads, verifies and commits what is still to be. It tells whether something remains that the next execution has to do.
func (t *table) finish(ctx workflow.Context, r *activities.TableResult) (bool, error) {
	run := t.in.TableRun
	if t.state.Planned.Done == nil {
		if again, err := t.load(ctx); again || err != nil {
			return again, err
		}
		t.phase = "verifying"
		if err := workflow.ExecuteActivity(quick(ctx, "verify "+run.Table), activities.VerifyName, activities.VerifyInput{TableRun: run}).Get(ctx, nil); err != nil {
			return false, err
		}
	}
	t.phase = "committing"
	return false, workflow.ExecuteActivity(commit(ctx, "commit "+run.Table), activities.CommitName, activities.CommitInput{TableRun: run}).Get(ctx, r)
}

// mergeAgain prepares another round of merges when a commit was refused because others had added to the same buckets meanwhile.
func (t *table) mergeAgain(err error) bool {
	if _, kind := activities.Describe(err); kind != activities.TypeOvertaken || t.state.Merges == nil || t.state.Again == maxRounds {
		return false
	}
	t.state.Again++
	t.state.Counts, t.state.Merged = t.state.Units, 0
	t.round = t.state.Merges.Round + 1
	t.state.Merges = nil
	return true
}

// load writes all units and, where the target has a primary key, merges what they left. It tells whether something remains
// that the next execution has to do.
func (t *table) load(ctx workflow.Context) (bool, error) {
	run := t.in.TableRun
	if t.state.Merges == nil {
		t.phase = "writing"
		again, err := t.window(ctx, func(ctx workflow.Context, unit int) workflow.Future {
			return workflow.ExecuteActivity(split(ctx, fmt.Sprintf("%s unit %d", run.Table, unit)), activities.WriteName,
				activities.WriteInput{TableRun: run, Unit: unit})
		}, func() { t.state.Done++ })
		if again || err != nil || !t.state.Planned.Keyed {
			return again, err
		}
		t.phase = "planning merges"
		t.state.Units = t.state.Counts
		t.state.Merges = &activities.PlannedMerges{}
		err = workflow.ExecuteActivity(quick(ctx, "plan merges of "+run.Table), activities.PlanMergesName, activities.PlanMergesInput{TableRun: run, Round: t.round}).Get(ctx, t.state.Merges)
		if err != nil {
			return false, err
		}
		t.state.Pending, t.state.Merges.Pending = t.state.Merges.Pending, nil
		t.state.Merged = t.state.Merges.Merges - size(t.state.Pending)
	}
	t.phase = "merging"
	return t.window(ctx, func(ctx workflow.Context, n int) workflow.Future {
		return workflow.ExecuteActivity(split(ctx, fmt.Sprintf("%s merge %d", run.Table, n)), activities.MergeName,
			activities.MergeInput{TableRun: run, Merge: n, Round: t.state.Merges.Round})
	}, func() { t.state.Merged++ })
}

// window keeps some of what is pending in flight. It tells whether something remains that the next execution has to do.
func (t *table) window(ctx workflow.Context, start func(ctx workflow.Context, unit int) workflow.Future, done func()) (bool, error) {
	window := min(max(1, t.in.Settings.Parallelism), maxWindow)
	limit := t.in.ContinueAfter
	if limit <= 0 {
		limit = defaultContinueAfter
	}
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	sel := workflow.NewSelector(ctx)
	var failed error
	for {
		for failed == nil && t.fits(window) && t.started < limit && !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			unit := t.next()
			readers := t.readers(unit)
			t.started++
			t.inFlight++
			t.reading += readers
			sel.AddFuture(start(ctx, unit), func(f workflow.Future) {
				t.inFlight--
				t.reading -= readers
				var w activities.Written
				if err := f.Get(ctx, &w); err != nil {
					if failed == nil {
						failed = err
						cancel() // the others would be thrown away, or are read again by a resume
					}
					return
				}
				done()
				t.state.Counts = t.state.Counts.Add(w.Counts)
			})
		}
		if t.inFlight == 0 {
			return failed == nil && len(t.state.Pending) > 0, failed
		}
		sel.Select(ctx)
	}
}

// fits tells whether the first pending unit may begin beside those in flight. One alone always may.
func (t *table) fits(window int) bool {
	if len(t.state.Pending) == 0 {
		return false
	}
	return t.inFlight == 0 || t.reading+t.readers(t.state.Pending[0].From) <= window
}

// readers is by how many connections a unit is read.
func (t *table) readers(unit int) int {
	if t.state.Merges != nil {
		return 1 // it is a merge
	}
	return max(1, t.state.Planned.Readers[unit])
}

// next takes the first pending unit.
func (t *table) next() int {
	p := &t.state.Pending[0]
	unit := p.From
	if p.From++; p.From == p.To {
		t.state.Pending = t.state.Pending[1:]
	}
	return unit
}

func size(ranges []activities.Range) int {
	n := 0
	for _, r := range ranges {
		n += r.To - r.From
	}
	return n
}

// giveUp settles a run that failed or was cancelled with cause.
func (t *table) giveUp(ctx workflow.Context, cause error) (*activities.TableResult, error) {
	r := failedTable(t.in.PreparedTable, cause)
	r.Read, r.Written, r.Bytes, r.Splits = t.state.Counts.RowsRead, t.state.Counts.RowsWritten, t.state.Counts.Bytes, t.state.Planned.Splits
	r.Replaced, r.Collapsed = t.state.Counts.Replaced, t.state.Counts.RowsCollapsed
	r.Seconds = seconds(ctx, t.state.Started)
	cancelled := temporal.IsCanceledError(cause)
	if !cancelled && t.state.Planned.Units > 0 && activities.Resumable(r.ErrorType) {
		if r.ErrorType == activities.TypeUnknown {
			r.Status = StatusUnknown
		}
		r.Error += fmt.Sprintf(". What is written so far is kept: go on with `starter resume %s`, or give it up with `starter abort %s`", t.in.Run, t.in.Run)
		return t.end(r)
	}
	if r.ErrorType == activities.TypeAborted {
		return t.end(r) // it was given up before
	}
	t.phase = "aborting"
	actx, cancel := cleanup(ctx, "abort "+t.in.Key.Table)
	defer cancel()
	var a activities.Aborted
	if err := workflow.ExecuteActivity(actx, activities.AbortName, activities.AbortInput{TableRun: t.in.TableRun}).Get(actx, &a); err != nil {
		text, _ := activities.Describe(err)
		r.Error = joinSentences(r.Error, fmt.Sprintf("giving the run up failed too: %s: do it with `starter abort %s`", text, t.in.Run))
		return t.end(r)
	}
	r.Error = joinSentences(r.Error, a.Message)
	switch a.State {
	case activities.StateCommitted:
		r.Status, r.Snapshot = activities.StateCommitted, a.Snapshot
	case activities.StateUnknown, activities.StateNotCommitted:
		r.Status = StatusUnknown
	}
	return t.end(r)
}

// end closes the workflow as its result says, so that the UI shows a failed table as failed.
func (t *table) end(r activities.TableResult) (*activities.TableResult, error) {
	t.phase = r.Status
	switch r.Status {
	case activities.StateCommitted:
		return &r, nil
	case StatusCancelled:
		return nil, temporal.NewCanceledError(r)
	}
	return nil, temporal.NewNonRetryableApplicationError(r.Error, tableFailed, nil, r)
}

func joinSentences(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + ". " + b
}
