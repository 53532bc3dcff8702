package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one fault of a job file or of a settings file.
type Problem struct {
	// File is the name of the file as the caller gave it, or where else the value came from ("environment NAME",
	// "flag --name"). It is empty for input without a name, such as a workflow's input.
	File string
	// Line and Column count from 1; both are 0 when the value has no place in a file.
	Line, Column int
	// Path is the key with its parents: tables[0].mode.
	Path string
	// Message says what is wrong. It never holds the text of a secret.
	Message string
	// Hint says what to do, where that is not plain from the message.
	Hint string
	// NotYet marks a value that is valid, but that this release cannot carry out.
	NotYet bool
}

// String is the problem on one line: file:line:column: path: message; hint.
func (p Problem) String() string {
	var s strings.Builder
	if p.File != "" {
		s.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&s, ":%d:%d", p.Line, p.Column)
		}
		s.WriteString(": ")
	}
	if p.Path != "" {
		s.WriteString(p.Path + ": ")
	}
	s.WriteString(p.Message)
	if p.Hint != "" {
		s.WriteString("; " + p.Hint)
	}
	return oneLine(s.String())
}

// Problems are all faults of one file, in the order of the file. As an error it prints one a line.
type Problems []Problem

// Error is one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// OnlyNotYet reports whether the file is valid and merely asks for what this release cannot do.
func (p Problems) OnlyNotYet() bool {
	for i := range p {
		if !p[i].NotYet {
			return false
		}
	}
	return len(p) > 0
}

// sorted orders problems by place, so that a reader walks through the file once.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return p
}

// oneLine keeps a message on its line whatever was quoted in it.
func oneLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\x00", `\0`).Replace(s)
}

// nearest is the candidate closest to word by edit distance, or "" when none is close enough to be meant.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", len(word)/3+2
	for _, c := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if strings.EqualFold(strings.ReplaceAll(word, "-", "_"), c) {
			d = 0
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the single-character edits, exchanges of neighbours among them, that make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return 64
	}
	var older []int
	previous := make([]int, len(y)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(x); i++ {
		current := make([]int, len(y)+1)
		current[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				current[j] = min(current[j], older[j-2]+1)
			}
		}
		older, previous = previous, current
	}
	return previous[len(y)]
}

// didYouMean is the hint for an unknown word, or the list of what is known.
func didYouMean(word string, known []string) string {
	if n := nearest(word, known); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return "known: " + strings.Join(known, ", ")
}
