package encode

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// JSON is an array of objects, whose keys are short and mapped to columns by the headers. StarRocks holds a body of it in
// memory as a whole, and refuses one of more than 100 MiB.
type JSON struct {
	columns []Column
	cells   []cell
	keys    []string
}

// MaxJSON is the largest body that StarRocks takes (streaming_load_max_batch_size_mb).
const MaxJSON = 100 << 20

// NewJSON is JSON of these columns.
func NewJSON(columns []Column) (*JSON, error) {
	made, err := cells(columns, func(t schema.Type) cell {
		switch {
		case binary(t):
			return func(dst []byte, v *row.Vector, i int) []byte {
				return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes(i)), '"')
			}
		case text(t):
			return func(dst []byte, v *row.Vector, i int) []byte { return appendString(dst, v.Bytes(i)) }
		}
		if c := plain(t); c != nil {
			return c
		}
		inner := quoted(t)
		if inner == nil {
			return nil
		}
		return func(dst []byte, v *row.Vector, i int) []byte { return append(inner(append(dst, '"'), v, i), '"') }
	})
	f := &JSON{columns: columns, cells: made, keys: make([]string, len(columns))}
	for i := range columns {
		f.keys[i] = fmt.Sprintf(`"c%d":`, i)
	}
	return f, err
}

// Begin opens the array.
func (f *JSON) Begin(dst []byte) []byte { return append(dst, '[') }

// End closes it.
func (f *JSON) End(dst []byte) []byte { return append(dst, ']') }

// Row appends an object.
func (f *JSON) Row(dst []byte, start int, b *row.Batch, i int) ([]byte, error) {
	if len(dst) > start {
		dst = append(dst, ',')
	}
	dst = append(dst, '{')
	for c := range f.cells {
		if c > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, f.keys[c]...)
		v := &b.Columns[c]
		if v.IsNull(i) {
			dst = append(dst, "null"...)
			continue
		}
		dst = f.cells[c](dst, v, i)
	}
	return append(dst, '}'), nil
}

// appendString escapes what JSON demands and nothing else: what is not UTF-8 stays, for the server to refuse.
func appendString(dst, p []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i, b := range p {
		if b >= 0x20 && b != '"' && b != '\\' {
			continue
		}
		dst = append(dst, p[from:i]...)
		from = i + 1
		if b < 0x20 {
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		} else {
			dst = append(dst, '\\', b)
		}
	}
	return append(append(dst, p[from:]...), '"')
}

// Headers map keys to columns, and binary columns through to_binary, since the JSON reader takes a string's bytes as they are.
func (f *JSON) Headers(c Compression) map[string]string {
	paths, names, computed := make([]string, len(f.columns)), make([]string, len(f.columns)), []string(nil)
	for i, col := range f.columns {
		paths[i] = fmt.Sprintf("$.c%d", i)
		names[i] = quoteName(col.Name)
		if binary(col.Type) {
			source := fmt.Sprintf("_base64_%d", i)
			names[i] = source
			computed = append(computed, fmt.Sprintf("%s=to_binary(%s,'encode64')", quoteName(col.Name), source))
		}
	}
	list, err := json.Marshal(paths)
	if err != nil {
		panic(fmt.Sprintf("encode: paths %q have no JSON: %v", paths, err))
	}
	h := map[string]string{
		"format": "JSON", "strip_outer_array": "true", "jsonpaths": string(list),
		"columns": strings.Join(append(names, computed...), ","),
	}
	if c != NoCompression {
		h["compression"] = strings.ToUpper(c.json())
	}
	return h
}
