package swap

// Sight is what a listing of the database's tables shows of one run.
type Sight struct {
	// Target tells that the target carries the run's mark.
	Target bool
	// Stage is what has a stage name of the run, Retired what has a retired one.
	Stage, Retired Found
}

// Found is a table of the run's, or none.
type Found struct {
	There bool
	// Generation is the number in its name.
	Generation int
	Marked     bool
}

// Step is what is done next. The statements work on the generation that was found.
type Step uint8

// The steps.
const (
	// Swap exchanges the target and the stage.
	Swap Step = iota
	// Retire renames the stage to the retired name of its generation.
	Retire
	// Restage renames the retired table to the stage name of the next generation.
	Restage
	// Drop drops the retired table.
	Drop
	// Done: the target is the new table and nothing is left of the old one. It is an end.
	Done
	// Lost: no table carries the mark. It is an end.
	Lost
)

// Next is the only step allowed to somebody who sees s and whose run is decided to commit.
func Next(s Sight) Step {
	switch {
	case s.Target && s.Stage.There:
		return Retire
	case s.Target && s.Retired.There:
		return Drop
	case s.Target:
		return Done
	case s.Stage.There && s.Stage.Marked:
		return Swap
	case s.Retired.There && s.Retired.Marked:
		return Restage
	}
	return Lost
}
