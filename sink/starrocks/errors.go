package starrocks

import (
	"fmt"
	"net/url"
	"strings"
)

// Error tells what of a request went wrong. It is of the class that Unwrap gives.
type Error struct {
	// Op is begin, load, prepare, commit, rollback, stream load or state.
	Op    string
	Label string
	// Node is the host that answered, or did not.
	Node string
	// Status and Message are the server's.
	Status  string
	Message string
	// Lines are the first of the server's error log, where it kept one and the configuration lets rows be seen.
	Lines []string
	class error
}

// Error is one line, and the lines of the error log below it.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of label %s at %s: %v", e.Op, e.Label, e.Node, e.class)
	if e.Status != "" {
		fmt.Fprintf(&b, ": %s", e.Status)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	for _, l := range e.Lines {
		fmt.Fprintf(&b, "\n  %s", l)
	}
	return b.String()
}

// Unwrap is one of package sink's classes.
func (e *Error) Unwrap() error { return e.class }

// fail is an error about a request, of which at is the URL.
func (r request) fail(at string, class error, message string) *Error {
	host := at
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		host = u.Host
	}
	return &Error{Op: r.op, Label: r.label, Node: host, Message: message, class: class}
}
