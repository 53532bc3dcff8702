// Package wire reads the rows of a SELECT from an authenticated connection into column batches: packets, the three
// commands of a prepared statement, and the decoding of its binary rows.
//
// It neither dials nor logs in, and knows nothing of shards' discovery, of splits or of SQL: it is given a statement and
// the outputs that its columns fill. It is not a client library.
//
// Invariants:
//   - Values go straight from the packet into the batch's vectors: no allocation and no interface per cell.
//   - A value arrives as it is, or the read fails, or a policy that the output names replaces it and counts it. What a
//     column cannot hold in every case is refused before the first row.
//   - No input makes it panic or take memory beyond the size that a packet announces and really has.
//   - A connection is called clean only when all that the server had to say was read.
//
// It must agree with the MySQL manual's "Data Types" and "Binary Protocol Resultset", and with MariaDB's "Result Set
// Packets" where that differs (cached metadata, uuid and inet types).
package wire
