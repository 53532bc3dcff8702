package starrocks

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Column of a table, its type as CREATE TABLE has it.
type Column struct {
	Name    string
	Type    string
	NotNull bool
}

// Value is what a query would print, or NULL. VARBINARY is its bytes.
type Value struct {
	Text string
	Null bool
}

type table struct {
	columns []Column
	keys    []string
	comment string
	rows    [][]Value
}

func (t *table) add(rows [][]Value) { t.rows = append(t.rows, rows...) }

// visible keeps the last row of each key.
func (t *table) visible() [][]Value {
	if len(t.keys) == 0 {
		return append([][]Value{}, t.rows...)
	}
	at, kept := map[string]int{}, [][]Value{}
	for _, r := range t.rows {
		var key strings.Builder
		for i, c := range t.columns {
			for _, k := range t.keys {
				if strings.EqualFold(k, c.Name) {
					fmt.Fprintf(&key, "%d:%s", len(r[i].Text), r[i].Text)
				}
			}
		}
		if i, ok := at[key.String()]; ok {
			kept[i] = r
			continue
		}
		at[key.String()] = len(kept)
		kept = append(kept, r)
	}
	return kept
}

var typeText = regexp.MustCompile(`^([A-Z]+)(?:\((\d+)(?:,\s*(\d+))?\))?$`)

// cast makes a text a value of a column's type, as a load in strict mode does. ok is false where it cannot.
func cast(typ, text string) (value string, ok bool) {
	m := typeText.FindStringSubmatch(strings.ToUpper(typ))
	if m == nil {
		return "", false
	}
	n, _ := strconv.Atoi(m[2])
	scale, _ := strconv.Atoi(m[3])
	switch m[1] {
	case "BOOLEAN":
		b, err := strconv.ParseBool(text)
		return map[bool]string{true: "1", false: "0"}[b], err == nil
	case "TINYINT", "SMALLINT", "INT", "BIGINT":
		bits := map[string]int{"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}[m[1]]
		i, err := strconv.ParseInt(text, 10, bits)
		return strconv.FormatInt(i, 10), err == nil
	case "LARGEINT":
		i, fine := new(big.Int).SetString(text, 10)
		return text, fine && i.BitLen() < 128
	case "FLOAT":
		f, err := strconv.ParseFloat(text, 32)
		return strconv.FormatFloat(f, 'g', -1, 32), err == nil
	case "DOUBLE":
		f, err := strconv.ParseFloat(text, 64)
		return strconv.FormatFloat(f, 'g', -1, 64), err == nil
	case "DECIMAL":
		return decimal(text, n, scale)
	case "DATE":
		d, err := time.Parse(time.DateOnly, text)
		return d.Format(time.DateOnly), err == nil
	case "DATETIME":
		d, err := time.Parse("2006-01-02 15:04:05.999999", text)
		return d.Format("2006-01-02 15:04:05.000000"), err == nil
	case "CHAR", "VARCHAR":
		return text, len(text) <= max(n, 1)
	case "STRING":
		return text, len(text) <= 65533
	}
	return "", false
}

func decimal(text string, precision, scale int) (string, bool) {
	r, ok := new(big.Rat).SetString(text)
	if !ok || strings.ContainsAny(text, "/eE") {
		return "", false
	}
	value := r.FloatString(scale)
	back, _ := new(big.Rat).SetString(value)
	digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(value), "0")
	return value, back.Cmp(r) == 0 && len(digits) <= precision
}

// binary is VARBINARY from CSV: base64, or the text itself where it is none.
func binary(typ, text string) (string, bool) {
	m := typeText.FindStringSubmatch(strings.ToUpper(typ))
	n, _ := strconv.Atoi(m[2])
	if n == 0 {
		n = 1 << 20
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		data = []byte(text)
	}
	return string(data), len(data) <= n
}

func isBinary(typ string) bool {
	return strings.HasPrefix(strings.ToUpper(typ), "VARBINARY") || strings.HasPrefix(strings.ToUpper(typ), "BINARY")
}
