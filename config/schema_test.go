package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/config/document"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("job.schema.json", document))
	schema, err := compiler.Compile("job.schema.json")
	require.NoError(t, err)
	return schema
}

// instanceOf is a YAML file as a schema validator sees it.
func instanceOf(t *testing.T, data []byte) any {
	t.Helper()
	var decoded any
	require.NoError(t, yaml.Unmarshal(data, &decoded))
	converted, err := json.Marshal(decoded)
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(converted))
	require.NoError(t, err)
	return instance
}

func TestJSONSchema_IsDraft2020(t *testing.T) {
	var document map[string]any
	require.NoError(t, json.Unmarshal(JSONSchema(), &document))
	require.Equal(t, "https://json-schema.org/draft/2020-12/schema", document["$schema"])
	require.Equal(t, JSONSchema(), JSONSchema(), "the schema is the same each time")
}

func TestJSONSchema_AcceptsWhatParses(t *testing.T) {
	schema := compiledSchema(t)
	files, err := filepath.Glob("../examples/*.yaml")
	require.NoError(t, err)
	jsons, err := filepath.Glob("../examples/*.json")
	require.NoError(t, err)
	files = append(files, append(jsons, "testdata/contract.yaml")...)
	require.Greater(t, len(files), 3)
	for _, file := range files {
		if filepath.Base(file) == "worker.yaml" {
			continue
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, schema.Validate(instanceOf(t, data)), file)
		job, err := ParseJob(file, data)
		require.NoError(t, err)
		canonical, err := job.JSON()
		require.NoError(t, err)
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(canonical))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(instance), "canonical form of %s", file)
	}
}

// What is not available yet is valid: an editor must not mark what a later release takes.
func TestJSONSchema_AcceptsNotYet(t *testing.T) {
	schema := compiledSchema(t)
	for key, c := range notYetCases() {
		require.NoError(t, schema.Validate(instanceOf(t, []byte(edited(t, c.from, c.to)))), key)
	}
}

func TestJSONSchema_RefusesStructuralFaults(t *testing.T) {
	schema := compiledSchema(t)
	structural := 0
	for _, f := range faults() {
		if !f.structural {
			continue
		}
		structural++
		t.Run(f.name, func(t *testing.T) {
			require.Error(t, schema.Validate(instanceOf(t, []byte(edited(t, f.from, f.to)))))
		})
	}
	require.Greater(t, structural, 25)
}

// Every key has a description, every default is what its own rules take, and every rule that is named exists.
func TestFields_AreSound(t *testing.T) {
	var walk func(t *testing.T, typ reflect.Type, at document.Place)
	walk = func(t *testing.T, typ reflect.Type, at document.Place) {
		for _, f := range fieldsOf(typ) {
			here := at.Key(f.key)
			require.NotEmpty(t, f.doc, here.Path)
			inner := typ.Field(f.index).Type
			if f.rule != "" {
				require.Contains(t, rules(), f.rule, here.Path)
			}
			value := reflect.New(inner).Elem()
			if f.fallback != "" {
				r := &report{}
				newBinder(r, nil).bindValue(value, &document.Node{Kind: document.Untyped, Text: f.fallback}, here, f)
				require.Empty(t, r.problems, here.Path)
			} else {
				_, isEnum := value.Interface().(enumerated)
				require.False(t, isEnum, "%s needs a default", here.Path)
			}
			if inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct && len(fieldsOf(inner)) > 0 {
				walk(t, inner, here)
			}
		}
	}
	walk(t, reflect.TypeFor[Job](), document.Place{})
	walk(t, reflect.TypeFor[Worker](), document.Place{})
}

// Every key of the list of what is not available is a key of the job file.
func TestNotYetRules_NameKeys(t *testing.T) {
	for key := range notYetRules() {
		require.Contains(t, string(JSONSchema()), "Available now: ", key)
		require.True(t, schemaHas(t, key), "%s is no key", key)
	}
}

func schemaHas(t *testing.T, key string) bool {
	t.Helper()
	found := false
	var walk func(typ reflect.Type, at document.Place)
	walk = func(typ reflect.Type, at document.Place) {
		for _, f := range fieldsOf(typ) {
			here := at.Key(f.key)
			found = found || here.General == key
			inner := typ.Field(f.index).Type
			if inner.Kind() == reflect.Slice {
				inner, here = inner.Elem(), here.Item(0)
			}
			if inner.Kind() == reflect.Struct {
				walk(inner, here)
			}
		}
	}
	walk(reflect.TypeFor[Job](), document.Place{})
	return found
}
