package schema

import (
	"errors"
	"fmt"
	"slices"
)

// ErrIncompatible marks a latest schema under which files of the planned one would be misread. Plan anew.
var ErrIncompatible = errors.New("the table's schema is no compatible evolution of the planned one")

// CompatibleEvolution tells whether files written under the planned schema may be committed when the table's latest schema
// is another: all planned fields are there under their ids and names with equal or wider types, new fields are nullable,
// and nothing that decides where files lie has changed. Otherwise it returns [ErrIncompatible] and what differs.
func CompatibleEvolution(planned, latest *Table) error {
	if reason := evolution(planned, latest); reason != "" {
		return fmt.Errorf("%w: planned was schema %d, latest is %d: %s", ErrIncompatible, planned.ID, latest.ID, reason)
	}
	return nil
}

func evolution(planned, latest *Table) string {
	if latest.ID < planned.ID {
		return "the latest is older"
	}
	if !slices.Equal(planned.PartitionKeys, latest.PartitionKeys) {
		return fmt.Sprintf("partition keys were %q, are %q", planned.PartitionKeys, latest.PartitionKeys)
	}
	if !slices.Equal(planned.PrimaryKeys, latest.PrimaryKeys) {
		return fmt.Sprintf("primary keys were %q, are %q", planned.PrimaryKeys, latest.PrimaryKeys)
	}
	if reason := layout(planned, latest); reason != "" {
		return reason
	}
	known := map[int]bool{}
	for _, f := range planned.Fields {
		known[f.ID] = true
		if reason := evolvedField(planned, latest, f); reason != "" {
			return reason
		}
	}
	for _, f := range latest.Fields {
		if !known[f.ID] && f.Type.NotNull {
			return fmt.Sprintf("column %q is new and NOT NULL", f.Name)
		}
		if !known[f.ID] && f.ID <= planned.HighestFieldID {
			return fmt.Sprintf("column %q is new but has the old id %d", f.Name, f.ID)
		}
	}
	return ""
}

// layout compares the options that decide in which directory a file lies.
func layout(planned, latest *Table) string {
	a, err := planned.ParseOptions()
	if err != nil {
		return "planned " + err.Error()
	}
	b, err := latest.ParseOptions()
	if err != nil {
		return "latest " + err.Error()
	}
	for _, c := range []struct {
		key      string
		was, now any
	}{
		{OptionBucket, a.Bucket, b.Bucket},
		{OptionBucketFunction, a.BucketFunction, b.BucketFunction},
		{OptionPartitionDefaultName, a.PartitionDefaultName, b.PartitionDefaultName},
		{OptionPartitionLegacyName, a.PartitionLegacyName, b.PartitionLegacyName},
	} {
		if c.was != c.now {
			return fmt.Sprintf("option %s was %v, is %v", c.key, c.was, c.now)
		}
	}
	if was, now := planned.BucketKeys(), latest.BucketKeys(); !slices.Equal(was, now) {
		return fmt.Sprintf("bucket keys were %q, are %q", was, now)
	}
	return ""
}

func evolvedField(planned, latest *Table, f Field) string {
	i := slices.IndexFunc(latest.Fields, func(g Field) bool { return g.ID == f.ID })
	if i < 0 {
		return fmt.Sprintf("column %q (id %d) is gone", f.Name, f.ID)
	}
	g := latest.Fields[i]
	if g.Name != f.Name {
		return fmt.Sprintf("column %q (id %d) is now %q", f.Name, f.ID, g.Name)
	}
	key := slices.Contains(planned.PartitionKeys, f.Name) || slices.Contains(planned.PrimaryKeys, f.Name) ||
		slices.Contains(planned.BucketKeys(), f.Name)
	// Keys are compared and hashed as bytes, so only their nullability may be loosened.
	if key && !Equal(f.Type.WithNotNull(false), g.Type.WithNotNull(false)) {
		return fmt.Sprintf("key column %q was %s, is %s", f.Name, f.Type, g.Type)
	}
	if !Widens(f.Type, g.Type) {
		return fmt.Sprintf("column %q was %s, is %s", f.Name, f.Type, g.Type)
	}
	return ""
}

// Widens tells whether every value of type a is one of type b, in the same order, and Paimon reads files of a as b.
func Widens(a, b Type) bool {
	if b.NotNull && !a.NotNull {
		return false
	}
	a, b = a.WithNotNull(false), b.WithNotNull(false)
	if Equal(a, b) {
		return true
	}
	switch a.Kind {
	case TinyInt, SmallInt, Int:
		return b.Kind > a.Kind && b.Kind <= BigInt
	case Float:
		return b.Kind == Double
	case Decimal:
		return b.Kind == Decimal && b.Scale >= a.Scale && b.Precision-b.Scale >= a.Precision-a.Scale
	case Char, VarChar:
		return b.Kind == VarChar && b.Length >= a.Length
	case Binary, VarBinary:
		return b.Kind == VarBinary && b.Length >= a.Length
	case Timestamp, TimestampLTZ:
		return b.Kind == a.Kind && b.Precision >= a.Precision
	default:
		return false
	}
}
