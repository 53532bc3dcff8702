package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/config/document"
)

// availability says which values of a key this release can carry out.
type availability struct {
	now string // for people
	ok  func(value, fallback string) bool
}

// only makes these values available.
func only(values ...string) availability {
	return availability{strings.Join(values, ", "), func(value, _ string) bool { return slices.Contains(values, value) }}
}

// onlyDefault makes nothing but the default available.
func onlyDefault() availability {
	return availability{"", func(value, fallback string) bool { return value == fallback }}
}

// fixedBuckets makes fixed numbers of buckets available.
func fixedBuckets() availability {
	return availability{"-1 without primary_key; 1 and more with it, or with bucket-key among the options", func(value, _ string) bool {
		return value == "-1" || value != "0" && !strings.HasPrefix(value, "-")
	}}
}

// notYetRules lists every key whose values are not all available yet. A key that is not here is available whole; work
// that makes one available removes its line.
func notYetRules() map[string]availability {
	return map[string]availability{
		"tables[].mode":               only("full-refresh", "append", "incremental"),
		"tables[].overwrite":          only("table"),
		"tables[].consistency":        only("run", "split", "shard", "instance"),
		"tables[].cdc.interval":       onlyDefault(),
		"tables[].cdc.rows":           onlyDefault(),
		"tables[].cdc.bytes":          onlyDefault(),
		"tables[].cdc.schema_change":  onlyDefault(),
		"tables[].cdc.consistent_cut": onlyDefault(),
		"tables[].target.bucket":      fixedBuckets(),
		"target.type":                 only("paimon"),
		"target.catalog.type":         only("filesystem"),
		"target.other_writers":        only("false"),
		"run.consistency":             only("split", "shard", "instance"),
	}
}

// checkAvailable reports a value that this release cannot carry out.
func (b *binder) checkAvailable(v reflect.Value, n *document.Node, at document.Place, f field) {
	rule, listed := b.later[at.General]
	if !listed {
		return
	}
	value := canonicalText(v)
	fallback := reflect.New(v.Type()).Elem()
	setDefault(fallback, f)
	if rule.ok(value, canonicalText(fallback)) {
		return
	}
	hint := "remove the key"
	if rule.now != "" {
		hint = "available: " + rule.now
	} else if f.fallback != "" {
		hint = "available: " + f.fallback
	}
	message := "not available yet"
	if len(value) <= 60 {
		message = fmt.Sprintf("%s is not available yet", value)
	}
	p := Problem{File: n.Origin, Path: at.Path, Message: message, Hint: hint, NotYet: true}
	if n.Origin == "" {
		p.Line, p.Column = n.Line, n.Column
	}
	b.add(p)
}

// canonicalText is a value's canonical JSON, text without its quotes.
func canonicalText(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return v.String()
	}
	text := string(appendValue(nil, v))
	if len(text) >= 2 && text[0] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}
