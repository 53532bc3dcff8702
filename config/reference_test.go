package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/config/document"
)

var updatePage = flag.Bool("update", false, "write the tables of docs/job.md anew")

const (
	page  = "../docs/job.md"
	begin = "<!-- what follows is made of the job file's schema: go test ./config -run TestJobPage -update -->\n"
)

// TestJobPage: the page has every key of the job file with its default and its meaning, as the schema has them, and all of its
// examples are job files.
func TestJobPage(t *testing.T) {
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	text, _, found := strings.Cut(string(data), begin)
	require.True(t, found, "the page has lost its mark: %s", begin)
	want := text + begin + strings.TrimRight(reference(reflect.TypeFor[Job](), document.Place{}), "\n") + "\n"
	if *updatePage {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o600))
		data = []byte(want)
	}
	if want != string(data) { // both would be printed whole
		t.Error("the page does not say what the schema says: run go test ./config -run TestJobPage -update")
	}

	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1)
	require.Greater(t, len(examples), 5)
	for _, e := range examples {
		whole := e[1]
		if !strings.HasPrefix(whole, "job:") { // keys of a table, or of the top
			whole = exampleOf(t, whole)
		}
		_, err := ParseJob("example", []byte(whole))
		require.NoError(t, err, whole)
	}
}

// exampleOf completes what an example leaves out.
func exampleOf(t *testing.T, part string) string {
	t.Helper()
	const source = "source: {instances: [{name: a, host: h, user: u, databases: d}]%s}\n"
	const end = "job: j\ntarget: {warehouse: /lake}\n"
	const table = "tables:\n  - name: orders\n    match: \"orders_*\"\n    target: {database: ods}\n"
	if limits, ok := strings.CutPrefix(part, "source: {limits:"); ok {
		return fmt.Sprintf(source, ", limits:"+strings.TrimRight(strings.TrimSpace(limits), "}")+"}") + table + end
	}
	return fmt.Sprintf(source, "") + table + "    " + strings.ReplaceAll(strings.TrimSpace(part), "\n", "\n    ") + "\n" + end
}

// reference is a mapping's table of keys, and those of the mappings in it.
func reference(of reflect.Type, at document.Place) string {
	var own, below strings.Builder
	if at.General == "" {
		fmt.Fprint(&own, "### The file\n\n")
	} else {
		fmt.Fprintf(&own, "### `%s`\n\n", at.General)
	}
	fmt.Fprint(&own, "| key | default | meaning |\n|---|---|---|\n")
	for _, f := range fieldsOf(of) {
		kind := of.Field(f.index).Type
		here := at.Key(f.key)
		schema := fieldSchema(kind, f, here)
		fmt.Fprintf(&own, "| `%s` | %s | %s |\n", f.key, defaultText(schema, f), strings.ReplaceAll(meaning(schema, kind), "|", "\\|"))
		if inner, there := mapping(kind, here); inner != nil {
			below.WriteString(reference(inner, there))
		}
	}
	return own.String() + "\n" + below.String()
}

// mapping is the struct that a value is bound to, nil when it is none.
func mapping(kind reflect.Type, at document.Place) (reflect.Type, document.Place) {
	if kind.Kind() == reflect.Slice {
		kind, at = kind.Elem(), at.Item(0)
	}
	switch kind {
	case reflect.TypeFor[Provenance]():
		return reflect.TypeFor[provenanceKeys](), at
	case reflect.TypeFor[Column]():
		return reflect.TypeFor[columnKeys](), at
	case reflect.TypeFor[time.Duration]():
		return nil, at
	}
	if _, special := reflect.New(kind).Interface().(custom); special || kind.Kind() != reflect.Struct {
		return nil, at
	}
	return kind, at
}

func defaultText(schema schemaObject, f field) string {
	switch value, ok := schema["default"]; {
	case ok:
		return fmt.Sprintf("`%s`", strings.Trim(fmt.Sprintf("%s", value), `"`))
	case f.required:
		return "required"
	}
	return "–"
}

// meaning is a key's description, and the values that it may have where these are few.
func meaning(schema schemaObject, kind reflect.Type) string {
	text := fmt.Sprint(schema["description"])
	value, ok := reflect.New(kind).Interface().(enumerated)
	if !ok {
		return text
	}
	var all []string
	for _, a := range value.allowed() {
		all = append(all, "`"+a+"`")
	}
	return text + " One of " + strings.Join(all, ", ") + "."
}
