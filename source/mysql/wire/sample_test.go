package wire

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// A sampled row is decoded as any row, and what is skipped of a value is what decoding takes of it, whatever the type.
func TestSampledRow(t *testing.T) {
	outputs, wire := everyDecoder()
	columns, err := chooseDecoders(source.Shard{}, outputs, wire)
	require.NoError(t, err)
	types := make([]schema.Type, len(outputs))
	for i := range outputs {
		types[i] = outputs[i].Type
	}
	p := goodRow(wire)
	d, plain, sampled := newDecoder(columns), row.NewBatch(types), row.NewBatch(types)
	d.bind(plain)
	require.NoError(t, d.row(p))
	d.bind(sampled)
	var found []source.Finding
	require.NoError(t, d.sampled(p, 7, func(f source.Finding) { found = append(found, f) }))
	require.Equal(t, plain, sampled)
	require.Len(t, found, 1, "the SRID of the geometry")
	require.Equal(t, source.Finding{Output: len(outputs) - 1, Column: outputs[len(outputs)-1].Column.Name, Row: 7, Value: "SRID 1", Policy: "geometry: wkb"}, found[0])
	pos := 1 + d.nullBytes
	for i := range d.columns {
		c := &d.columns[i]
		next, err := c.decode(c, p, pos)
		require.NoError(t, err)
		require.Equal(t, next, skip(c.kind, p, pos), c.source.Definition)
		require.Equal(t, -1, skip(c.kind, p[:next-1], pos), "a value that is cut off")
		pos = next
	}
}

// Text that is no UTF-8 and the error value of an ENUM arrive as they are, and are told.
func TestOddValues(t *testing.T) {
	outputs := []source.Output{
		{Column: source.Column{Name: "t", Definition: "text character set utf8mb4", Type: schema.StringType()}, Type: schema.StringType()},
		{Column: source.Column{Name: "e", Definition: "enum('a','b') character set utf8mb4", Type: schema.StringType()}, Type: schema.StringType()},
		{Column: source.Column{Name: "f", Definition: "enum('','b') character set utf8mb4", Type: schema.StringType()}, Type: schema.StringType()},
		{Column: source.Column{Name: "b", Definition: "blob", Type: schema.BytesType()}, Type: schema.BytesType()},
	}
	columns, err := chooseDecoders(source.Shard{}, outputs, []resultColumn{{kind: typeBlob}, {kind: typeString}, {kind: typeString}, {kind: typeBlob}})
	require.NoError(t, err)
	d, b := newDecoder(columns), row.NewBatch([]schema.Type{outputs[0].Type, outputs[1].Type, outputs[2].Type, outputs[3].Type})
	d.bind(b)
	var found []source.Finding
	keep := func(f source.Finding) { found = append(found, f) }
	require.NoError(t, d.sampled([]byte{0, 0, 3, 'a', 0xff, 'b', 0, 0, 1, 0xff}, 0, keep))
	require.Equal(t, []source.Finding{
		{Output: 0, Column: "t", Value: `"a\xffb"`, Policy: NotUTF8},
		{Output: 1, Column: "e", Value: `""`, Policy: EnumError},
	}, found)
	require.Equal(t, "a\xffb", string(b.Columns[0].Bytes(0)))
	require.NoError(t, d.sampled([]byte{0, 0, 1, 'a', 1, 'b', 1, 'b', 0}, 1, keep))
	require.Len(t, found, 2)
}
