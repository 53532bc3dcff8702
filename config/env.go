package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/viper"

	"github.com/tributary-lake/tributary/config/document"
)

// envPrefix begins every variable that overrides a key.
const envPrefix = "TRIBUTARY_"

// scalarPaths are the keys outside lists and mappings that hold one value, which a variable or flag can override.
func scalarPaths(t reflect.Type) []string {
	var out []string
	for _, f := range fieldsOf(t) {
		inner := t.Field(f.index).Type
		_, isCustom := reflect.New(inner).Interface().(custom)
		switch {
		case inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map:
		case inner.Kind() == reflect.Struct && !isCustom:
			for _, path := range scalarPaths(inner) {
				out = append(out, f.key+"."+path)
			}
		default:
			out = append(out, f.key)
		}
	}
	return out
}

// variable is the environment variable of a key: run.parallelism is TRIBUTARY_RUN_PARALLELISM.
func variable(path string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// override sets the keys of root, a file of type t, whose variables are set. An empty variable counts as not set.
func override(r *report, root *document.Node, t reflect.Type) error {
	v := viper.New()
	for _, path := range scalarPaths(t) {
		name := variable(path)
		if err := v.BindEnv(path, name); err != nil {
			return fmt.Errorf("bind environment variable %s: %w", name, err)
		}
		if v.IsSet(path) {
			root.Set(strings.Split(path, "."), &document.Node{Kind: document.Untyped, Text: v.GetString(path), Origin: "environment " + name})
		}
	}
	strayVariables(r)
	return nil
}

// strayVariables reports variables that look like one of ours and are none: a typing error would otherwise go unseen.
// Others, such as those that secrets refer to, are the user's own.
func strayVariables(r *report) {
	var known []string
	for _, t := range []reflect.Type{reflect.TypeFor[Job](), reflect.TypeFor[Worker]()} {
		for _, path := range scalarPaths(t) {
			known = append(known, variable(path))
		}
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) {
			continue
		}
		for _, candidate := range known {
			if distance(name, candidate) <= 2 {
				r.add(Problem{File: "environment " + name, Message: "overrides no key", Hint: "did you mean " + candidate + "?"})
				break
			}
		}
	}
}
