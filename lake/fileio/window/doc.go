// Package window reads a file of a remote store at any place in pieces that are worth a request.
//
// Readers of columnar files ask for few bytes at a time and come back for the next ones soon. A [Reader] fetches a window around
// small reads, and keeps those that were used last.
//
// It knows no store: fetching is a function that it is given. It never reads beyond the size that it was told.
package window
