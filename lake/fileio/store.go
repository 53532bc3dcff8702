package fileio

import (
	"context"
	"errors"
	"io"
	"time"
)

var (
	// ErrNotExist is returned when a path names no file.
	ErrNotExist = errors.New("file does not exist")
	// ErrExist is returned by CreateExclusive when the path is taken by a file with other content.
	ErrExist = errors.New("file exists")
)

// Info describes a file.
type Info struct {
	// Path is relative to the store's root.
	Path string
	// Size in bytes.
	Size int64
	// Modified is the time of the last change as the store keeps it.
	Modified time.Time
}

// Store is a tree of files below one root. Methods may be called at the same time. Paths use slashes, are relative to the
// root, and are cleaned; one that leaves the root is an error.
type Store interface {
	// URI returns the full address of a path, such as file:///lake/ods.db/orders; URI("") is the root.
	URI(path string) string
	// Exclusive tells whether CreateExclusive lets exactly one of several racing writers win.
	Exclusive() bool

	// Open opens a file for reading. A missing one gives ErrNotExist.
	Open(ctx context.Context, path string) (Reader, error)
	// Create starts a file, replacing any of that name. It appears under its name, whole, when Close returns nil, and not
	// before. Folders are made as needed.
	Create(ctx context.Context, path string) (Writer, error)
	// CreateExclusive writes a small file in one step if the path is free. It gives ErrExist when the path holds other
	// bytes, nil when it holds exactly these (a lost reply is a success), and any other error when the outcome is unknown.
	CreateExclusive(ctx context.Context, path string, data []byte) error
	// Stat describes a file. A missing one, or a folder, gives ErrNotExist.
	Stat(ctx context.Context, path string) (Info, error)
	// List calls fn for every file below a folder, at any depth, in no order. A missing folder has no files. An error of fn
	// ends the listing and is returned.
	List(ctx context.Context, folder string, fn func(Info) error) error
	// Delete removes a file. A missing one is no error.
	Delete(ctx context.Context, path string) error
}

// Reader reads a file at any place. Its methods may be called at the same time.
type Reader interface {
	io.ReaderAt
	io.Closer
	// Size of the file in bytes.
	Size() int64
}

// Writer writes a file from its start to its end.
type Writer interface {
	io.Writer
	// Close makes the file visible and durable. After an error the file is not there, or whole.
	Close() error
	// Abort gives the file up: nothing stays under its name. It does nothing after Close.
	Abort() error
}
