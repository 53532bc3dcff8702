package row

import (
	"encoding/binary"
	"fmt"

	"github.com/tributary-lake/tributary/lake/schema"
)

// maxDepth bounds how deep values are nested, whatever their bytes say. A type of a schema is never deeper.
const maxDepth = 100

// ElementWidth is the size of a slot in an array of elements of the type (org.apache.paimon.data.BinaryArray
// .calculateFixLengthPartSize): 1, 2, 4 or 8 bytes.
func ElementWidth(t schema.Type) int {
	switch t.Kind {
	case schema.Boolean, schema.TinyInt:
		return 1
	case schema.SmallInt:
		return 2
	case schema.Int, schema.Date, schema.Time, schema.Float:
		return 4
	default:
		return 8
	}
}

// AppendArray appends the BinaryArray of elements of the type to dst.
func AppendArray(dst []byte, t schema.Type, elements []Value) []byte {
	b := NewArrayBuilder(dst, len(elements), ElementWidth(t))
	for i := range elements {
		b.SetValue(i, t, elements[i])
	}
	return b.Bytes()
}

// AppendMap appends the BinaryMap of keys and values, of which there must be as many, to dst. Keys must not be null.
func AppendMap(dst []byte, key, value schema.Type, keys, values []Value) []byte {
	at := len(dst)
	dst = AppendArray(append(dst, 0, 0, 0, 0), key, keys)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return AppendArray(dst, value, values)
}

// ReadMap reads a BinaryMap: its arrays of keys and of values, which are equally long.
func ReadMap(data []byte, key, value schema.Type) (keys, values Section, err error) {
	if len(data) < 4 {
		return keys, values, fmt.Errorf("map of %d bytes is too short for the size of its keys", len(data))
	}
	size := binary.LittleEndian.Uint32(data)
	data = data[4:]
	if uint64(size) > uint64(len(data)) {
		return keys, values, fmt.Errorf("map of %d bytes cannot hold %d bytes of keys", len(data), size)
	}
	if keys, err = ReadArray(data[:size], ElementWidth(key)); err != nil {
		return keys, values, fmt.Errorf("keys: %w", err)
	}
	if values, err = ReadArray(data[size:], ElementWidth(value)); err != nil {
		return keys, values, fmt.Errorf("values: %w", err)
	}
	if keys.Len() != values.Len() {
		return keys, values, fmt.Errorf("map of %d keys and %d values", keys.Len(), values.Len())
	}
	return keys, values, nil
}

// MapTypes are the types of the keys and the values of a MAP, or of a MULTISET, which is a map from elements to how often
// each is there (org.apache.paimon.types.MultisetType).
func MapTypes(t schema.Type) (key, value schema.Type) {
	if t.Kind == schema.Multiset {
		return t.Element.WithNotNull(true), schema.Of(schema.Int).WithNotNull(true)
	}
	return t.Key.WithNotNull(true), *t.Element
}
