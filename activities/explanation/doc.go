// Package explanation is a plan as people read it: what `starter plan` prints, cut to what a workflow's result may hold. It
// plans nothing itself and reads nothing.
package explanation
