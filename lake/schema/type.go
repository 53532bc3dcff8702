package schema

// Kind is the root of a data type (org.apache.paimon.types.DataTypeRoot).
type Kind uint8

// The kinds that a Paimon schema of the releases 1.0 to 2.0 may hold and that this library reads.
const (
	Boolean Kind = iota + 1
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Char
	VarChar // STRING is VarChar of MaxLength
	Binary
	VarBinary // BYTES is VarBinary of MaxLength
	Date
	Time
	Timestamp
	TimestampLTZ // TIMESTAMP WITH LOCAL TIME ZONE: an instant
	Array
	Map
	Multiset
	Row
)

// MaxLength is the length of STRING and BYTES, Java's Integer.MAX_VALUE.
const MaxLength = 1<<31 - 1

// Type is a data type. The zero value is not a type.
type Type struct {
	Kind    Kind
	NotNull bool
	// Length of Char, VarChar (characters), Binary, VarBinary (bytes): 1 to MaxLength.
	Length int
	// Precision of Decimal (1–38), Time, Timestamp and TimestampLTZ (0–9 fraction digits).
	Precision int
	// Scale of Decimal.
	Scale int
	// Element of Array and Multiset, value of Map.
	Element *Type
	// Key of Map.
	Key *Type
	// Fields of Row.
	Fields []Field
}

// Field is a named column, of a table or of a nested row.
type Field struct {
	ID          int
	Name        string
	Type        Type
	Description string
	// Default is the SQL text of the default value, nil when there is none.
	Default *string
}

// ID is the number of a schema version: 0 for the first.
type ID int64

// Table is one version of a table's schema (org.apache.paimon.schema.TableSchema).
type Table struct {
	ID             ID
	Fields         []Field
	HighestFieldID int
	PartitionKeys  []string
	PrimaryKeys    []string
	Options        map[string]string
	Comment        string
	// TimeMillis is when this version was made, in milliseconds since 1970.
	TimeMillis int64
}

// StringType is STRING.
func StringType() Type { return Type{Kind: VarChar, Length: MaxLength} }

// BytesType is BYTES.
func BytesType() Type { return Type{Kind: VarBinary, Length: MaxLength} }

// DecimalType is DECIMAL(precision, scale).
func DecimalType(precision, scale int) Type {
	return Type{Kind: Decimal, Precision: precision, Scale: scale}
}

// Of is a type that has no parameters, such as Of(BigInt).
func Of(k Kind) Type { return Type{Kind: k} }

// WithNotNull returns the type with its nullability set.
func (t Type) WithNotNull(notNull bool) Type {
	t.NotNull = notNull
	return t
}
