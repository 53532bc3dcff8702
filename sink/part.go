package sink

// Table names a table of the server.
type Table struct {
	Database string `json:"database"`
	Name     string `json:"name"`
}

// String is database.name, for people.
func (t Table) String() string { return t.Database + "." + t.Name }

// Part is what one attempt of a unit has left at the server: rows that are there to stay, that nobody sees before the label is
// committed, and that are gone for good when it is rolled back.
type Part struct {
	// Label names the transaction. No two attempts use the same.
	Label string `json:"label"`
	// Transaction is the server's own number of it, for people.
	Transaction int64 `json:"transaction,omitempty"`
	Table       Table `json:"table"`
	// Rows and Bytes are what the server says that it holds, and that were sent.
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
}

// State is what a server says of a label.
type State uint8

const (
	// Unknown: the server knows no such label. It was never used, or the server has forgotten it.
	Unknown State = iota
	// Open: rows may still be added, or the server is at work on them. It ends by itself.
	Open
	// Prepared: the rows stay and nobody sees them, until somebody decides or the server's time for it is over.
	Prepared
	// Committed: the rows are in the table, or will be as soon as the server's nodes have heard of it.
	Committed
	// RolledBack: the rows are gone, and the label is free.
	RolledBack
)

// String is the state's name.
func (s State) String() string {
	return [...]string{"unknown", "open", "prepared", "committed", "rolled back"}[s]
}
