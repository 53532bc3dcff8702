package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/source/mysql/definition"
)

// Policy decides where MySQL's types have no single counterpart. The zero value is the default of each.
type Policy struct {
	// TinyInt1 is what TINYINT(1) becomes.
	TinyInt1 TinyInt1
	// Time is what TIME becomes.
	Time Time
	// ZeroDate is what dates that do not exist become.
	ZeroDate source.ZeroDate
	// ZeroDateColumns overrides ZeroDate by column name in lower case.
	ZeroDateColumns map[string]source.ZeroDate
	// DecimalOverflow is what DECIMAL of more than 38 digits becomes.
	DecimalOverflow DecimalOverflow
	// Types are those that columns are to have instead of the one that the rules give, by column name in lower case. A type
	// that some value of the column could not have as it is refuses the column, or, where the column's values alone tell,
	// the read.
	Types map[string]schema.Type
}

// TinyInt1 is a policy for TINYINT(1).
type TinyInt1 string

// The policies for TINYINT(1).
const (
	// TinyInt1Keep makes it TINYINT; the default.
	TinyInt1Keep TinyInt1 = "tinyint"
	// TinyInt1Boolean makes it BOOLEAN; a value that is neither 0 nor 1 fails the read.
	TinyInt1Boolean TinyInt1 = "boolean"
)

// Time is a policy for TIME, which spans ±838 hours.
type Time string

// The policies for TIME.
const (
	// TimeString makes TIME a STRING of MySQL's own text; the default.
	TimeString Time = "string"
	// TimeOfDay makes it TIME, which is a time of day in milliseconds; a value that is none fails the read.
	TimeOfDay Time = "time"
)

// DecimalOverflow is a policy for DECIMAL of more digits than the lake has.
type DecimalOverflow string

// The policies for DECIMAL of more than 38 digits.
const (
	// DecimalFail refuses the column; the default.
	DecimalFail DecimalOverflow = "fail"
	// DecimalString makes it a STRING of MySQL's own text.
	DecimalString DecimalOverflow = "string"
)

// Unused refuses a choice for a column that is no date in any of the tables: a name that is written wrongly would have no
// effect, and nobody would be told.
func (p Policy) Unused(tables []source.Table) error {
	for name := range p.ZeroDateColumns {
		isDate := func(c source.Column) bool {
			switch definition.Parse(c.Definition).Base {
			case "date", "datetime", "timestamp":
				return strings.EqualFold(c.Name, name)
			}
			return false
		}
		if len(tables) > 0 && !slices.ContainsFunc(tables, func(t source.Table) bool { return slices.ContainsFunc(t.Columns, isDate) }) {
			return fmt.Errorf("%w: types.zero_date_columns names %q, which is no DATE, DATETIME or TIMESTAMP in any shard", source.ErrRefused, name)
		}
	}
	return nil
}

// Validate refuses policies that do not exist.
func (p Policy) Validate() error {
	unknown := func(key, value string, known ...any) error {
		return fmt.Errorf("%w: types.%s: %q is not one of %q", source.ErrDenied, key, value, known)
	}
	zero := []source.ZeroDate{p.ZeroDate}
	for _, z := range p.ZeroDateColumns {
		zero = append(zero, z)
	}
	for _, z := range zero {
		switch z {
		case "", source.ZeroDateFail, source.ZeroDateNull, source.ZeroDateEpoch:
		default:
			return unknown("zero_date", string(z), source.ZeroDateFail, source.ZeroDateNull, source.ZeroDateEpoch)
		}
	}
	switch p.TinyInt1 {
	case "", TinyInt1Keep, TinyInt1Boolean:
	default:
		return unknown("tinyint1", string(p.TinyInt1), TinyInt1Keep, TinyInt1Boolean)
	}
	switch p.DecimalOverflow {
	case "", DecimalFail, DecimalString:
	default:
		return unknown("decimal_overflow", string(p.DecimalOverflow), DecimalFail, DecimalString)
	}
	switch p.Time {
	case "", TimeString, TimeOfDay:
	default:
		return unknown("time", string(p.Time), TimeString, TimeOfDay)
	}
	return nil
}
