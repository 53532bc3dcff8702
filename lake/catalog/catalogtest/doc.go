// Package catalogtest is the suite that every catalog.Catalog must pass.
//
// A catalog's own tests call [Run] with a way to make an empty one. It is for tests only.
package catalogtest
