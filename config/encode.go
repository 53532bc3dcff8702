package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// appendValue appends the canonical JSON of a value: every key with its value, defaults too, in the order of the
// structs. It holds all that a run needs, whatever defaults another release has.
func appendValue(to []byte, v reflect.Value) []byte {
	if !v.CanAddr() {
		addressable := reflect.New(v.Type()).Elem()
		addressable.Set(v)
		v = addressable
	}
	switch value := v.Addr().Interface().(type) {
	case custom:
		return value.appendJSON(to)
	case *time.Duration:
		return appendText(to, durationText(*value))
	case *map[string]string:
		return appendTexts(to, *value)
	}
	switch v.Kind() {
	case reflect.Struct:
		return appendStruct(to, v)
	case reflect.Slice:
		to = append(to, '[')
		for i := range v.Len() {
			if i > 0 {
				to = append(to, ',')
			}
			to = appendValue(to, v.Index(i))
		}
		return append(to, ']')
	case reflect.String:
		return appendText(to, v.String())
	case reflect.Bool:
		return strconv.AppendBool(to, v.Bool())
	default:
		return strconv.AppendInt(to, v.Int(), 10)
	}
}

func appendStruct(to []byte, v reflect.Value) []byte {
	to = append(to, '{')
	first := true
	for _, f := range fieldsOf(v.Type()) {
		value := v.Field(f.index)
		// What is off, and text that is not given, is left out: there may be no way to write it.
		if value.IsZero() && f.fallback == "" && (f.noneWhenZero || value.Kind() == reflect.String || isCustom(value)) {
			continue
		}
		if !first {
			to = append(to, ',')
		}
		first = false
		to = append(appendText(to, f.key), ':')
		to = appendValue(to, value)
	}
	return append(to, '}')
}

func isCustom(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(custom)
	return ok
}

func appendTexts(to []byte, texts map[string]string) []byte {
	to = append(to, '{')
	for i, key := range slices.Sorted(maps.Keys(texts)) {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendText(to, key), ':')
		to = appendText(to, texts[key])
	}
	return append(to, '}')
}

// appendText appends a JSON string. <, > and & stay as they are: this is not HTML, and people read it.
func appendText(to []byte, text string) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		// Text always encodes.
		return append(to, `""`...)
	}
	return append(to, bytes.TrimRight(buffer.Bytes(), "\n")...)
}
