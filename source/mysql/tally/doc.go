// Package tally writes the expression by which MySQL and MariaDB sum rows as package source/tally does, so that the server's
// own word on a split can be compared with what was read of it.
//
// Invariant: a column has a part in it, or there is an error that names it; none is left out. What the server makes of a value
// does not go through its text protocol: a FLOAT is widened before it is printed, a BIT and a geometry are taken as bytes.
//
// Agrees with: 12.13 Encryption and Compression Functions (MD5), 12.6.2 Mathematical Functions (CRC32) and 11.2.2 The DATE,
// DATETIME, and TIMESTAMP Types of the MySQL 8.0 manual.
package tally
