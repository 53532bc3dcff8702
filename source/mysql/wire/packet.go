package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	driversql "github.com/go-sql-driver/mysql"
)

const (
	// readBuffer holds many packets, so that one read from the socket serves many rows.
	readBuffer = 256 << 10
	// fullPacket is the payload length that says: more follows in the next packet.
	fullPacket = 1<<24 - 1
	headerSize = 4
)

// The first byte of a packet.
const (
	headOK  = 0x00
	headEOF = 0xfe
	headErr = 0xff
)

// ErrMalformed is returned for bytes that are not what the protocol allows.
var ErrMalformed = errors.New("malformed packet")

// packets reads and writes the packets of one connection.
type packets struct {
	stream io.ReadWriter
	buf    []byte
	// What was read and not yet handed on is buf[from:to].
	from, to int
	// sequence is the number that the next packet must have.
	sequence byte
	// large holds a payload that does not fit into buf; it goes when a small packet follows.
	large []byte
	// room, unless nil, is asked before memory is taken for a payload of more than largeRow: for its bytes, or the first of
	// them when more follow. Its error ends the reading.
	room func(bytes int, more bool) error
}

// largeRow is a payload that is worth asking for room.
const largeRow = 4 << 20

func newPackets(stream io.ReadWriter) *packets {
	return &packets{stream: stream, buf: make([]byte, readBuffer)}
}

// next is the payload of the next packet, joined when it was sent in parts. It is valid until the next call.
func (p *packets) next() ([]byte, error) {
	if err := p.fill(headerSize); err != nil {
		return nil, err
	}
	n, err := p.header()
	if err != nil {
		return nil, err
	}
	if n > len(p.buf)-headerSize {
		return p.join(n)
	}
	p.large = nil
	if err := p.fill(headerSize + n); err != nil {
		return nil, midPacket(err)
	}
	start := p.from + headerSize
	p.from = start + n
	return p.buf[start:p.from:p.from], nil
}

// header is the length in the header at from, of which all bytes must be there.
func (p *packets) header() (int, error) {
	h := p.buf[p.from : p.from+headerSize]
	if h[3] != p.sequence {
		return 0, fmt.Errorf("%w: number %d where %d is due", ErrMalformed, h[3], p.sequence)
	}
	p.sequence++
	return int(h[0]) | int(h[1])<<8 | int(h[2])<<16, nil
}

// fill makes at least n bytes available, n being at most the buffer's size.
func (p *packets) fill(n int) error {
	if p.to-p.from >= n {
		return nil
	}
	if p.from > 0 {
		p.to = copy(p.buf, p.buf[p.from:p.to])
		p.from = 0
	}
	for p.to < n {
		k, err := p.stream.Read(p.buf[p.to:])
		p.to += k
		if err != nil && p.to < n {
			if errors.Is(err, io.EOF) && p.to > 0 {
				return io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// join reads a payload that does not fit into the buffer, or that goes on in further packets. Its parts are put together
// once, when its length is known: memory that grows with each would be the row several times over.
func (p *packets) join(n int) ([]byte, error) {
	kept := p.large
	p.large = nil
	var parts [][]byte
	size := 0
	for {
		more := n == fullPacket
		if p.room != nil && (n > largeRow || size > 0) {
			if err := p.room(n, more); err != nil {
				return nil, err
			}
		}
		p.from += headerSize
		part := kept[:min(n, cap(kept))] // of the last row, if that was as large
		if kept = nil; len(part) < n {
			part = make([]byte, n)
		}
		k := copy(part, p.buf[p.from:p.to])
		p.from += k
		if _, err := io.ReadFull(p.stream, part[k:]); err != nil {
			return nil, midPacket(err)
		}
		parts, size = append(parts, part), size+n
		if !more {
			break
		}
		if err := p.fill(headerSize); err != nil {
			return nil, midPacket(err)
		}
		var err error
		if n, err = p.header(); err != nil {
			return nil, err
		}
	}
	if p.large = parts[0]; len(parts) > 1 {
		p.large = make([]byte, 0, size)
		for i, part := range parts {
			p.large = append(p.large, part...)
			parts[i] = nil
		}
	}
	return p.large, nil
}

// midPacket is the error of a stream that ends within a packet.
func midPacket(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// command sends a command and its argument, and starts the numbering anew.
func (p *packets) command(code byte, argument []byte) error {
	n := len(argument) + 1
	if n >= fullPacket {
		return fmt.Errorf("a statement of %d bytes is longer than a packet", len(argument))
	}
	b := make([]byte, 0, headerSize+n)
	b = append(b, byte(n), byte(n>>8), byte(n>>16), 0, code)
	p.sequence = 1
	_, err := p.stream.Write(append(b, argument...))
	return err
}

// drained tells that nothing is left unread.
func (p *packets) drained() bool { return p.from == p.to }

// serverError is the error in an ERR packet, with the server's code.
func serverError(payload []byte) error {
	if len(payload) < 3 || payload[0] != headErr {
		return ErrMalformed
	}
	e := &driversql.MySQLError{Number: binary.LittleEndian.Uint16(payload[1:])}
	text := payload[3:]
	if len(text) >= 6 && text[0] == '#' {
		copy(e.SQLState[:], text[1:])
		text = text[6:]
	}
	e.Message = string(text)
	return e
}

// lenenc is a length-encoded integer at pos and the position after it, which is -1 when there is none.
func lenenc(b []byte, pos int) (n uint64, next int) {
	if uint(pos) >= uint(len(b)) {
		return 0, -1
	}
	size := 0
	switch first := b[pos]; first {
	case 0xfc:
		size = 2
	case 0xfd:
		size = 3
	case 0xfe:
		size = 8
	case 0xfb, 0xff: // NULL in text rows, and an error's head
		return 0, -1
	default:
		return uint64(first), pos + 1
	}
	pos++
	if len(b)-pos < size {
		return 0, -1
	}
	for i := range size {
		n |= uint64(b[pos+i]) << (8 * i)
	}
	return n, pos + size
}

// lenbytes are the bytes of a length-encoded string at pos and the position after them, which is -1 when there are none.
func lenbytes(b []byte, pos int) ([]byte, int) {
	if uint(pos) < uint(len(b)) && b[pos] < 0xfb { // nearly always
		end := pos + 1 + int(b[pos])
		if end > len(b) {
			return nil, -1
		}
		return b[pos+1 : end], end
	}
	n, at := lenenc(b, pos)
	if at < 0 || n > uint64(len(b)-at) {
		return nil, -1
	}
	return b[at : at+int(n)], at + int(n)
}
