package wire

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/source"
)

// moment is a date and a time of day as the server sent them; neither needs to exist.
type moment struct {
	year, month, day     int
	hour, minute, second int
	micro                int
}

// text is as MySQL prints it, for messages.
func (m moment) text() string {
	date := fmt.Sprintf("%04d-%02d-%02d", m.year, m.month, m.day)
	if m.hour|m.minute|m.second|m.micro == 0 {
		return date
	}
	return fmt.Sprintf("%s %02d:%02d:%02d.%06d", date, m.hour, m.minute, m.second, m.micro)
}

// readMoment reads a DATE, DATETIME or TIMESTAMP: a length, then year, month and day, then the time if it is not midnight,
// then microseconds if there are any.
func readMoment(p []byte, pos int) (m moment, next int) {
	if pos >= len(p) {
		return m, -1
	}
	n := int(p[pos])
	pos++
	next = pos + n
	if next > len(p) {
		return m, -1
	}
	b := p[pos:next]
	switch n {
	case 11:
		m.micro = int(binary.LittleEndian.Uint32(b[7:]))
		fallthrough
	case 7:
		m.hour, m.minute, m.second = int(b[4]), int(b[5]), int(b[6])
		fallthrough
	case 4:
		m.year, m.month, m.day = int(binary.LittleEndian.Uint16(b)), int(b[2]), int(b[3])
		fallthrough
	case 0:
		return m, next
	}
	return m, -1
}

// exists tells whether the calendar has the date: MySQL also stores 2024-00-10 and, by mode, 2023-02-31.
func (m *moment) exists() bool {
	if uint(m.month-1) >= 12 || m.day < 1 || m.year > 9999 {
		return false
	}
	return m.day <= 28 || m.day <= daysIn(m.year, m.month)
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// days counts from 1970-01-01 in the proleptic Gregorian calendar. The date must exist.
func (m *moment) days() int {
	y, mon := m.year+400, m.month // 400 years later all is alike, and nothing is negative
	if mon <= 2 {
		y--
		mon += 12
	}
	return 365*y + y/4 - y/100 + y/400 + (153*(mon-3)+2)/5 + m.day - 1 - 719468 - 146097
}

// seconds counts from 1970-01-01 00:00:00 without a zone, or in UTC.
func (m *moment) seconds() int64 {
	return int64(m.days())*86400 + int64(m.hour*3600+m.minute*60+m.second)
}

func (m *moment) timeExists() bool {
	return m.hour < 24 && m.minute < 60 && m.second < 60 && m.micro < 1000000
}

func decodeDate(c *column, p []byte, pos int) (int, error) {
	m, next := readMoment(p, pos)
	if next < 0 {
		return -1, nil
	}
	if !m.exists() {
		return c.zeroDate(m, next)
	}
	c.vector.I32 = append(c.vector.I32, int32(m.days()))
	return next, nil
}

// decodeMillis, decodeMicros and decodeNanos read DATETIME and TIMESTAMP for a precision of 0–3, 4–6 and 7–9.
// The session's zone is UTC, so a TIMESTAMP is its instant.
func decodeMillis(c *column, p []byte, pos int) (int, error) {
	m, next := readMoment(p, pos)
	if next < 0 || !m.timeExists() {
		return -1, nil
	}
	if !m.exists() {
		return c.zeroDate(m, next)
	}
	c.vector.I64 = append(c.vector.I64, m.seconds()*1e3+int64(m.micro/1000))
	return next, nil
}

func decodeMicros(c *column, p []byte, pos int) (int, error) {
	m, next := readMoment(p, pos)
	if next < 0 || !m.timeExists() {
		return -1, nil
	}
	if !m.exists() {
		return c.zeroDate(m, next)
	}
	c.vector.I64 = append(c.vector.I64, m.seconds()*1e6+int64(m.micro))
	return next, nil
}

func decodeNanos(c *column, p []byte, pos int) (int, error) {
	m, next := readMoment(p, pos)
	if next < 0 || !m.timeExists() {
		return -1, nil
	}
	if !m.exists() {
		return c.zeroDate(m, next)
	}
	c.vector.I64 = append(c.vector.I64, m.seconds()*1e3+int64(m.micro/1000))
	c.vector.I32 = append(c.vector.I32, int32(m.micro%1000*1000))
	return next, nil
}

// zeroDate does with a date that does not exist what the column's policy says.
func (c *column) zeroDate(m moment, next int) (int, error) {
	switch c.source.ZeroDate {
	case source.ZeroDateNull:
		c.replaced++
		c.vector.AppendNull()
	case source.ZeroDateEpoch:
		c.replaced++
		c.vector.Append(row.Value{})
	default:
		return -1, fmt.Errorf("%w: column %q holds %s, a date that does not exist: set types.zero_date, or types.zero_date_columns for this one, to null or epoch (it is fail)",
			source.ErrRefused, c.source.Name, m.text())
	}
	return next, nil
}

// decodeTimeText writes TIME as MySQL prints it, with the column's number of fraction digits. It is sent as a length,
// then sign, days, hours, minutes and seconds if it is not zero, then microseconds if there are any.
func decodeTimeText(c *column, p []byte, pos int) (int, error) {
	if pos >= len(p) {
		return -1, nil
	}
	n := int(p[pos])
	next := pos + 1 + n
	if next > len(p) || n != 0 && n != 8 && n != 12 {
		return -1, nil
	}
	b := p[pos+1 : next]
	hours, minute, second, micro := uint64(0), byte(0), byte(0), uint32(0)
	v := c.vector
	if n > 0 {
		if b[0] != 0 {
			v.Data = append(v.Data, '-')
		}
		hours = uint64(binary.LittleEndian.Uint32(b[1:]))*24 + uint64(b[5])
		minute, second = b[6], b[7]
	}
	if n == 12 {
		micro = binary.LittleEndian.Uint32(b[8:])
	}
	if minute > 59 || second > 59 || micro > 999999 {
		return -1, nil
	}
	if hours < 100 {
		v.Data = append(v.Data, '0'+byte(hours/10), '0'+byte(hours%10))
	} else {
		v.Data = strconv.AppendUint(v.Data, hours, 10)
	}
	v.Data = append(v.Data, ':', '0'+minute/10, '0'+minute%10, ':', '0'+second/10, '0'+second%10)
	if c.width > 0 {
		v.Data = append(v.Data, '.')
		for i, unit := 0, uint32(100000); i < c.width; i++ {
			v.Data = append(v.Data, '0'+byte(micro/unit%10))
			unit /= 10
		}
	}
	v.Offsets = append(v.Offsets, uint32(len(v.Data)))
	return next, nil
}
