package avro

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrMalformed is returned for bytes that are no valid Avro file, or that ask for more than the limits allow. Reading
// again does not help.
var ErrMalformed = errors.New("malformed avro file")

// Kind is the type of a schema.
type Kind uint8

// The types of Avro. An enum is read as an Int.
const (
	Null Kind = iota + 1
	Boolean
	Int
	Long
	Float
	Double
	Bytes
	String
	Fixed
	Array
	Map
	Union
	Record
)

// Schema is a parsed writer schema.
type Schema struct {
	Kind Kind
	// Name of a Record or Fixed.
	Name string
	// Fields of a Record, in the order in which they are encoded.
	Fields []Field
	// Branches of a Union.
	Branches []*Schema
	// Items of an Array, values of a Map.
	Items *Schema
	// Size of a Fixed in bytes.
	Size int
}

// Field of a record.
type Field struct {
	Name   string
	Schema *Schema
}

const (
	maxSchemaDepth = 32
	maxSchemaNodes = 10_000
)

// ParseSchema reads a schema's JSON text.
func ParseSchema(text []byte) (*Schema, error) {
	p := parser{named: map[string]*Schema{}}
	s, err := p.parse(text, "", 0)
	if err != nil {
		return nil, fmt.Errorf("%w: schema: %w", ErrMalformed, err)
	}
	return s, nil
}

type parser struct {
	named map[string]*Schema
	nodes int
}

var primitives = map[string]Kind{
	"null": Null, "boolean": Boolean, "int": Int, "long": Long, "float": Float, "double": Double, "bytes": Bytes, "string": String,
}

func (p *parser) parse(text json.RawMessage, namespace string, depth int) (*Schema, error) {
	if p.nodes++; p.nodes > maxSchemaNodes || depth > maxSchemaDepth {
		return nil, errors.New("it is too large or too deep")
	}
	if len(text) == 0 {
		return nil, errors.New("a type is missing")
	}
	switch text[0] {
	case '"':
		var name string
		if err := json.Unmarshal(text, &name); err != nil {
			return nil, err
		}
		return p.reference(name, namespace)
	case '[':
		return p.union(text, namespace, depth)
	}
	var c complexType
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	return p.complex(&c, namespace, depth)
}

func (p *parser) reference(name, namespace string) (*Schema, error) {
	if k, ok := primitives[name]; ok {
		return &Schema{Kind: k}, nil
	}
	if s, ok := p.named[fullName(name, namespace)]; ok {
		return s, nil
	}
	if s, ok := p.named[name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("unknown type %q", name)
}

func (p *parser) union(text json.RawMessage, namespace string, depth int) (*Schema, error) {
	var branches []json.RawMessage
	if err := json.Unmarshal(text, &branches); err != nil {
		return nil, err
	}
	s := &Schema{Kind: Union}
	for _, b := range branches {
		branch, err := p.parse(b, namespace, depth+1)
		if err != nil {
			return nil, err
		}
		s.Branches = append(s.Branches, branch)
	}
	return s, nil
}

// complexType is the object form of a schema.
type complexType struct {
	Type      json.RawMessage `json:"type"`
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Size      int             `json:"size"`
	Items     json.RawMessage `json:"items"`
	Values    json.RawMessage `json:"values"`
	Fields    []struct {
		Name string          `json:"name"`
		Type json.RawMessage `json:"type"`
	} `json:"fields"`
}

func (p *parser) complex(c *complexType, namespace string, depth int) (*Schema, error) {
	var kind string
	if json.Unmarshal(c.Type, &kind) != nil {
		return p.parse(c.Type, namespace, depth+1) // {"type": {…}} or {"type": […]}
	}
	var err error
	s := &Schema{Name: c.Name}
	switch kind {
	case "record", "error":
		return p.record(c, namespace, depth)
	case "enum":
		s.Kind = Int
	case "fixed":
		s.Kind, s.Size = Fixed, c.Size
		if c.Size < 0 {
			return nil, fmt.Errorf("fixed %q has size %d", c.Name, c.Size)
		}
	case "array":
		s.Kind = Array
		s.Items, err = p.parse(c.Items, namespace, depth+1)
	case "map":
		s.Kind = Map
		s.Items, err = p.parse(c.Values, namespace, depth+1)
	default:
		return p.reference(kind, namespace)
	}
	if c.Name != "" {
		p.named[fullName(c.Name, pick(c.Namespace, namespace))] = s
	}
	return s, err
}

func (p *parser) record(c *complexType, namespace string, depth int) (*Schema, error) {
	s := &Schema{Kind: Record, Name: c.Name}
	namespace = pick(c.Namespace, namespace)
	p.named[fullName(c.Name, namespace)] = s
	for _, f := range c.Fields {
		t, err := p.parse(f.Type, namespace, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.Name, err)
		}
		s.Fields = append(s.Fields, Field{Name: f.Name, Schema: t})
	}
	return s, nil
}

func pick(own, inherited string) string {
	if own != "" {
		return own
	}
	return inherited
}

func fullName(name, namespace string) string {
	if namespace == "" {
		return name
	}
	return namespace + "." + name
}
