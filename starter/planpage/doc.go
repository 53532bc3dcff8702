// Package planpage prints what a run would do, for people. It knows plans and no command.
package planpage
