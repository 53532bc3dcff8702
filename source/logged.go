package source

// Logged is what an instance's binary log tells of the time after a cut.
type Logged struct {
	// Now is where the log ended when it was asked.
	Now Position
	// Changed are the shards that were asked about and that the log has changes of, or may have. Without Unknown the others were
	// not changed.
	Changed map[Shard]bool
	// Unknown says why it is not known which shards were changed, a clause; empty when it is.
	Unknown string
}

// Mark tells rows that stand for deleted ones: those whose output of the place has the text, as package tally has it.
type Mark struct {
	Output int
	Text   string
}
