package bucket

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// seed of Paimon's hash of rows.
const seed = 42

// Hash is Paimon's hash of a BinaryRow without arity: 32-bit Murmur3 over little-endian words. The length of a row is a
// multiple of 8; of other bytes, those behind the last whole word of 4 count only through the length.
func Hash(data []byte) int32 {
	h := uint32(seed)
	for p := data; len(p) >= 4; p = p[4:] {
		k := binary.LittleEndian.Uint32(p) * 0xcc9e2d51
		h ^= bits.RotateLeft32(k, 15) * 0x1b873593
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	h ^= uint32(len(data))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return int32(h ^ h>>16)
}

// OfHash is the bucket of a hash among n, which is at least 1.
func OfHash(hash int32, n int) int {
	// The remainder takes the hash's sign, and its absolute value counts; this is no floor modulus.
	r := int64(hash) % int64(n)
	if r < 0 {
		r = -r
	}
	return int(r)
}

// Of is the bucket among n of a bucket key's values, by Paimon's default function.
func Of(types []schema.Type, values []row.Value, n int) int {
	return OfHash(Hash(row.AppendBinary(nil, types, values)), n)
}

// Assigner gives rows their buckets. It reuses memory, so one goroutine at a time may use it.
type Assigner struct {
	types  []schema.Type
	n      int64
	mod    bool
	binary []byte
}

// NewAssigner returns an assigner for a table with n buckets, at least 1, whose option bucket-function.type is function:
// "default" or "mod"; types are those of the bucket key.
func NewAssigner(function string, types []schema.Type, n int) (*Assigner, error) {
	if n < 1 {
		return nil, fmt.Errorf("rows cannot be distributed over %d buckets", n)
	}
	a := &Assigner{types: types, n: int64(n)}
	switch function {
	case "default":
	case "mod":
		a.mod = true
		if len(types) != 1 || types[0].Kind != schema.Int && types[0].Kind != schema.BigInt {
			return nil, fmt.Errorf("bucket-function.type = mod needs a bucket key of one INT or BIGINT column, has %v", types)
		}
	default:
		return nil, fmt.Errorf("bucket-function.type = %s is not supported, only default and mod are", function)
	}
	return a, nil
}

// Bucket is the bucket of a bucket key's values. By mod a null is in bucket 0, as Java reads the zero below it.
func (a *Assigner) Bucket(values []row.Value) int {
	if a.mod {
		r := values[0].I64 % a.n
		if r < 0 {
			r += a.n
		}
		return int(r)
	}
	a.binary = row.AppendBinary(a.binary[:0], a.types, values)
	return OfHash(Hash(a.binary), int(a.n))
}
