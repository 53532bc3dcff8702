package wire

import (
	"encoding/binary"
	"fmt"
)

// Commands of the protocol.
const (
	commandPrepare = 0x16
	commandExecute = 0x17
	commandClose   = 0x19
)

// resultColumn is a column as the server describes it in a result.
type resultColumn struct {
	name     string
	charset  uint16
	length   uint32
	kind     byte
	flags    uint16
	decimals byte
}

// flagUnsigned is set for an unsigned integer.
const flagUnsigned = 32

func (c resultColumn) unsigned() bool { return c.flags&flagUnsigned != 0 }

// Column types of the protocol.
const (
	typeDecimal    = 0
	typeTiny       = 1
	typeShort      = 2
	typeLong       = 3
	typeFloat      = 4
	typeDouble     = 5
	typeTimestamp  = 7
	typeLongLong   = 8
	wireInt24      = 9
	typeDate       = 10
	typeTime       = 11
	typeDateTime   = 12
	typeYear       = 13
	typeVarChar    = 15
	typeBit        = 16
	typeJSON       = 245
	typeNewDecimal = 246
	typeEnum       = 247
	typeSet        = 248
	typeTinyBlob   = 249
	typeMediumBlob = 250
	typeLongBlob   = 251
	typeBlob       = 252
	typeVarString  = 253
	typeString     = 254
	typeGeometry   = 255
)

// binaryCharset is the number of the character set of what is not text.
const binaryCharset = 63

// statement is a prepared statement without parameters.
type statement struct {
	packets *packets
	Features
	id      uint32
	columns []resultColumn
}

// prepare sends the statement and reads what it will return.
func (s *statement) prepare(query string) error {
	if err := s.packets.command(commandPrepare, []byte(query)); err != nil {
		return err
	}
	p, err := s.packets.next()
	if err != nil {
		return err
	}
	if len(p) > 0 && p[0] == headErr {
		return serverError(p)
	}
	if len(p) < 9 || p[0] != headOK {
		return fmt.Errorf("%w: answer to prepare", ErrMalformed)
	}
	s.id = binary.LittleEndian.Uint32(p[1:])
	columns, parameters := int(binary.LittleEndian.Uint16(p[5:])), binary.LittleEndian.Uint16(p[7:])
	if parameters != 0 {
		return fmt.Errorf("the statement has %d parameters: write no ? in where", parameters)
	}
	s.columns, err = s.definitions(columns)
	return err
}

// execute runs the statement. Then the packets are rows until one that is not. It reports whether the columns
// are still those that prepare announced.
func (s *statement) execute() (same bool, err error) {
	argument := binary.LittleEndian.AppendUint32(nil, s.id)
	argument = append(argument, 0)                           // no cursor: the rows stream
	argument = binary.LittleEndian.AppendUint32(argument, 1) // one iteration
	if err := s.packets.command(commandExecute, argument); err != nil {
		return false, err
	}
	p, err := s.packets.next()
	if err != nil {
		return false, err
	}
	if len(p) > 0 && p[0] == headErr {
		return false, serverError(p)
	}
	count, end := lenenc(p, 0)
	if end < 0 || count == 0 || count > 1<<16 {
		return false, fmt.Errorf("%w: answer to execute", ErrMalformed)
	}
	if s.CacheMetadata && end < len(p) && p[end] == 0 {
		// MariaDB leaves the definitions out when they are those that it sent before.
		return int(count) == len(s.columns), s.skipEOF()
	}
	columns, err := s.definitions(int(count))
	if err != nil {
		return false, err
	}
	return sameColumns(columns, s.columns), nil
}

// sameColumns tells whether values of a would be read as those of b.
func sameColumns(a, b []resultColumn) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].kind != b[i].kind || a[i].unsigned() != b[i].unsigned() || a[i].decimals != b[i].decimals ||
			(a[i].charset == binaryCharset) != (b[i].charset == binaryCharset) {
			return false
		}
	}
	return true
}

// close lets the server forget the statement. There is no answer.
func (s *statement) close() error {
	return s.packets.command(commandClose, binary.LittleEndian.AppendUint32(nil, s.id))
}

// definitions reads n column definitions and what ends them.
func (s *statement) definitions(n int) ([]resultColumn, error) {
	if n == 0 {
		return nil, nil
	}
	columns := make([]resultColumn, n)
	for i := range columns {
		p, err := s.packets.next()
		if err != nil {
			return nil, err
		}
		if len(p) > 0 && p[0] == headErr {
			return nil, serverError(p)
		}
		if columns[i], err = parseColumn(p); err != nil {
			return nil, err
		}
	}
	return columns, s.skipEOF()
}

func (s *statement) skipEOF() error {
	if s.DeprecateEOF {
		return nil
	}
	p, err := s.packets.next()
	if err != nil {
		return err
	}
	if len(p) == 0 || p[0] != headEOF {
		return fmt.Errorf("%w: definitions without an end", ErrMalformed)
	}
	return nil
}

// parseColumn reads a column definition of protocol 4.1.
func parseColumn(p []byte) (resultColumn, error) {
	var c resultColumn
	pos := 0
	for i := range 6 { // catalog, schema, table, original table, name, original name
		var text []byte
		if text, pos = lenbytes(p, pos); pos < 0 {
			return c, fmt.Errorf("%w: column definition", ErrMalformed)
		}
		if i == 4 {
			c.name = string(text)
		}
	}
	_, pos = lenenc(p, pos) // the length of what follows
	if pos < 0 || len(p)-pos < 10 {
		return c, fmt.Errorf("%w: column definition", ErrMalformed)
	}
	f := p[pos:]
	c.charset = binary.LittleEndian.Uint16(f)
	c.length = binary.LittleEndian.Uint32(f[2:])
	c.kind = f[6]
	c.flags = binary.LittleEndian.Uint16(f[7:])
	c.decimals = f[9]
	return c, nil
}
