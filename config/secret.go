package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tributary-lake/tributary/config/document"
	"github.com/tributary-lake/tributary/config/mask"
)

const (
	secretPattern = `^\$\{(env:[A-Za-z_][A-Za-z0-9_]*|file:/[^}\x00]+)\}$`
	// maxSecretFile bounds a secret's file: a path to something else must not fill memory.
	maxSecretFile = 64 << 10
)

var secretShape = regexp.MustCompile(secretPattern)

// ErrSecret is in every error of Resolve: a reference cannot be followed where it was tried. Setting the variable or the
// file and trying again may help; nothing else does.
var ErrSecret = errors.New("secret cannot be resolved")

// Secret is a reference to a secret, ${env:NAME} or ${file:/path}. It never holds the secret's value, so it can be
// printed, stored and sent freely. The zero Secret refers to nothing and resolves to "".
type Secret struct {
	reference string
}

// ParseSecret reads a reference. The error does not quote text that is none: it may be a password.
func ParseSecret(reference string) (Secret, error) {
	if !secretShape.MatchString(reference) {
		return Secret{}, errors.New(secretHelp)
	}
	return Secret{reference}, nil
}

const (
	secretMessage = "a secret cannot stand here itself"
	secretHint    = "write a reference, ${env:NAME} or ${file:/path}, and put the secret there"
	secretHelp    = secretMessage + "; " + secretHint
)

// String is the reference.
func (s Secret) String() string { return s.reference }

// IsZero reports whether there is no reference.
func (s Secret) IsZero() bool { return s.reference == "" }

// MarshalJSON writes the reference.
func (s Secret) MarshalJSON() ([]byte, error) { return s.appendJSON(nil), nil }

// Resolve is the secret's value: the variable's, or the file's without one newline at its end. A variable or file that
// is missing or empty is an error that wraps ErrSecret and names the reference.
func (s Secret) Resolve(ctx context.Context) (string, error) {
	if s.IsZero() {
		return "", nil
	}
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("resolve %s: %w", s.reference, err)
	}
	body := strings.TrimSuffix(strings.TrimPrefix(s.reference, "${"), "}")
	if name, ok := strings.CutPrefix(body, "env:"); ok {
		value, set := os.LookupEnv(name)
		if !set {
			return "", fmt.Errorf("%w: %s: the environment variable is not set in this process; set it where the worker runs", ErrSecret, s.reference)
		}
		if value == "" {
			return "", fmt.Errorf("%w: %s: the environment variable is empty", ErrSecret, s.reference)
		}
		return value, nil
	}
	return s.readFile(strings.TrimPrefix(body, "file:"))
}

func (s Secret) readFile(path string) (string, error) {
	data, err := readLimited(path, maxSecretFile)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w; the worker must be able to read it", ErrSecret, s.reference, err)
	}
	if len(data) > maxSecretFile {
		return "", fmt.Errorf("%w: %s: the file has more than %d bytes", ErrSecret, s.reference, maxSecretFile)
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	data = bytes.TrimSuffix(data, []byte("\r"))
	if len(data) == 0 {
		return "", fmt.Errorf("%w: %s: the file is empty", ErrSecret, s.reference)
	}
	return string(data), nil
}

func (s *Secret) fromNode(b *binder, n *document.Node, at document.Place, _ field) {
	if n.Kind == document.List || n.Kind == document.Map {
		b.wrongKind(n, at, "a reference")
		return
	}
	parsed, err := ParseSecret(n.Text)
	if err != nil {
		b.problem(n, at, secretMessage, secretHint)
		return
	}
	*s = parsed
}

func (s *Secret) appendJSON(to []byte) []byte { return appendText(to, s.reference) }

func (s *Secret) jsonSchema(field) schemaObject {
	return schemaObject{"type": "string", "pattern": secretPattern}
}

// Masker replaces resolved secrets in text by ***, as [mask] says. It is for everything that leaves a process: logs, errors,
// progress. The zero Masker is ready; it may be used from many goroutines.
type Masker struct {
	mu      sync.RWMutex
	secrets []string
	hidden  *mask.Set
}

// Resolve resolves a secret and masks it from then on.
func (m *Masker) Resolve(ctx context.Context, secret Secret) (string, error) {
	value, err := secret.Resolve(ctx)
	if err != nil {
		return "", err
	}
	m.Add(value)
	return value, nil
}

// Add masks these secrets from now on, also in the forms that they take in URLs, JSON and quoted text. Empty ones are
// ignored.
func (m *Masker) Add(secrets ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, secret := range secrets {
		if !slices.Contains(m.secrets, secret) {
			m.secrets = append(m.secrets, secret)
		}
	}
	m.hidden = mask.Of(m.secrets)
}

// Mask is text with every secret replaced.
func (m *Masker) Mask(text string) string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.hidden.Hide(text)
}

// Error is err with a masked message; errors.Is and errors.As still see what it wraps. It is nil for nil.
func (m *Masker) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	masked := m.Mask(text)
	if masked == text {
		return err
	}
	return &maskedError{masked, err}
}

// Writer masks what is written to it before it goes on to w. Each Write is masked by itself, as loggers write: whole
// lines.
func (m *Masker) Writer(w io.Writer) io.Writer { return &maskingWriter{m, w} }

type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }

// Format keeps every verb, %+v and %#v too, from printing what is wrapped.
func (e *maskedError) Format(f fmt.State, verb rune) {
	text := e.text
	if verb == 'q' {
		text = strconv.Quote(text)
	}
	// A formatter has nobody to tell that its output could not be written.
	_, _ = io.WriteString(f, text)
}

type maskingWriter struct {
	masker *Masker
	to     io.Writer
}

func (w *maskingWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, w.masker.Mask(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
