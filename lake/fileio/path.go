package fileio

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// ErrPath is returned for a path that is absolute, holds a NUL or a `..`, or names the root where a file is wanted.
var ErrPath = errors.New("path is not allowed")

// CleanFile checks the path of a file and returns its shortest form. Every store applies it to what it is given.
func CleanFile(p string) (string, error) {
	c, err := CleanFolder(p)
	if err != nil {
		return "", err
	}
	if c == "" || strings.HasSuffix(p, "/") {
		return "", fmt.Errorf("%w: %q names no file", ErrPath, p)
	}
	return c, nil
}

// CleanFolder checks the path of a folder and returns its shortest form; the root is "".
func CleanFolder(p string) (string, error) {
	switch {
	case strings.HasPrefix(p, "/"):
		return "", fmt.Errorf("%w: %q is absolute; it must be relative to the store's root", ErrPath, p)
	case strings.IndexByte(p, 0) >= 0:
		return "", fmt.Errorf("%w: %q holds a NUL byte", ErrPath, p)
	}
	for s := range strings.SplitSeq(p, "/") {
		if s == ".." {
			return "", fmt.Errorf("%w: %q leads upwards", ErrPath, p)
		}
	}
	if c := path.Clean(p); c != "." {
		return c, nil
	}
	return "", nil
}

// IsTemporary tells whether the last part of a path is the name of a file in the making, of ours or of Paimon's: it
// starts with a dot and ends in `.tmp`. Such a file is never part of a table.
func IsTemporary(p string) bool {
	name := path.Base(p)
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp")
}
