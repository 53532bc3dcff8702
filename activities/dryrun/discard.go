package dryrun

import (
	"context"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// discard is a store that keeps nothing: what a plan encodes to see how large it gets.
type discard struct{}

func (discard) URI(path string) string { return "discard:///" + path }
func (discard) Exclusive() bool        { return false }

func (discard) Open(context.Context, string) (fileio.Reader, error) { return nil, fileio.ErrNotExist }

func (discard) Create(context.Context, string) (fileio.Writer, error) { return discarded{}, nil }

func (discard) CreateExclusive(context.Context, string, []byte) error { return nil }

func (discard) Stat(context.Context, string) (fileio.Info, error) {
	return fileio.Info{}, fileio.ErrNotExist
}

func (discard) List(context.Context, string, func(fileio.Info) error) error { return nil }
func (discard) Delete(context.Context, string) error                        { return nil }

// discarded is a file that keeps nothing.
type discarded struct{}

func (discarded) Write(p []byte) (int, error) { return len(p), nil }
func (discarded) Close() error                { return nil }
func (discarded) Abort() error                { return nil }
