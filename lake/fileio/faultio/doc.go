// Package faultio makes a store fail on purpose: at the operation that a test chooses, before it is done, after it is
// done, or never answering.
//
// A sweep numbers the operations of a piece of work and breaks the k-th for every k; what then lies in the store must
// always be the old state or the new one. It is for tests only and keeps no data of its own.
package faultio
