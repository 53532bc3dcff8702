// Package verifypage prints what comparisons found, for people. It knows their results and no command.
package verifypage
