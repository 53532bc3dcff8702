package row

import (
	"bytes"
	"cmp"
	"math"

	"github.com/tributary-lake/tributary/lake/schema"
)

// Compare orders two values of a type as Paimon's readers do for keys and bounds: negative when a comes first, 0 when they
// are equal. Nulls come first; strings and binaries by their unsigned bytes; FLOAT and DOUBLE as Java's compare: -0 before
// 0 and NaN last. Nested types have no order in Paimon; they are ordered by their bytes here.
func Compare(t schema.Type, a, b Value) int {
	if a.Null || b.Null {
		return cmp.Compare(rank(!a.Null), rank(!b.Null))
	}
	switch LayoutOf(t) {
	case LayoutInt32, LayoutInt64:
		return cmp.Compare(a.I64, b.I64)
	case LayoutNanos:
		return cmp.Or(cmp.Compare(a.I64, b.I64), cmp.Compare(a.Nanos, b.Nanos))
	case LayoutFloat32, LayoutFloat64:
		return compareFloats(a.F64, b.F64)
	case LayoutFixed:
		return compareFixed(a.B, b.B)
	default:
		return bytes.Compare(a.B, b.B)
	}
}

func rank(after bool) int {
	if after {
		return 1
	}
	return 0
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case math.IsNaN(a) || math.IsNaN(b):
		return cmp.Compare(rank(math.IsNaN(a)), rank(math.IsNaN(b)))
	}
	return cmp.Compare(rank(!math.Signbit(a)), rank(!math.Signbit(b)))
}

// compareFixed orders big-endian two's complement numbers of equal width.
func compareFixed(a, b []byte) int {
	if len(a) == 0 || len(b) == 0 || (a[0]^b[0])&0x80 == 0 {
		return bytes.Compare(a, b)
	}
	return cmp.Compare(rank(a[0]&0x80 == 0), rank(b[0]&0x80 == 0))
}
