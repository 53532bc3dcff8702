package filereader

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// maxDepth bounds the nesting of a footer; Parquet's own structs need 8.
const maxDepth = 32

// minStruct is the least size of a struct in a list: none that a footer lists is without a required field.
const minStruct = 3

// The types of the Thrift compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// readStruct decodes the Thrift struct at the beginning of data into v and returns its length. The library that decodes
// trusts the lengths it reads and would allocate gigabytes for a few bytes, so these are checked first.
func readStruct(data []byte, v any) (int, error) {
	w := thriftWalk{data: data}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), data[:w.at], v); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return w.at, nil
}

// thriftWalk goes through a value and believes no length beyond the data.
type thriftWalk struct {
	data []byte
	at   int
}

func (w *thriftWalk) fail(what string) error {
	return fmt.Errorf("%w: %s at byte %d of metadata", ErrCorrupt, what, w.at)
}

func (w *thriftWalk) uvarint() (uint64, error) {
	x, n := binary.Uvarint(w.data[w.at:])
	if n <= 0 {
		return 0, w.fail("no number")
	}
	w.at += n
	return x, nil
}

func (w *thriftWalk) byte() (byte, error) {
	if w.at >= len(w.data) {
		return 0, w.fail("no more data")
	}
	w.at++
	return w.data[w.at-1], nil
}

func (w *thriftWalk) skip(n uint64) error {
	if n > uint64(len(w.data)-w.at) {
		return w.fail("a length beyond the data")
	}
	w.at += int(n)
	return nil
}

func (w *thriftWalk) structure(depth int) error {
	if depth > maxDepth {
		return w.fail("too deep a nesting")
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number follows
			if _, err := w.uvarint(); err != nil {
				return err
			}
		}
		if kind := head & 0xF; kind != thriftTrue && kind != thriftFalse {
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

func (w *thriftWalk) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := w.uvarint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftBinary:
		n, err := w.uvarint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		return w.list(depth + 1)
	case thriftMap:
		return w.mapping(depth + 1)
	case thriftStruct:
		return w.structure(depth + 1)
	}
	return w.fail(fmt.Sprintf("unknown type %d", kind))
}

func (w *thriftWalk) list(depth int) error {
	if depth > maxDepth {
		return w.fail("too deep a nesting")
	}
	head, err := w.byte()
	if err != nil {
		return err
	}
	n, kind := uint64(head>>4), head&0xF
	if n == 15 {
		if n, err = w.uvarint(); err != nil {
			return err
		}
	}
	least := uint64(1)
	if kind == thriftStruct {
		least = minStruct
	}
	if n > uint64(len(w.data)-w.at)/least {
		return w.fail("a list longer than the data")
	}
	for range n {
		if err := w.value(kind, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *thriftWalk) mapping(depth int) error {
	if depth > maxDepth {
		return w.fail("too deep a nesting")
	}
	n, err := w.uvarint()
	if err != nil || n == 0 {
		return err
	}
	kinds, err := w.byte()
	if err != nil {
		return err
	}
	if n > uint64(len(w.data)-w.at) {
		return w.fail("a map larger than the data")
	}
	for range n {
		if err := w.value(kinds>>4, depth); err != nil {
			return err
		}
		if err := w.value(kinds&0xF, depth); err != nil {
			return err
		}
	}
	return nil
}
