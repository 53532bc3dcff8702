//go:build !unix

package temporaldev

import "os"

// tryLock has no counterpart here: the user has to keep two servers off one folder.
func tryLock(*os.File) error { return nil }
