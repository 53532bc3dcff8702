// Package document reads a YAML or JSON file into nodes that know their place, so that whoever gives the values their
// meaning can say where a fault is.
//
// It knows no key and no default; package config does. It opens no file. It keeps scalars as they were written: what
// "010" or 1e3 means is the reader's matter.
//
// Invariants:
//   - No input makes it panic, nest without end or take memory beyond a small multiple of [MaxSize]: aliases, brackets and
//     nodes are counted.
//   - A fault never quotes a value, which may be a secret.
//   - A file that is read without a fault has each key of a mapping once.
//   - JSON is read by a JSON reader, so that it means what JSON says.
//
// It agrees with YAML 1.2 as goccy/go-yaml reads it, with merge keys (<<) of YAML 1.1, and with RFC 8259.
package document
