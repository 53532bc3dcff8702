// Package tally counts and sums rows in a form that a source's own server can compute too, so that what a server says of a
// split and what was read of it can be compared.
//
// Each value has a text, the same whatever holds it; a row's number is made of the CRC-32 of its values' texts; the sum of the
// rows' numbers does not depend on their order. Provenance columns have no part in it, as no source gave their values; a column that
// a shard lacks is NULL.
//
// Invariants: rows that differ in one value differ in their number but for one chance in 2^32; a NULL is no text; a row that
// comes twice counts twice. It is not against anybody who means to deceive. The texts of numbers with a floating point are
// those that MySQL prints: see my_gcvt in the server's dtoa.c.
package tally
