package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/config/document"
)

// Pattern chooses MySQL databases or tables by name: a glob, a /regular expression/, or a list of those of which one
// must match. Matching is case-sensitive, whatever the server's lower_case_table_names, and _ is an ordinary character.
//
// In a glob * is any text, ? any one character, [abc], [a-z] and [!a-z] one of a set, and \ makes the next character
// ordinary. A glob matches whole names; a regular expression (RE2's syntax) matches anywhere unless it says ^ and $.
//
// The zero Pattern matches nothing.
type Pattern struct {
	written  []string
	isList   bool
	compiled []*regexp.Regexp
}

// ParsePattern compiles globs and /regular expressions/. The error names the first bad one.
func ParsePattern(texts ...string) (Pattern, error) {
	p := Pattern{written: slices.Clone(texts), isList: len(texts) != 1}
	for _, text := range texts {
		compiled, err := compilePattern(text)
		if err != nil {
			return Pattern{}, err
		}
		p.compiled = append(p.compiled, compiled)
	}
	return p, nil
}

// Match reports whether name is chosen.
func (p Pattern) Match(name string) bool {
	return slices.ContainsFunc(p.compiled, func(r *regexp.Regexp) bool { return r.MatchString(name) })
}

// IsZero reports whether no pattern is given.
func (p Pattern) IsZero() bool { return len(p.written) == 0 }

// Texts are the patterns as written.
func (p Pattern) Texts() []string { return slices.Clone(p.written) }

// String is the patterns as written, with commas between them.
func (p Pattern) String() string { return strings.Join(p.written, ", ") }

// MarshalJSON writes the pattern as it was written: text or a list.
func (p Pattern) MarshalJSON() ([]byte, error) { return p.appendJSON(nil), nil }

func (p *Pattern) fromNode(b *binder, n *document.Node, at document.Place, f field) {
	switch n.Kind {
	case document.String, document.Untyped:
		p.written = []string{n.Text}
	case document.List:
		p.isList = true
		for i, item := range n.Items {
			if item.Kind != document.String {
				b.wrongKind(item, at.Item(i), "text")
				continue
			}
			p.written = append(p.written, item.Text)
		}
		if len(n.Items) == 0 && f.required {
			b.problem(n, at, "the list is empty", `give at least one pattern; "*" is all`)
		}
	default:
		b.wrongKind(n, at, "text or a list of text")
		return
	}
	for i, text := range p.written {
		compiled, err := compilePattern(text)
		if err != nil {
			where, item := n, at
			if p.isList && len(p.written) == len(n.Items) {
				where, item = n.Items[i], at.Item(i)
			}
			b.problem(where, item, err.Error(), "")
			continue
		}
		p.compiled = append(p.compiled, compiled)
	}
	if len(p.written) == 0 {
		*p = Pattern{}
	}
}

func (p *Pattern) appendJSON(to []byte) []byte {
	if !p.isList && len(p.written) == 1 {
		return appendText(to, p.written[0])
	}
	to = append(to, '[')
	for i, text := range p.written {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendText(to, text)
	}
	return append(to, ']')
}

func (p *Pattern) jsonSchema(f field) schemaObject {
	list := schemaObject{"type": "array", "items": schemaObject{"type": "string", "minLength": 1}}
	if f.required {
		list["minItems"] = 1
	}
	return schemaObject{"anyOf": []any{schemaObject{"type": "string", "minLength": 1}, list}}
}

func compilePattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, fmt.Errorf("a pattern is empty; %q is all names", "*")
	}
	if strings.HasPrefix(text, "/") {
		body, closed := strings.CutSuffix(text[1:], "/")
		if !closed || body == "" {
			return nil, fmt.Errorf("%q is not a /regular expression/: it begins with / and does not end with one", text)
		}
		compiled, err := regexp.Compile(body)
		if err != nil {
			return nil, fmt.Errorf("%q is not a regular expression: %s", text, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		return compiled, nil
	}
	expression, err := globExpression(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a glob: %w", text, err)
	}
	compiled, err := regexp.Compile(`^(?s:` + expression + `)$`)
	if err != nil {
		return nil, fmt.Errorf("%q is not a glob: %s", text, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return compiled, nil
}

// globExpression is the regular expression of a glob.
func globExpression(glob string) (string, error) {
	var out strings.Builder
	runes := []rune(glob)
	for i := 0; i < len(runes); i++ {
		switch runes[i] {
		case '*':
			out.WriteString(".*")
		case '?':
			out.WriteString(".")
		case '\\':
			if i++; i == len(runes) {
				return "", fmt.Errorf(`\ stands at the end`)
			}
			out.WriteString(regexp.QuoteMeta(string(runes[i])))
		case '[':
			set, used, err := globSet(runes[i+1:])
			if err != nil {
				return "", err
			}
			out.WriteString(set)
			i += used
		default:
			out.WriteString(regexp.QuoteMeta(string(runes[i])))
		}
	}
	return out.String(), nil
}

// globSet is the regular expression of a set, after its opening bracket, and how many characters it takes with the
// closing one.
func globSet(runes []rune) (set string, used int, err error) {
	var out strings.Builder
	out.WriteString("[")
	i := 0
	if i < len(runes) && (runes[i] == '!' || runes[i] == '^') {
		out.WriteString("^")
		i++
	}
	first := i
	for ; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == ']' && i == first:
			return "", 0, fmt.Errorf("a set [] is empty")
		case r == ']':
			out.WriteString("]")
			return out.String(), i + 1, nil
		case r == '\\' && i+1 < len(runes):
			i++
			out.WriteString(escapeInSet(runes[i]))
		case r == '-' && i > first && i+1 < len(runes) && runes[i+1] != ']':
			out.WriteString("-")
		default:
			out.WriteString(escapeInSet(r))
		}
	}
	return "", 0, fmt.Errorf("a set [ is not closed by ]")
}

func escapeInSet(r rune) string {
	if strings.ContainsRune(`\]^-[:&~`, r) {
		return `\` + string(r)
	}
	return string(r)
}
