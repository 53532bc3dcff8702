package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/tributary-lake/tributary/config/document"
)

const (
	durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	bytesPattern    = `^[0-9]{1,18} ?(B|[KMGT]i?B)?$`
)

var (
	durationShape = regexp.MustCompile(durationPattern)
	bytesShape    = regexp.MustCompile(`^([0-9]{1,18}) ?((?:[KMGT]i?)?B)?$`)
	zeroUnits     = regexp.MustCompile(`([hm])(0[ms])+$`)
)

var errShape = errors.New("wrong form")

// parseDuration takes Go's durations without a sign and with a unit.
func parseDuration(text string) (time.Duration, error) {
	if !durationShape.MatchString(text) {
		return 0, errShape
	}
	return time.ParseDuration(text)
}

// durationText is the shortest common form: 72h, not 72h0m0s.
func durationText(d time.Duration) string {
	return zeroUnits.ReplaceAllString(d.String(), "$1")
}

// Bytes is an amount of memory or data in bytes. In a file it is a plain number, or a number with a unit: KB, MB, GB and
// TB count by 1000; KiB, MiB, GiB and TiB by 1024.
type Bytes int64

// units are the factors of the units, the largest first.
func units() []struct {
	name   string
	factor int64
} {
	return []struct {
		name   string
		factor int64
	}{
		{"TiB", 1 << 40},
		{"TB", 1e12},
		{"GiB", 1 << 30},
		{"GB", 1e9},
		{"MiB", 1 << 20},
		{"MB", 1e6},
		{"KiB", 1 << 10},
		{"KB", 1e3},
		{"B", 1},
	}
}

// ParseBytes reads an amount as a file would give it.
func ParseBytes(text string) (Bytes, error) {
	const help = `write a number of bytes or one with a unit: "256MiB", "64MB"`
	parts := bytesShape.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is not an amount of bytes; %s", text, help)
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an amount of bytes; %s", text, help)
	}
	for _, u := range units() {
		if u.name == parts[2] {
			if n > math.MaxInt64/u.factor {
				return 0, fmt.Errorf("%q is more than can be counted", text)
			}
			return Bytes(n * u.factor), nil
		}
	}
	return Bytes(n), nil
}

// String is the shortest exact form: 1GiB, 64MB, 0.
func (s Bytes) String() string {
	best := strconv.FormatInt(int64(s), 10)
	for _, u := range units() {
		if s == 0 || int64(s)%u.factor != 0 || u.factor == 1 {
			continue
		}
		if text := strconv.FormatInt(int64(s)/u.factor, 10) + u.name; len(text) <= len(best) {
			best = text
		}
	}
	return best
}

func (s *Bytes) fromNode(b *binder, n *document.Node, at document.Place, f field) {
	switch n.Kind {
	case document.Int, document.String, document.Untyped:
	default:
		b.wrongKind(n, at, "an amount of bytes")
		return
	}
	value, err := ParseBytes(n.Text)
	if err != nil {
		b.problem(n, at, err.Error(), "")
		return
	}
	if int64(value) < f.minimum {
		b.problem(n, at, fmt.Sprintf("%s is less than %s", value, Bytes(f.minimum)), "")
		return
	}
	*s = value
}

func (s *Bytes) appendJSON(to []byte) []byte {
	text := s.String()
	if text[len(text)-1] == 'B' {
		return appendText(to, text)
	}
	return append(to, text...)
}

func (s *Bytes) jsonSchema(field) schemaObject {
	return schemaObject{"anyOf": []any{
		schemaObject{"type": "integer", "minimum": 0, "maximum": int64(999999999999999999)},
		schemaObject{"type": "string", "pattern": bytesPattern},
	}}
}

// Scalar is one value of a file kept as it was written: text, number, or true or false.
type Scalar struct {
	// Text is the value without quotes.
	Text string
	// Quoted is true for text, false for a number, true or false.
	Quoted bool
}

func (s *Scalar) fromNode(b *binder, n *document.Node, at document.Place, _ field) {
	if n.Kind == document.List || n.Kind == document.Map {
		b.wrongKind(n, at, "one value")
		return
	}
	*s = Scalar{Text: n.Text, Quoted: n.Kind == document.String || n.Kind == document.Untyped}
	if n.Kind == document.Float {
		// YAML writes numbers in ways that JSON cannot (.5, +1, .inf): those stay as text.
		s.Quoted = !jsonNumber.MatchString(n.Text)
	}
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (s *Scalar) appendJSON(to []byte) []byte {
	if s.Quoted || s.Text == "" {
		return appendText(to, s.Text)
	}
	return append(to, s.Text...)
}

func (s *Scalar) jsonSchema(field) schemaObject {
	return schemaObject{"type": []any{"string", "number", "boolean"}}
}
