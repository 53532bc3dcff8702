package mysql

import (
	"github.com/tributary-lake/tributary/source/mysql/definition"
	"github.com/tributary-lake/tributary/source/mysql/mapping"
)

// The policies that map columns: see package mapping, of which these are the names outside this folder.
type (
	// Policy decides where MySQL's types have no single counterpart. The zero value is the default of each.
	Policy = mapping.Policy
	// TinyInt1 is a policy for TINYINT(1).
	TinyInt1 = mapping.TinyInt1
	// Time is a policy for TIME.
	Time = mapping.Time
	// DecimalOverflow is a policy for DECIMAL of more than 38 digits.
	DecimalOverflow = mapping.DecimalOverflow
)

// The choices other than the defaults.
const (
	// TinyInt1Boolean makes TINYINT(1) BOOLEAN.
	TinyInt1Boolean = mapping.TinyInt1Boolean
	// TimeOfDay makes TIME a time of day.
	TimeOfDay = mapping.TimeOfDay
	// DecimalString makes DECIMAL of more than 38 digits a STRING.
	DecimalString = mapping.DecimalString
)

// SameDefinition tells whether two definitions of columns are the same, on whatever servers: see [source.DriftStrict].
func SameDefinition(a, b string) bool { return definition.Alike(a, b) }
