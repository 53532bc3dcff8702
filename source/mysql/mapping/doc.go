// Package mapping says what a column of MySQL or MariaDB becomes in the lake, from its definition and the policies of the
// configuration. It reads no value and knows no server.
//
// Invariants:
//   - The type holds every value that the definition allows, or the loss says which not and what policy decided so, or the
//     reader, which goes by definition and type, fails at the first value that it cannot hold.
//
// It must agree with the MySQL manual's "Data Types" and org.apache.paimon.types.
package mapping
