package row

// Kind tells what a row of a key table does to its key (org.apache.paimon.types.RowKind). Its numbers are the values of the
// column _VALUE_KIND.
type Kind int8

const (
	// Insert adds a row.
	Insert Kind = 0
	// UpdateBefore takes back the row as it was before an update.
	UpdateBefore Kind = 1
	// UpdateAfter is the row as it is after an update.
	UpdateAfter Kind = 2
	// Delete takes the row away.
	Delete Kind = 3
)

// Retracts tells whether the row takes something away rather than adding it.
func (k Kind) Retracts() bool { return k == UpdateBefore || k == Delete }

// String is the kind as Paimon and Flink print it: +I, -U, +U or -D.
func (k Kind) String() string {
	switch k {
	case Insert:
		return "+I"
	case UpdateBefore:
		return "-U"
	case UpdateAfter:
		return "+U"
	case Delete:
		return "-D"
	}
	return "?"
}
