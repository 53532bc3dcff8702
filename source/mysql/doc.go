// Package mysql is the source for MySQL and MariaDB servers: it finds shards, maps their columns to lake types, cuts
// splits and streams rows into column batches.
//
// Rows are read with the binary protocol of prepared statements by package wire, on connections that go-sql-driver/mysql
// opened and authenticated. A connection goes back to its pool only when the server's answer was read to its end; else
// it is closed.
//
// Invariants:
//   - A value arrives as it is, or the read fails, or a policy that the configuration names replaces it and counts it.
//   - Every session runs with time_zone '+00:00', utf8mb4 and an empty sql_mode; an instance that refuses them is not read.
//   - Bounds are compared by the server alone. Integer arithmetic on them is exact over all 64 bits.
//   - No error and no log line holds a password.
//   - No more than [Config].Connections connections plan or read on an instance at a time, over all processes. The
//     instance keeps count, by user locks: slots of connections, a turn among those that wait, a line that paces rows.
//   - A statement that is cancelled is ended at the server too.
//
// It is not a client library, knows nothing of binlogs, and writes nothing to a server.
//
// It must agree with the MySQL manual's "Data Types" and "Binary Protocol Resultset", and with MariaDB's "Result Set
// Packets" where that differs (cached metadata, uuid and inet types).
package mysql
