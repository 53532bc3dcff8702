package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/comparing"
)

// VerifyName is the workflow that compares tables with their source.
const VerifyName = "Verify"

// VerifyInput says which tables are compared.
type VerifyInput struct {
	// Job is the job file as JSON, secrets as references.
	Job json.RawMessage `json:"job"`
	// Tables by name.
	Tables []string `json:"tables"`
}

// Verify compares what the source has with what is committed, and writes nothing. A table that cannot be compared has the reason in
// place of a comparison, so that the others are seen.
func Verify(ctx workflow.Context, in VerifyInput) ([]comparing.Result, error) {
	out := make([]comparing.Result, len(in.Tables))
	var first error
	inFlight(ctx, 2, len(in.Tables), func(i int) workflow.Future {
		return workflow.ExecuteActivity(tidy(ctx, "compare "+in.Tables[i]), comparing.CompareName, comparing.Input{Job: in.Job, Table: in.Tables[i]})
	}, func(i int, f workflow.Future) {
		err := f.Get(ctx, &out[i])
		if err == nil {
			return
		}
		if text, kind := activities.Describe(err); kind == activities.TypePlanRefused {
			out[i] = comparing.Result{Table: in.Tables[i], Refused: text}
		} else if first == nil {
			first = err
		}
	})
	return out, first
}
