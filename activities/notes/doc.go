// Package notes says in sentences what a person should know of a plan or of a result: how shards differ, which are left out,
// what is read at one moment and what that costs.
//
// It is pure. Lists that may be long are cut, and say so.
package notes
