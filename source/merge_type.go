package source

import "github.com/tributary-lake/tributary/lake/schema"

// CommonType is the least type that holds every value of both as it is, and may be NULL as soon as one may. It is not ok
// when there is none:
//
//   - integers widen, and with a DECIMAL they become one of all their digits;
//   - DECIMAL widens on both sides of the point, up to 38 digits together;
//   - FLOAT and DOUBLE are DOUBLE;
//   - text and binary take the greater length, TIME and the timestamps the greater number of fraction digits;
//   - DATETIME's wall clock and TIMESTAMP's instant have nothing in common, nor have numbers and text.
func CommonType(a, b schema.Type) (schema.Type, bool) {
	notNull := a.NotNull && b.NotNull
	t, ok := commonType(a.WithNotNull(false), b.WithNotNull(false))
	if !ok {
		return schema.Type{}, false
	}
	return t.WithNotNull(notNull), true
}

func commonType(a, b schema.Type) (schema.Type, bool) {
	switch {
	case schema.Widens(a, b):
		return b, true
	case schema.Widens(b, a):
		return a, true
	}
	if precisionA, scaleA, ok := exact(a); ok {
		precisionB, scaleB, ok := exact(b)
		scale := max(scaleA, scaleB)
		precision := scale + max(precisionA-scaleA, precisionB-scaleB)
		return schema.DecimalType(precision, scale), ok && precision <= schema.MaxPrecision
	}
	switch {
	case isText(a.Kind) && isText(b.Kind):
		return schema.Type{Kind: schema.VarChar, Length: max(a.Length, b.Length)}, true
	case isBinary(a.Kind) && isBinary(b.Kind):
		return schema.Type{Kind: schema.VarBinary, Length: max(a.Length, b.Length)}, true
	case a.Kind == schema.Time && b.Kind == schema.Time:
		return schema.Type{Kind: schema.Time, Precision: max(a.Precision, b.Precision)}, true
	}
	return schema.Type{}, false
}

// exact gives the digits of numbers without rounding.
func exact(t schema.Type) (precision, scale int, ok bool) {
	switch t.Kind {
	case schema.TinyInt:
		return 3, 0, true
	case schema.SmallInt:
		return 5, 0, true
	case schema.Int:
		return 10, 0, true
	case schema.BigInt:
		return 19, 0, true
	case schema.Decimal:
		return t.Precision, t.Scale, true
	default:
		return 0, 0, false
	}
}

func isText(k schema.Kind) bool { return k == schema.Char || k == schema.VarChar }

func isBinary(k schema.Kind) bool { return k == schema.Binary || k == schema.VarBinary }

// commonColumn is [CommonType] for values of these forms.
func commonColumn(a schema.Type, formA string, b schema.Type, formB string) (schema.Type, string, bool) {
	if formA == formB {
		t, ok := CommonType(a, b)
		return t, formA, ok
	}
	// Numbers beside text of numbers become such text.
	if formB == FormDecimal {
		a, formA, b, formB = b, formB, a, formA
	}
	if _, _, ok := exact(b); ok && formA == FormDecimal && formB == "" {
		return a.WithNotNull(a.NotNull && b.NotNull), formA, true
	}
	return schema.Type{}, "", false
}
