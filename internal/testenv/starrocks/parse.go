package starrocks

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// parser reads bodies of one format for one table.
type parser struct {
	table *table
	// sources are the fields of a body in order, computed the columns made of one of them by to_binary.
	sources  []string
	computed map[string]string
	format   map[string]string
	rows     [][]Value
	errors   []string
}

var toBinary = regexp.MustCompile("^`?([^`=]+)`?=to_binary\\(`?([^`,]+)`?,'encode64'\\)$")

func newParser(t *table, format map[string]string) (*parser, string) {
	p := &parser{table: t, format: format, computed: map[string]string{}}
	if format["enclose"] != "" || format["escape"] != "" {
		return nil, "this test server has no reader for enclose and escape"
	}
	if format["strict_mode"] != "true" {
		return nil, "this test server has strict mode only"
	}
	if format["columns"] == "" {
		for _, c := range t.columns {
			p.sources = append(p.sources, c.Name)
		}
		return p, ""
	}
	for _, item := range splitColumns(format["columns"]) {
		if m := toBinary.FindStringSubmatch(item); m != nil {
			p.computed[m[1]] = m[2]
			continue
		}
		p.sources = append(p.sources, strings.ReplaceAll(strings.Trim(item, "`"), "``", "`"))
	}
	return p, ""
}

// splitColumns cuts at commas outside of parentheses and backticks.
func splitColumns(text string) []string {
	var items []string
	depth, quoted, from := 0, false, 0
	for i, r := range text {
		switch {
		case r == '`':
			quoted = !quoted
		case quoted:
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			items, from = append(items, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return append(items, strings.TrimSpace(text[from:]))
}

// separator reads the header's \x form.
func separator(header, otherwise string) string {
	if header == "" {
		return otherwise
	}
	if strings.HasPrefix(strings.ToUpper(header), `\X`) {
		if b, err := hex.DecodeString(header[2:]); err == nil {
			return string(b)
		}
	}
	return header
}

// unpack undoes compression: CSV names it as its format, JSON in a header of its own.
func unpack(format map[string]string, data []byte) ([]byte, string) {
	kind := strings.ToLower(format["format"])
	if kind == "json" {
		kind = strings.ToLower(format["compression"])
	}
	var r io.Reader
	switch kind {
	case "", "csv":
		return data, ""
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err.Error()
		}
		r = z
	case "lz4", "lz4_frame":
		r = lz4.NewReader(bytes.NewReader(data))
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err.Error()
		}
		defer z.Close()
		r = z
	default:
		return nil, "unknown data format, format=" + format["format"]
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, err.Error()
	}
	return plain, ""
}

// csv reads rows and returns what is left behind the last delimiter (csv_reader.cpp, split_record).
func (p *parser) csv(data []byte) (rest []byte) {
	rowEnd := []byte(separator(p.format["row_delimiter"], "\n"))
	fieldEnd := separator(p.format["column_separator"], "\t")
	for {
		record, after, found := bytes.Cut(data, rowEnd)
		if !found {
			return bytes.Clone(data)
		}
		data = after
		if len(record) == 0 {
			continue // blank rows are skipped
		}
		fields := strings.Split(string(record), fieldEnd)
		if len(fields) != len(p.sources) {
			p.reject(fmt.Sprintf("Target column count: %d doesn't match source value column count: %d.", len(p.sources), len(fields)), record)
			continue
		}
		if !utf8.Valid(record) {
			p.reject("Invalid UTF-8 row", record)
			continue
		}
		by := map[string]Value{}
		for i, f := range fields {
			by[p.sources[i]] = Value{Text: f, Null: f == `\N`}
		}
		p.row(by, record, binary)
	}
}

// json reads an array of objects, whose fields jsonpaths name.
func (p *parser) json(data []byte) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var objects []map[string]any
	if err := d.Decode(&objects); err != nil {
		return "parse error in json: " + err.Error()
	}
	if p.format["strip_outer_array"] != "true" {
		return "this test server takes arrays only: strip_outer_array"
	}
	paths := p.sources
	if text := p.format["jsonpaths"]; text != "" {
		paths = nil
		if err := json.Unmarshal([]byte(text), &paths); err != nil || len(paths) != len(p.sources) {
			return "jsonpaths and columns do not match"
		}
	}
	asIs := func(_, text string) (string, bool) { return text, true }
	for _, o := range objects {
		by := map[string]Value{}
		for i, path := range paths {
			v, has := o[strings.TrimPrefix(path, "$.")]
			by[p.sources[i]] = Value{Text: fmt.Sprint(v), Null: v == nil || !has}
		}
		line, _ := json.Marshal(o)
		p.row(by, line, asIs)
	}
	return ""
}

func (p *parser) row(by map[string]Value, record []byte, varbinary func(typ, text string) (string, bool)) {
	row := make([]Value, len(p.table.columns))
	for i, c := range p.table.columns {
		v, has := by[c.Name]
		from, computed := p.computed[c.Name]
		if computed {
			v, has = by[from]
		}
		if !has {
			v = Value{Null: true}
		}
		if v.Null {
			if c.NotNull {
				p.reject(fmt.Sprintf("NULL value in non-nullable column '%s'", c.Name), record)
				return
			}
			row[i] = Value{Null: true}
			continue
		}
		var ok bool
		switch {
		case computed:
			data, err := base64.StdEncoding.DecodeString(v.Text)
			v.Text, ok = string(data), err == nil
		case isBinary(c.Type):
			v.Text, ok = varbinary(c.Type, v.Text)
		default:
			v.Text, ok = cast(c.Type, v.Text)
		}
		if !ok {
			p.reject(fmt.Sprintf("The field (name = %s, pos = %d) is out of range. Type: %s", c.Name, i, c.Type), record)
			return
		}
		row[i] = v
	}
	p.rows = append(p.rows, row)
}

func (p *parser) reject(why string, record []byte) {
	p.errors = append(p.errors, fmt.Sprintf("Error: %s. Row: %s", why, record))
}
