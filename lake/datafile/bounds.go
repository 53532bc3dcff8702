package datafile

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// boundBytes is how much of a string is kept as a bound. A longer one serves statistics that are cut, and stays out of
// the footer, where it could be taken for the value itself.
const boundBytes = 1024

// bounds are the least and the greatest of values, taken from their PLAIN bytes.
type bounds struct {
	physical physical
	never    bool // the type gets no bounds
	any      bool // there is a value
	nan      bool // there is a NaN, which has no place between two bounds

	minInt, maxInt     int64
	minFloat, maxFloat float64
	minBytes, maxBytes []byte
	// minHead and maxHead are the first eight bytes as a number that orders as the bytes do. Most comparisons end there.
	minHead, maxHead uint64
	minCut, maxCut   bool // only the first boundBytes are kept
}

// newBounds starts without values. INT96 has no order that readers agree on, and Paimon keeps no bounds of BINARY and
// VARBINARY in Parquet.
func newBounds(t schema.Type) bounds {
	b := bounds{physical: physicalOf(t)}
	b.never = b.physical == asInt96 || t.Kind == schema.Binary || t.Kind == schema.VarBinary
	b.reset()
	return b
}

func (b *bounds) reset() {
	*b = bounds{
		physical: b.physical, never: b.never,
		minInt: math.MaxInt64, maxInt: math.MinInt64,
		minFloat: math.Inf(1), maxFloat: math.Inf(-1),
		minBytes: b.minBytes[:0], maxBytes: b.maxBytes[:0],
	}
}

// add takes in the values of a page or of a dictionary. In asBoolean they are one byte each.
func (b *bounds) add(raw []byte, width int) {
	if len(raw) == 0 || b.never {
		return
	}
	switch b.physical {
	case asBoolean:
		if bytes.IndexByte(raw, 0) >= 0 {
			b.minInt, b.maxInt = min(b.minInt, 0), max(b.maxInt, 0)
		}
		if bytes.IndexByte(raw, 1) >= 0 {
			b.minInt, b.maxInt = min(b.minInt, 1), max(b.maxInt, 1)
		}
	case asInt32, asNarrow:
		b.addInt32(raw)
	case asInt64:
		b.addInt64(raw)
	case asFloat:
		b.addFloat(raw)
	case asDouble:
		b.addDouble(raw)
	case asBytes:
		b.addBytes(raw)
	case asFixed:
		b.addFixed(raw, width)
	case asInt96: // which gets no bounds
	}
	b.any = true
}

func (b *bounds) addInt32(raw []byte) {
	lo, hi := int32(math.MaxInt32), int32(math.MinInt32)
	for ; len(raw) >= 4; raw = raw[4:] {
		x := int32(binary.LittleEndian.Uint32(raw))
		lo, hi = min(lo, x), max(hi, x)
	}
	b.minInt, b.maxInt = min(b.minInt, int64(lo)), max(b.maxInt, int64(hi))
}

func (b *bounds) addInt64(raw []byte) {
	lo, hi := b.minInt, b.maxInt
	for ; len(raw) >= 8; raw = raw[8:] {
		x := int64(binary.LittleEndian.Uint64(raw))
		lo, hi = min(lo, x), max(hi, x)
	}
	b.minInt, b.maxInt = lo, hi
}

func (b *bounds) addFloat(raw []byte) {
	lo, hi := float32(math.Inf(1)), float32(math.Inf(-1))
	for ; len(raw) >= 4; raw = raw[4:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(raw))
		if x != x {
			b.nan = true
			return
		}
		lo, hi = min(lo, x), max(hi, x)
	}
	b.minFloat, b.maxFloat = min(b.minFloat, float64(lo)), max(b.maxFloat, float64(hi))
}

func (b *bounds) addDouble(raw []byte) {
	lo, hi := b.minFloat, b.maxFloat
	for ; len(raw) >= 8; raw = raw[8:] {
		x := math.Float64frombits(binary.LittleEndian.Uint64(raw))
		if x != x {
			b.nan = true
			return
		}
		lo, hi = min(lo, x), max(hi, x)
	}
	b.minFloat, b.maxFloat = lo, hi
}

func (b *bounds) addBytes(raw []byte) {
	for len(raw) >= 4 {
		end := 4 + int(binary.LittleEndian.Uint32(raw))
		b.take(raw[4:end], head(raw[4:end]))
		raw = raw[end:]
	}
}

func (b *bounds) addFixed(raw []byte, width int) {
	for ; len(raw) >= width; raw = raw[width:] {
		// Turning the sign bit makes signed numbers order as unsigned bytes.
		b.take(raw[:width], head(raw[:width])^1<<63)
	}
}

// head is the first eight bytes as a number, zeros behind a shorter value.
func head(v []byte) uint64 {
	if len(v) >= 8 {
		return binary.BigEndian.Uint64(v)
	}
	x := uint64(0)
	for i, c := range v {
		x |= uint64(c) << (56 - 8*i)
	}
	return x
}

// take takes in one value of bytes, whose head has been made to order as the value does. Equal heads mean that the first
// eight bytes, and so the signs, are equal, or that one value is the other with zeros behind: the bytes then decide.
func (b *bounds) take(v []byte, h uint64) {
	if !b.any {
		b.any = true
		b.setMin(v, h)
		b.setMax(v, h)
		return
	}
	if h <= b.minHead && (h < b.minHead || bytes.Compare(v, b.minBytes) < 0) {
		b.setMin(v, h)
	}
	if h >= b.maxHead && (h > b.maxHead || bytes.Compare(v, b.maxBytes) > 0) {
		b.setMax(v, h)
	}
}

func (b *bounds) setMin(v []byte, h uint64) {
	b.minCut = len(v) > boundBytes
	b.minBytes, b.minHead = append(b.minBytes[:0], v[:min(len(v), boundBytes)]...), h
}

func (b *bounds) setMax(v []byte, h uint64) {
	b.maxCut = len(v) > boundBytes
	b.maxBytes, b.maxHead = append(b.maxBytes[:0], v[:min(len(v), boundBytes)]...), h
}

// merge takes in the values that other has seen.
func (b *bounds) merge(other *bounds) {
	b.nan = b.nan || other.nan
	if !other.any {
		return
	}
	if b.physical == asBytes || b.physical == asFixed {
		b.mergeBytes(other)
		return
	}
	b.any = true
	b.minInt, b.maxInt = min(b.minInt, other.minInt), max(b.maxInt, other.maxInt)
	b.minFloat, b.maxFloat = min(b.minFloat, other.minFloat), max(b.maxFloat, other.maxFloat)
}

func (b *bounds) mergeBytes(other *bounds) {
	minCut, maxCut := b.minCut, b.maxCut
	sameMin, sameMax := bytes.Equal(b.minBytes, other.minBytes), bytes.Equal(b.maxBytes, other.maxBytes)
	b.take(other.minBytes, other.minHead)
	b.take(other.maxBytes, other.maxHead)
	// A bound that was cut in one and is whole in the other counts as cut: that can only leave a bound out.
	b.minCut, b.maxCut = minCut, maxCut
	if bytes.Equal(b.minBytes, other.minBytes) {
		b.minCut = other.minCut || sameMin && minCut
	}
	if bytes.Equal(b.maxBytes, other.maxBytes) {
		b.maxCut = other.maxCut || sameMax && maxCut
	}
}

// known tells whether the bounds say something: there is a value and no NaN.
func (b *bounds) known() bool { return b.any && !b.nan }

// values are the bounds as values, for which known must hold. A bound of zero is -0 below and +0 above, as Parquet asks,
// for readers to whom the two zeros differ. The bytes are the bounds' own.
func (b *bounds) values() (low, high row.Value) {
	switch b.physical {
	case asFloat, asDouble:
		low, high = row.Value{F64: b.minFloat}, row.Value{F64: b.maxFloat}
		if low.F64 == 0 {
			low.F64 = math.Copysign(0, -1)
		}
		if high.F64 == 0 {
			high.F64 = 0
		}
	case asBytes, asFixed:
		low, high = row.Value{B: b.minBytes}, row.Value{B: b.maxBytes}
	default:
		low, high = row.Value{I64: b.minInt}, row.Value{I64: b.maxInt}
	}
	return low, high
}

// plain are the bounds as the footer keeps them: PLAIN without a length. Nil when they are not known or not whole.
func (b *bounds) plain() (low, high []byte) {
	if !b.known() || b.minCut || b.maxCut {
		return nil, nil
	}
	l, h := b.values()
	switch b.physical {
	case asBoolean:
		return []byte{byte(l.I64)}, []byte{byte(h.I64)}
	case asInt32, asNarrow:
		return binary.LittleEndian.AppendUint32(nil, uint32(l.I64)), binary.LittleEndian.AppendUint32(nil, uint32(h.I64))
	case asInt64:
		return binary.LittleEndian.AppendUint64(nil, uint64(l.I64)), binary.LittleEndian.AppendUint64(nil, uint64(h.I64))
	case asFloat:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(l.F64))),
			binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(h.F64)))
	case asDouble:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(l.F64)),
			binary.LittleEndian.AppendUint64(nil, math.Float64bits(h.F64))
	default:
		return append([]byte{}, l.B...), append([]byte{}, h.B...)
	}
}
