package schema

import (
	"fmt"
	"strconv"
	"strings"
)

// String is the type as Paimon writes it into schema files when it is atomic, such as "DECIMAL(10, 2) NOT NULL", and as SQL
// otherwise, such as "ARRAY<INT>".
func (t Type) String() string {
	if t.NotNull {
		return t.root() + " NOT NULL"
	}
	return t.root()
}

func (t Type) root() string {
	switch t.Kind {
	case VarChar:
		if t.Length == MaxLength {
			return "STRING"
		}
		return fmt.Sprintf("VARCHAR(%d)", t.Length)
	case VarBinary:
		if t.Length == MaxLength {
			return "BYTES"
		}
		return fmt.Sprintf("VARBINARY(%d)", t.Length)
	case Char, Binary:
		return fmt.Sprintf("%s(%d)", t.Kind, t.Length)
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case Time, Timestamp:
		return fmt.Sprintf("%s(%d)", t.Kind, t.Precision)
	case TimestampLTZ:
		return fmt.Sprintf("TIMESTAMP(%d) WITH LOCAL TIME ZONE", t.Precision)
	case Array, Multiset:
		return fmt.Sprintf("%s<%s>", t.Kind, orZero(t.Element))
	case Map:
		return fmt.Sprintf("MAP<%s, %s>", orZero(t.Key), orZero(t.Element))
	case Row:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = fmt.Sprintf("`%s` %s", strings.ReplaceAll(f.Name, "`", "``"), f.Type)
		}
		return "ROW<" + strings.Join(fields, ", ") + ">"
	default:
		return t.Kind.String()
	}
}

func orZero(t *Type) Type {
	if t == nil {
		return Type{}
	}
	return *t
}

// IntegerBits is the size of an integer type, 0 for others.
func (k Kind) IntegerBits() int {
	switch k {
	case TinyInt:
		return 8
	case SmallInt:
		return 16
	case Int:
		return 32
	case BigInt:
		return 64
	default:
		return 0
	}
}

// String is the kind's keyword in SQL, TIMESTAMP_LTZ for TimestampLTZ.
func (k Kind) String() string {
	names := [...]string{
		Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Int: "INT", BigInt: "BIGINT",
		Float: "FLOAT", Double: "DOUBLE", Decimal: "DECIMAL", Char: "CHAR", VarChar: "VARCHAR",
		Binary: "BINARY", VarBinary: "VARBINARY", Date: "DATE", Time: "TIME", Timestamp: "TIMESTAMP",
		TimestampLTZ: "TIMESTAMP_LTZ", Array: "ARRAY", Map: "MAP", Multiset: "MULTISET", Row: "ROW",
	}
	if int(k) < len(names) && names[k] != "" {
		return names[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ParseType reads an atomic type in any form that Paimon takes in a schema file: "INT NOT NULL", "decimal(10,2)",
// "VARCHAR" (which is VARCHAR(1)), "TIMESTAMP_LTZ(3)", and ARRAY and MULTISET as suffixes. Other nested types are JSON in
// schema files; see [Type.UnmarshalJSON].
func ParseType(text string) (Type, error) {
	p := typeParser{tokens: tokenize(text)}
	t, err := p.parse()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("unexpected %q", p.tokens[0])
	}
	if err != nil {
		return Type{}, fmt.Errorf("type %q: %w", clip(text), err)
	}
	return t, nil
}

// clip keeps a hostile text from filling the log.
func clip(text string) string {
	const enough = 200
	if len(text) > enough {
		return text[:enough] + "…"
	}
	return text
}

// tokenize cuts the text into words, numbers and single delimiters, words in upper case.
func tokenize(text string) []string {
	const delimiters = "()<>,."
	var tokens []string
	for _, word := range strings.Fields(text) {
		for word != "" {
			n := strings.IndexAny(word, delimiters)
			switch {
			case n < 0:
				n = len(word)
			case n == 0:
				n = 1
			}
			tokens = append(tokens, strings.ToUpper(word[:n]))
			word = word[n:]
		}
	}
	return tokens
}

type typeParser struct{ tokens []string }

// take consumes the given words if they come next.
func (p *typeParser) take(words ...string) bool {
	if len(p.tokens) < len(words) {
		return false
	}
	for i, w := range words {
		if p.tokens[i] != w {
			return false
		}
	}
	p.tokens = p.tokens[len(words):]
	return true
}

func (p *typeParser) parse() (Type, error) {
	if len(p.tokens) == 0 {
		return Type{}, fmt.Errorf("it is empty")
	}
	word := p.tokens[0]
	p.tokens = p.tokens[1:]
	t, err := p.byKeyword(word)
	if err != nil {
		return Type{}, err
	}
	t.NotNull = p.nullability()
	// One suffix only, as Paimon's parser.
	for _, kind := range []Kind{Array, Multiset} {
		if p.take(kind.String()) {
			element := t
			t = Type{Kind: kind, Element: &element}
			t.NotNull = p.nullability()
			break
		}
	}
	return t, nil
}

func (p *typeParser) nullability() (notNull bool) {
	if p.take("NOT", "NULL") {
		return true
	}
	p.take("NULL")
	return false
}

func (p *typeParser) byKeyword(word string) (Type, error) {
	switch word {
	case "BOOLEAN":
		return Of(Boolean), nil
	case "TINYINT":
		return Of(TinyInt), nil
	case "SMALLINT":
		return Of(SmallInt), nil
	case "INT", "INTEGER":
		return Of(Int), nil
	case "BIGINT":
		return Of(BigInt), nil
	case "FLOAT":
		return Of(Float), nil
	case "DOUBLE":
		p.take("PRECISION")
		return Of(Double), nil
	case "DATE":
		return Of(Date), nil
	case "STRING":
		return StringType(), nil
	case "BYTES":
		return BytesType(), nil
	case "DECIMAL", "NUMERIC", "DEC":
		return p.decimal()
	case "CHAR":
		return p.sized(Char)
	case "VARCHAR":
		return p.sized(VarChar)
	case "BINARY":
		return p.sized(Binary)
	case "VARBINARY":
		return p.sized(VarBinary)
	case "TIME", "TIMESTAMP", "TIMESTAMP_LTZ":
		return p.temporal(word)
	case "VARIANT", "BLOB", "GEOMETRY", "GEOGRAPHY", "VECTOR":
		return Type{}, fmt.Errorf("this type is of a newer Paimon than this library knows")
	}
	return Type{}, fmt.Errorf("no type begins with %q", clip(word))
}

// parameter reads "(n)" if it comes next, else gives the default, which is the length or precision of the bare keyword.
func (p *typeParser) parameter(bare, low, high int) (int, error) {
	if !p.take("(") {
		return bare, nil
	}
	n, err := p.number(low, high)
	if err == nil && !p.take(")") {
		err = fmt.Errorf("missing )")
	}
	return n, err
}

func (p *typeParser) number(low, high int) (int, error) {
	if len(p.tokens) == 0 {
		return 0, fmt.Errorf("missing number")
	}
	n, err := strconv.ParseUint(p.tokens[0], 10, 31)
	if err != nil || int(n) < low || int(n) > high {
		return 0, fmt.Errorf("%q is not a number from %d to %d", clip(p.tokens[0]), low, high)
	}
	p.tokens = p.tokens[1:]
	return int(n), nil
}

func (p *typeParser) sized(kind Kind) (Type, error) {
	n, err := p.parameter(1, 1, MaxLength)
	return Type{Kind: kind, Length: n}, err
}

func (p *typeParser) decimal() (Type, error) {
	if !p.take("(") {
		return DecimalType(10, 0), nil
	}
	precision, err := p.number(1, MaxPrecision)
	if err != nil {
		return Type{}, err
	}
	scale := 0
	if p.take(",") {
		if scale, err = p.number(0, precision); err != nil {
			return Type{}, err
		}
	}
	if !p.take(")") {
		return Type{}, fmt.Errorf("missing )")
	}
	return DecimalType(precision, scale), nil
}

func (p *typeParser) temporal(word string) (Type, error) {
	kind, digits := Timestamp, 6
	switch word {
	case "TIME":
		kind, digits = Time, 0
	case "TIMESTAMP_LTZ":
		kind = TimestampLTZ
	}
	n, err := p.parameter(digits, 0, MaxFractionDigits)
	if err != nil {
		return Type{}, err
	}
	switch {
	case kind == Timestamp && p.take("WITH", "LOCAL", "TIME", "ZONE"):
		kind = TimestampLTZ
	case kind != TimestampLTZ:
		p.take("WITHOUT", "TIME", "ZONE")
	}
	return Type{Kind: kind, Precision: n}, nil
}

const (
	// MaxPrecision is the largest number of digits of a DECIMAL.
	MaxPrecision = 38
	// MaxFractionDigits is the largest precision of TIME and TIMESTAMP.
	MaxFractionDigits = 9
)

// Equal tells whether two types are the same in all that decides how values are stored and read: kind, nullability, sizes,
// and for nested types those of their parts with the names and ids of fields. Descriptions and defaults do not matter.
func Equal(a, b Type) bool {
	if a.Kind != b.Kind || a.NotNull != b.NotNull || a.Length != b.Length ||
		a.Precision != b.Precision || a.Scale != b.Scale || len(a.Fields) != len(b.Fields) {
		return false
	}
	for i := range a.Fields {
		x, y := a.Fields[i], b.Fields[i]
		if x.ID != y.ID || x.Name != y.Name || !Equal(x.Type, y.Type) {
			return false
		}
	}
	return equalParts(a.Element, b.Element) && equalParts(a.Key, b.Key)
}

func equalParts(a, b *Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	return Equal(*a, *b)
}

// Nested tells whether the type holds others: ARRAY, MAP, MULTISET and ROW.
func (t Type) Nested() bool {
	return t.Kind == Array || t.Kind == Map || t.Kind == Multiset || t.Kind == Row
}

// check tells what is wrong with a type that was built by hand.
func (t Type) check() error {
	within := func(what string, n, low, high int) error {
		if n < low || n > high {
			return fmt.Errorf("%s of %s must be from %d to %d, is %d", what, t.Kind, low, high, n)
		}
		return nil
	}
	switch t.Kind {
	case Char, VarChar, Binary, VarBinary:
		return within("length", t.Length, 1, MaxLength)
	case Decimal:
		if err := within("precision", t.Precision, 1, MaxPrecision); err != nil {
			return err
		}
		return within("scale", t.Scale, 0, t.Precision)
	case Time, Timestamp, TimestampLTZ:
		return within("precision", t.Precision, 0, MaxFractionDigits)
	case Boolean, TinyInt, SmallInt, Int, BigInt, Float, Double, Date, Row:
		return nil
	case Array, Multiset, Map:
		if t.Element == nil || t.Kind == Map && t.Key == nil {
			return fmt.Errorf("%s lacks the type of its elements", t.Kind)
		}
		return nil
	}
	return fmt.Errorf("%s is no type", t.Kind)
}
