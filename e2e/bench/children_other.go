//go:build !linux

package main

import "syscall"

// dieWithParent does nothing: the benchmark refuses to run here, and only compiling matters.
func dieWithParent(*syscall.SysProcAttr) {}
