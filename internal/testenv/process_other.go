//go:build !linux

package testenv

import "syscall"

// dieWithParent does nothing: the servers are Linux builds, and only compiling matters elsewhere.
func dieWithParent(*syscall.SysProcAttr) {}
