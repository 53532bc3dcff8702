package datafile

import (
	"math/rand/v2"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// RandomTable is for the tests that need the library above this package.
func RandomTable(r *rand.Rand, width, rows int) ([]schema.Field, [][]row.Value) {
	return randomTable(r, width, rows)
}
