package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// optionNullToNotNull is Paimon's safety catch, true unless it is set.
const optionNullToNotNull = "alter-column-null-to-not-null.disabled"

// ChangeType gives a column a type that holds every value of the type before, nullability aside, which stays as it is:
//
//   - TINYINT, SMALLINT, INT, BIGINT: a later one of these;
//   - FLOAT: DOUBLE;
//   - DECIMAL: one with as many or more digits before and after the point;
//   - CHAR, VARCHAR: a VARCHAR, and BINARY, VARBINARY: a VARBINARY, that is not shorter;
//   - TIMESTAMP, TIMESTAMP WITH LOCAL TIME ZONE: the same with as many or more digits.
//
// Rows in place are not rewritten; readers widen their values. Parts of keys keep their type.
func ChangeType(name string, to Type) Change {
	return Change{text: fmt.Sprintf("change type of column %q to %s", clip(name), to), apply: func(a *alteration) error {
		i, err := a.column(name)
		if err != nil {
			return err
		}
		from := a.Fields[i].Type
		to := to.WithNotNull(from.NotNull)
		if err := to.check(); err != nil {
			return err
		}
		if key := a.key(name); key != "" {
			return fmt.Errorf("it is a part of the %s, whose values are compared, hashed or named as they were written", key)
		}
		if !Widens(from, to) {
			return fmt.Errorf("it has type %s, %s", from, narrowing(from, to))
		}
		a.Fields[i].Type = to
		return nil
	}}
}

// narrowing says why a change of type that is no widening is refused.
func narrowing(from, to Type) string {
	switch {
	case from.Nested() || to.Nested():
		return "and a nested type can neither change nor come about by a change: add a column instead"
	case Widens(to, from):
		return "of which not every value fits"
	case from.Kind == to.Kind || from.numeric() && to.numeric():
		return "of which some values would be rounded, cut off or lost"
	default:
		return "whose values Paimon would cast to others; add a column instead"
	}
}

func (t Type) numeric() bool { return t.Kind >= TinyInt && t.Kind <= Decimal }

// SetNullable lets a column be NULL or forbids it. To forbid it is refused, because rows in place may have it, unless the
// table's option alter-column-null-to-not-null.disabled is false.
func SetNullable(name string, nullable bool) Change {
	text := fmt.Sprintf("make column %q NOT NULL", clip(name))
	if nullable {
		text = fmt.Sprintf("make column %q nullable", clip(name))
	}
	return Change{text: text, apply: func(a *alteration) error {
		i, err := a.column(name)
		if err != nil {
			return err
		}
		disabled, set := a.was[optionNullToNotNull]
		switch {
		case nullable && slices.Contains(a.PrimaryKeys, name):
			return errors.New("it is a part of the primary key, which is never NULL")
		case !nullable && !a.Fields[i].Type.NotNull && (!set || strings.EqualFold(disabled, "true")):
			return fmt.Errorf("rows in place may be NULL; where none is, the option %s = false allows it", optionNullToNotNull)
		}
		a.Fields[i].Type.NotNull = !nullable
		return nil
	}}
}

// highestID is the highest id among fields and the fields nested in them that is not one of Paimon's own, -1 without any.
func highestID(fields []Field) int {
	highest := -1
	for _, f := range fields {
		if f.ID < firstSystemID {
			highest = max(highest, f.ID)
		}
		highest = max(highest, highestTypeID(&f.Type))
	}
	return highest
}

func highestTypeID(t *Type) int {
	if t == nil {
		return -1
	}
	return max(highestTypeID(t.Key), highestTypeID(t.Element), highestID(t.Fields))
}
