// Command testenv installs, starts and ends by hand what tests get by themselves from internal/testenv: database servers
// and the judges of tables.
//
// It holds nothing but the words of the command line, and it is for developers: no part of the product runs it.
package main
