package source

// Sample makes a read one of some rows of its split. A value that a policy changes or refuses is told, and does not end the
// read: one that is refused has a zero of its type in its place.
type Sample struct {
	// Rows is the most rows to read, above 0. Which rows of the split is up to the server.
	Rows int
	// Found is told of each such value, before the batch that holds its row is handed on.
	Found func(Finding)
	// Largest is set to the size of the largest row, as the server sent it.
	Largest int
}

// Finding is a value that does not arrive as it is.
type Finding struct {
	// Output is the column's place among the outputs, Column its name in the source.
	Output int
	Column string
	// Row is the row's place in the batch that is handed on next.
	Row int
	// Value is it as the source prints it, shortened; empty where that is of no help.
	Value string
	// Policy names what decided, such as zero_date: null, or what is odd about the value.
	Policy string
	// Refused tells that the value would end a read, with Problem.
	Refused bool
	Problem string
}
