package source

// Watermark is a column whose values grow with every change of a row, as a time of change or a number does, and how far
// behind the newest of them a window ends.
type Watermark struct {
	Column string
	// Overlap holds the window back from the source's clock, and from the beginning of transactions that are open, in
	// microseconds; Values holds a window of integers back from the greatest, where open transactions cannot be seen.
	Overlap, Values int64
	// Again has the overlap before the watermark read again, for a target in which rows replace those with their key.
	Again bool
	// Where is the condition that rows have to meet, or empty.
	Where string
}

// Since is a shard and the watermark that an earlier window of it ended with, a literal; empty when there was none.
type Since struct {
	Table Table
	After string
}

// Window is what is new in a shard: the rows whose watermark is above the one before, and at most UpTo.
type Window struct {
	Shard Shard `json:"shard"`
	// Column is the watermark's name in the shard.
	Column string `json:"column"`
	// After is the watermark before, empty for none: then all rows up to UpTo are new. UpTo is empty when nothing is new. Both are
	// literals in the source's syntax, which it alone compares.
	After string `json:"after,omitempty"`
	UpTo  string `json:"up_to,omitempty"`
	// Range is what is to be read, nil for nothing. It begins before After where the overlap is read again.
	Range *KeyRange `json:"range,omitempty"`
	// Rows is an estimate, of the source's statistics.
	Rows int64 `json:"rows"`
	// Indexed tells that an index begins with the column: without one every window costs a reading of the whole shard.
	Indexed bool `json:"indexed"`
	// Narrow tells that the index finds these few rows sooner than any other way.
	Narrow bool `json:"narrow,omitempty"`
	// Held says why the window may end below the newest row, a clause; empty when it ends with the newest of the last second.
	Held string `json:"held,omitempty"`
}

// String is the window for people.
func (w Window) String() string {
	held := ""
	if w.Held != "" {
		held = " (held back: " + w.Held + ")"
	}
	switch {
	case w.UpTo == "" && w.After == "":
		return "nothing up to now" + held
	case w.UpTo == "":
		return "nothing after " + w.After + held
	case w.After == "":
		return w.Column + " up to " + w.UpTo + held
	}
	return w.Column + " after " + w.Range.Lower[0] + " up to " + w.UpTo + held
}

// Windows are those of shards, in the order in which they were asked for.
type Windows struct {
	List []Window
	// Notes are what a person should know of them and what they cannot see, a sentence each.
	Notes []string
}
