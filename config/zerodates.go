package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/tributary-lake/tributary/config/document"
)

// ZeroDates are choices for single columns.
type ZeroDates map[string]ZeroDate

func (z *ZeroDates) fromNode(b *binder, n *document.Node, at document.Place, _ field) {
	if n.Kind != document.Map {
		b.wrongKind(n, at, "a mapping of columns to fail, null or epoch")
		return
	}
	out := ZeroDates{}
	for _, e := range n.Entries {
		here := at.Key(e.Key)
		if message, hint := b.rules["column"].check(e.Key); message != "" {
			b.problem(e.Value, here, message, hint)
			continue
		}
		var choice ZeroDate
		b.bindString(reflect.ValueOf(&choice).Elem(), e.Value, here, field{})
		for other := range out {
			if strings.EqualFold(other, e.Key) {
				b.problem(e.Value, here, fmt.Sprintf("the column %q is there already", other), "MySQL's names have no case")
			}
		}
		out[e.Key] = choice
	}
	if len(out) > 0 {
		*z = out
	}
}

func (z *ZeroDates) appendJSON(to []byte) []byte {
	texts := make(map[string]string, len(*z))
	for column, choice := range *z {
		texts[column] = string(choice)
	}
	return appendTexts(to, texts)
}

func (z *ZeroDates) jsonSchema(field) schemaObject {
	return schemaObject{"type": "object", "additionalProperties": enumSchema(reflect.TypeFor[ZeroDate](), ZeroDateFail)}
}
