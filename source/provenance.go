package source

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/lake/schema"
)

// Provenance holds the names of the columns that tell where a row comes from. An empty name leaves that column out.
type Provenance struct {
	Instance string `json:"instance,omitempty"`
	Database string `json:"database,omitempty"`
	Table    string `json:"table,omitempty"`
	// Derived columns follow them.
	Derived []Derived `json:"derived,omitempty"`
}

// Derived is a column that holds a part of a shard's name.
type Derived struct {
	// Name of the column in the target.
	Name string `json:"name"`
	// From is the name that it is a part of.
	From Origin `json:"from"`
	// Pattern is a regular expression that matches the whole of that name. Its group that is called like the column is the
	// part; without one, the only group is.
	Pattern string `json:"pattern"`
	// Type is STRING or an integer type; the zero value is STRING.
	Type schema.Type `json:"type,omitzero"`
}

// Derivation takes a part out of a name. It is a value, so that the outputs of shards alike are equal.
type Derivation struct {
	// Pattern matches the whole name; its group of number Group is the part.
	Pattern string `json:"pattern,omitempty"`
	Group   int    `json:"group,omitempty"`
}

// Origin is a part of a shard's name.
type Origin string

// The parts of a shard's name.
const (
	FromInstance Origin = "instance"
	FromDatabase Origin = "database"
	FromTable    Origin = "table"
)

// Of is that part of a shard's name, nil for the empty origin.
func (o Origin) Of(s Shard) *string {
	switch o {
	case FromInstance:
		return &s.Instance
	case FromDatabase:
		return &s.Database
	case FromTable:
		return &s.Table
	}
	return nil
}

// ConstantOf is what fills the column in the rows of a shard; nil for a column that is read and for one that the shard
// lacks. A name that a derivation does not match is an [ErrRefused].
func (o Output) ConstantOf(s Shard) (*string, error) {
	name := o.Provenance.Of(s)
	if name == nil || o.Derive.Pattern == "" {
		return name, nil
	}
	part, err := o.Derive.part(*name)
	if err != nil {
		return nil, fmt.Errorf("%w: shard %s: %s %q: %w", ErrRefused, s, o.Provenance, *name, err)
	}
	return &part, nil
}

func (d Derivation) part(name string) (string, error) {
	re, err := whole(d.Pattern)
	if err != nil {
		return "", err
	}
	m := re.FindStringSubmatch(name)
	if m == nil || d.Group >= len(m) {
		return "", fmt.Errorf("does not match %q", d.Pattern)
	}
	return m[d.Group], nil
}

// whole compiles a pattern that has to match all of a name.
func whole(pattern string) (*regexp.Regexp, error) { return regexp.Compile(`^(?:` + pattern + `)$`) }

// CheckDerived tells what is wrong with a derived column whatever the shards are.
func CheckDerived(d Derived) error {
	_, err := d.derivation()
	return err
}

func (d Derived) derivation() (Derivation, error) {
	out := Derivation{Pattern: d.Pattern}
	re, err := whole(d.Pattern)
	if err != nil {
		return out, fmt.Errorf("%q is not a regular expression: %s", d.Pattern, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	switch out.Group = re.SubexpIndex(d.Name); {
	case out.Group > 0:
	case re.NumSubexp() == 1:
		out.Group = 1
	case re.NumSubexp() == 0:
		return out, fmt.Errorf("%q has no group: put what the column holds in brackets, as (?P<%s>[a-z]+)", d.Pattern, d.Name)
	default:
		return out, fmt.Errorf("%q has %d groups, none of which is called %s: name one, as (?P<%s>[a-z]+)", d.Pattern, re.NumSubexp(), d.Name, d.Name)
	}
	if k := d.kind(); k.Kind != schema.VarChar && k.Kind.IntegerBits() == 0 {
		return out, fmt.Errorf("%s is no type for a part of a name: take STRING, TINYINT, SMALLINT, INT or BIGINT", k)
	}
	return out, nil
}

// kind is the column's type.
func (d Derived) kind() schema.Type {
	if d.Type.Kind == 0 {
		return schema.StringType()
	}
	return d.Type
}

// provenanceColumn is a column that a shard's name fills.
type provenanceColumn struct {
	name   string
	origin Origin
	derive Derivation
	kind   schema.Type
}

// columns are the provenance columns asked for. Those that [CheckDerived] refuses are left out.
func (p Provenance) columns() []provenanceColumn {
	var out []provenanceColumn
	for _, c := range []provenanceColumn{{name: p.Instance, origin: FromInstance}, {name: p.Database, origin: FromDatabase}, {name: p.Table, origin: FromTable}} {
		if c.kind = schema.StringType(); c.name != "" {
			out = append(out, c)
		}
	}
	for _, d := range p.Derived {
		if derive, err := d.derivation(); err == nil {
			out = append(out, provenanceColumn{d.Name, d.From, derive, d.kind()})
		}
	}
	return out
}

// shownNames bounds the shards that an error names.
const shownNames = 20

// checkDerived refuses shards whose names do not match a pattern, or do not give a number of the column's type.
func (m *Merged) checkDerived(tables []Table) error {
	var problems []string
	for _, d := range m.Provenance.Derived {
		derive, err := d.derivation()
		if err != nil {
			return fmt.Errorf("%w: provenance column %q: %w", ErrRefused, d.Name, err)
		}
		for _, t := range tables {
			name := d.From.Of(t.Shard)
			if name == nil || !m.Keeps(t.Shard) {
				continue
			}
			if err := d.holds(derive, *name); err != nil {
				problems = append(problems, fmt.Sprintf("%s: %s %q %s", t.Shard, d.From, *name, err))
			}
		}
	}
	if len(problems) == 0 {
		return nil
	}
	text := strings.Join(problems[:min(len(problems), shownNames)], "\n  ")
	if n := len(problems) - shownNames; n > 0 {
		text += fmt.Sprintf("\n  … and %d more", n)
	}
	return fmt.Errorf("%w: %d names of shards do not give the provenance columns; correct the pattern, or exclude the shards:\n  %s", ErrRefused, len(problems), text)
}

// holds tells whether the column can hold its part of a name.
func (d Derived) holds(derive Derivation, name string) error {
	part, err := derive.part(name)
	if err != nil {
		return err
	}
	k := d.kind()
	if bits := k.Kind.IntegerBits(); bits > 0 {
		if _, err := strconv.ParseInt(part, 10, bits); err != nil {
			return fmt.Errorf("gives %q, which is no %s", part, k.WithNotNull(false))
		}
	}
	return nil
}
