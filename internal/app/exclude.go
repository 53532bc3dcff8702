package app

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/config"
)

// exclusion takes tables out and remembers which of its patterns did.
type exclusion struct {
	texts    []string
	patterns []config.Pattern

	mu   sync.Mutex
	used []bool
}

func newExclusion(p config.Pattern) (*exclusion, error) {
	e := &exclusion{texts: p.Texts()}
	for _, text := range e.texts {
		one, err := config.ParsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("%w: exclude: %w", activities.ErrConfig, err)
		}
		e.patterns = append(e.patterns, one)
	}
	e.used = make([]bool, len(e.patterns))
	return e, nil
}

// match tells whether a table that is matched otherwise is left out. Instances are asked at the same time.
func (e *exclusion) match(table string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := false
	for i, p := range e.patterns {
		if p.Match(table) {
			e.used[i], out = true, true
		}
	}
	return out
}

// notes name the patterns that took nothing out: it may be a slip, and rows are read that nobody wanted.
func (e *exclusion) notes() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var idle []string
	for i, used := range e.used {
		if !used {
			idle = append(idle, fmt.Sprintf("%q", e.texts[i]))
		}
	}
	if len(idle) == 0 {
		return nil
	}
	return []string{"exclude: " + strings.Join(idle, ", ") + " takes out none of the matching tables; it is compared with a table's name without its database"}
}
