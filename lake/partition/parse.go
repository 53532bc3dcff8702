package partition

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Parse reads the values back from a partition's directory below the table's. What the directory does not tell cannot come
// back: the default name gives a null, whatever blank it stood for, and where TIME lost digits they are zero.
func Parse(path string, keys []string, types []schema.Type, n Naming) ([]row.Value, error) {
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	if path == "" {
		parts = nil
	}
	if len(parts) != len(keys) {
		return nil, fmt.Errorf("partition directory %q has %d parts, the table has %d partition keys", path, len(parts), len(keys))
	}
	values := make([]row.Value, len(keys))
	for i, part := range parts {
		name, text, ok := strings.Cut(part, "=")
		if !ok || unescape(name) != keys[i] {
			return nil, fmt.Errorf("partition directory %q: want %s=… in place of %q", path, keys[i], part)
		}
		var err error
		if values[i], err = n.parse(types[i], unescape(text)); err != nil {
			return nil, fmt.Errorf("partition directory %q: key %s: %w", path, keys[i], err)
		}
	}
	return values, nil
}

func (n Naming) parse(t schema.Type, text string) (row.Value, error) {
	if text == n.DefaultName {
		return row.NullValue(), nil
	}
	switch t.Kind {
	case schema.Date, schema.Time:
		if n.Legacy {
			number, err := strconv.ParseInt(text, 10, 32)
			return row.Value{I64: number}, err
		}
	case schema.Binary, schema.VarBinary:
		if !n.Legacy {
			return row.Value{B: []byte(text)}, nil
		}
	case schema.Timestamp, schema.TimestampLTZ:
		return n.parseTimestamp(t, text)
	default:
	}
	return row.ParseText(t, text)
}

func (n Naming) parseTimestamp(t schema.Type, text string) (row.Value, error) {
	separator := " "
	if n.Legacy {
		separator = "T"
	}
	date, clock, ok := strings.Cut(text, separator)
	if !ok {
		return row.Value{}, fmt.Errorf("%q lacks the time of the day", text)
	}
	if n.Legacy && strings.Count(clock, ":") == 1 {
		clock += ":00"
	}
	utc := t
	utc.Kind = schema.Timestamp
	v, err := row.ParseText(utc, date+"T"+clock)
	if err != nil || n.Legacy || t.Kind == schema.Timestamp || n.Zone == nil {
		return v, err
	}
	at := row.TimeOf(utc, v)
	y, m, d := at.Date()
	hour, minute, second := at.Clock()
	// Where clocks were set back the text stands for two instants; Go takes one of them.
	return row.TimestampValue(t, time.Date(y, m, d, hour, minute, second, at.Nanosecond(), n.Zone))
}

// unescape reads % and two hexadecimal digits as a byte; all else stays.
func unescape(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if code, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteRune(rune(code))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
