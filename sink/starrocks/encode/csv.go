package encode

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// The separators: no byte of them comes twice, so that none can begin in a value's end or in another separator.
const (
	fieldSeparator = "\x1f\x1c"
	rowSeparator   = "\x1e\x1d"
	csvNull        = `\N`
)

// CSV is the format that StarRocks reads while it arrives.
type CSV struct {
	columns []Column
	cells   []cell
}

// NewCSV is CSV of these columns, in this order.
func NewCSV(columns []Column) (*CSV, error) {
	made, err := cells(columns, func(t schema.Type) cell {
		switch {
		case binary(t):
			return func(dst []byte, v *row.Vector, i int) []byte { return base64.StdEncoding.AppendEncode(dst, v.Bytes(i)) }
		case text(t):
			return func(dst []byte, v *row.Vector, i int) []byte { return append(dst, v.Bytes(i)...) }
		}
		if c := plain(t); c != nil {
			return c
		}
		return quoted(t)
	})
	return &CSV{columns, made}, err
}

// Begin appends nothing.
func (f *CSV) Begin(dst []byte) []byte { return dst }

// End appends nothing: each row ends with the row delimiter, as loads of a transaction must.
func (f *CSV) End(dst []byte) []byte { return dst }

// Row appends a row.
func (f *CSV) Row(dst []byte, _ int, b *row.Batch, i int) ([]byte, error) {
	before := len(dst)
	for c := range f.cells {
		if c > 0 {
			dst = append(dst, fieldSeparator...)
		}
		v := &b.Columns[c]
		if v.IsNull(i) {
			dst = append(dst, csvNull...)
			continue
		}
		if text(v.Type) {
			if why := unfit(v.Bytes(i)); why != "" {
				return dst[:before], &UncarriedError{"CSV", f.columns[c].Name, why}
			}
		}
		dst = f.cells[c](dst, v, i)
	}
	if len(dst) == before {
		return dst, &UncarriedError{"CSV", f.columns[0].Name, "an empty string alone in its row is skipped as a blank line"}
	}
	return append(dst, rowSeparator...), nil
}

// unfit tells why a string would be read as another one; mostly two searches for a byte that is not there.
func unfit(p []byte) string {
	switch {
	case string(p) == csvNull:
		return `the string \N would be read as NULL`
	case bytes.IndexByte(p, fieldSeparator[0]) >= 0 && bytes.Contains(p, []byte(fieldSeparator)),
		bytes.IndexByte(p, rowSeparator[0]) >= 0 && bytes.Contains(p, []byte(rowSeparator)):
		return "it holds the bytes that separate fields or rows"
	}
	return ""
}

// Headers of CSV. StarRocks names compressed CSV as formats of their own.
func (f *CSV) Headers(c Compression) map[string]string {
	format := "CSV"
	if c != NoCompression {
		format = string(c)
	}
	names := make([]string, len(f.columns))
	for i, col := range f.columns {
		names[i] = quoteName(col.Name)
	}
	return map[string]string{
		"format": format, "column_separator": `\x1F1C`, "row_delimiter": `\x1E1D`, "columns": strings.Join(names, ","),
	}
}

// quoteName is a name as SQL writes it.
func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
