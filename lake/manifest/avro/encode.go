package avro

import "encoding/binary"

// AppendLong adds an int or long.
func AppendLong(b []byte, v int64) []byte {
	return binary.AppendUvarint(b, uint64(v<<1)^uint64(v>>63))
}

// AppendBytes adds bytes, or the bytes of a string.
func AppendBytes[T ~[]byte | ~string](b []byte, v T) []byte {
	return append(AppendLong(b, int64(len(v))), v...)
}

// AppendNull adds the null branch of a union of null and another type, in this order.
func AppendNull(b []byte) []byte { return append(b, 0) }

// AppendSome adds the mark of the other branch of such a union; the value follows.
func AppendSome(b []byte) []byte { return append(b, 2) }

// AppendArray adds an array, each item by fn, as one block as Java does.
func AppendArray[T any](b []byte, items []T, fn func([]byte, T) []byte) []byte {
	if len(items) > 0 {
		b = AppendLong(b, int64(len(items)))
		for _, item := range items {
			b = fn(b, item)
		}
	}
	return append(b, 0)
}
