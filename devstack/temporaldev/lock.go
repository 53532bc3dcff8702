package temporaldev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrDirInUse is returned by Start when another process runs on the same Options.Dir. Two servers on one database
// would destroy it; stop the other one, or choose another folder.
var ErrDirInUse = errors.New("the folder is in use by another dev server")

const lockFile = "lock"

// dirLock is an advisory lock on a state folder. The operating system gives it up with the process, however that ends.
type dirLock struct{ file *os.File }

func lockDir(dir string) (*dirLock, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the state folder: %w", err)
	}
	if err := tryLock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%w: %s (%w)", ErrDirInUse, dir, err)
	}
	return &dirLock{file: f}, nil
}

func (l *dirLock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("release the state folder: %w", err)
	}
	return nil
}
