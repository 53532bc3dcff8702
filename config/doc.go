// Package config reads what users write: the job file, and the settings of the worker and the starter.
//
// It imports nothing of the project but config/document, which parses; it opens no connection and reads no file but the
// ones it is named. It knows the shape of a job (which keys, which values, which defaults) and nothing of how a job is
// carried out.
//
// One declaration drives everything. The struct tags of Job, and of the types it holds, say for each key its name, its
// default, its limits and its description:
//
//	key       the name in the file
//	required  "true" when the key must be there
//	default   the value when the key is missing, as it would be written in the file
//	rule      a rule of rules() which text must pass
//	min, max  limits of a number
//	empty     "none": the value {} means that the setting is off
//	doc       the description, for the published schema
//
// Parsing, canonical JSON, environment overrides and JSONSchema are all made from these tags, so they cannot disagree.
//
// Invariants:
//
//   - ParseJob is a pure function of its input: no environment, no file, no clock. Overrides are applied by LoadJob
//     alone, on the side of whoever starts a run.
//   - All problems of a file are reported at once, each with its place.
//   - A key is never ignored silently. One that belongs to later work gives a Problem with NotYet set; notYetRules is
//     the only list of those.
//   - No secret is ever held: a Secret is a reference, and its value exists only in what Resolve returns.
//   - ParseJob(JSON(job)) is job.
package config
