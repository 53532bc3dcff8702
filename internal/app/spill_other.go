//go:build !unix

package app

import (
	"errors"
	"os"
)

// lock tells that it cannot tell: folders of workers that were killed stay.
func lock(*os.File) error { return errors.ErrUnsupported }
