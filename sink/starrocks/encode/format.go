package encode

import (
	"fmt"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Column is a column of the target and the type of the batch's vector at its place.
type Column struct {
	Name string
	Type schema.Type
}

// Format is how rows become a body. It keeps nothing between calls, so that several may use one.
type Format interface {
	// Begin appends what comes before the first row.
	Begin(dst []byte) []byte
	// Row appends a row of a batch to a body whose first row begins at start. On an error dst is as it was.
	Row(dst []byte, start int, b *row.Batch, i int) ([]byte, error)
	// End appends what comes after the last row.
	End(dst []byte) []byte
	// Headers tell the server how to read the body.
	Headers(c Compression) map[string]string
}

// UncarriedError tells that a format cannot carry a value. JSON carries what CSV cannot.
type UncarriedError struct {
	Format string
	Column string
	Why    string
}

// Error names the column and what it is about the value, not the value.
func (e *UncarriedError) Error() string {
	return fmt.Sprintf("%s cannot carry a value of column %q: %s", e.Format, e.Column, e.Why)
}

// cells returns the writer of each column.
func cells(columns []Column, of func(schema.Type) cell) ([]cell, error) {
	if len(columns) == 0 {
		return nil, fmt.Errorf("no columns to load")
	}
	made := make([]cell, len(columns))
	for i, c := range columns {
		if made[i] = of(c.Type); made[i] == nil {
			return nil, fmt.Errorf("column %q: %s has no form in a stream load", c.Name, c.Type)
		}
	}
	return made, nil
}
