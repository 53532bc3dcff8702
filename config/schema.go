package config

import (
	"encoding/json"
	"math"
	"reflect"
	"time"

	"github.com/tributary-lake/tributary/config/document"
)

// schemaObject is a JSON Schema.
type schemaObject map[string]any

// JSONSchema is the JSON Schema (draft 2020-12) of the job file, for editors. It says all that can be said of one value
// at a time; what needs more than one (names that are there twice, files that are missing) only ParseJob finds. A value
// that this release cannot carry out yet is valid in it, and its description says so.
func JSONSchema() []byte {
	schema := structSchema(reflect.TypeFor[Job](), document.Place{})
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Tributary job file"
	out, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		// The schema is maps, lists, text and numbers, which always encode.
		return nil
	}
	return append(out, '\n')
}

func structSchema(t reflect.Type, at document.Place) schemaObject {
	properties := schemaObject{}
	var required []string
	for _, f := range fieldsOf(t) {
		properties[f.key] = fieldSchema(t.Field(f.index).Type, f, at.Key(f.key))
		if f.required {
			required = append(required, f.key)
		}
	}
	schema := schemaObject{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// fieldSchema is a value's schema with its description and default.
func fieldSchema(t reflect.Type, f field, at document.Place) schemaObject {
	schema := schemaOf(t, f, at)
	if f.noneWhenZero {
		required := schema["required"]
		delete(schema, "required")
		schema["anyOf"] = []any{schemaObject{"maxProperties": 0}, schemaObject{"required": required}}
	}
	schema["description"] = f.doc
	if later, ok := notYetRules()[at.General]; ok {
		available := later.now
		if available == "" {
			available = "the default"
		}
		schema["description"] = f.doc + " Available now: " + available + "."
	}
	if f.fallback != "" {
		value := reflect.New(t).Elem()
		setDefault(value, f)
		schema["default"] = json.RawMessage(appendValue(nil, value))
	}
	return schema
}

// schemaOf is a value's bare schema.
func schemaOf(t reflect.Type, f field, at document.Place) schemaObject {
	switch value := reflect.New(t).Interface().(type) {
	case custom:
		return value.jsonSchema(f)
	case enumerated:
		return enumSchema(t, value)
	case *time.Duration:
		return schemaObject{"type": "string", "pattern": durationPattern}
	case *map[string]string:
		return schemaObject{"type": "object", "additionalProperties": schemaObject{"type": []any{"string", "number", "boolean"}}}
	}
	return plainSchema(t, f, at)
}

// plainSchema is the schema of a type that has no form of its own.
func plainSchema(t reflect.Type, f field, at document.Place) schemaObject {
	switch t.Kind() { //nolint:exhaustive // what is left are the integers: fields hold no other kinds
	case reflect.Struct:
		return structSchema(t, at)
	case reflect.Slice:
		item := f
		item.required = true
		schema := schemaObject{"type": "array", "items": schemaOf(t.Elem(), item, at.Item(0))}
		if f.required {
			schema["minItems"] = 1
		}
		return schema
	case reflect.String:
		return textSchema(f)
	case reflect.Bool:
		return schemaObject{"type": "boolean"}
	}
	schema := schemaObject{"type": "integer"}
	if f.minimum != math.MinInt64 {
		schema["minimum"] = f.minimum
	}
	if f.maximum != math.MaxInt64 {
		schema["maximum"] = f.maximum
	}
	return schema
}

func enumSchema(t reflect.Type, value enumerated) schemaObject {
	var allowed []any
	for _, text := range value.allowed() {
		if t.Kind() == reflect.String {
			allowed = append(allowed, text)
		} else {
			allowed = append(allowed, json.Number(text))
		}
		switch text {
		case "null":
			allowed = append(allowed, nil)
		case "true", "false":
			allowed = append(allowed, text == "true")
		}
	}
	return schemaObject{"enum": allowed}
}

func textSchema(f field) schemaObject {
	schema := schemaObject{"type": "string"}
	r := rules()[f.rule]
	if r.pattern == "" {
		return schema
	}
	schema["pattern"] = r.pattern
	if !f.required {
		schema["pattern"] = "^$|" + r.pattern
	}
	if r.longest > 0 {
		schema["maxLength"] = r.longest
	}
	return schema
}
