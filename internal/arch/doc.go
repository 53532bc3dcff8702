// Package arch holds the law of the repository as tests: which package may import which, how long files and functions
// may be, and what every package must have. It has no other code. docs/architecture.md explains the reasons.
package arch
