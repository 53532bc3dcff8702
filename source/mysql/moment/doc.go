// Package moment opens several connections of one server so that they see the same moment of it, and tells which.
//
// It is given sessions, which it does not open, and gives back a [source.Moment]. It knows nothing of splits, of slots or
// of reading rows.
//
// Three ways lead there:
//   - flush: FLUSH TABLES WITH READ LOCK on a session of its own; then no transaction is committing and none can.
//   - lock_tables: LOCK TABLES … READ of the shards there; then none that wrote to them is under way and none can begin.
//   - position: without any lock, opened again until it is proved that nothing was committed meanwhile.
//
// Invariants:
//   - A lock is waited for no longer than [lockWait], so whoever queues behind it waits no longer, and held no longer than
//     [lockHold]: a server closes the session of a client that falls silent, and with it goes the lock.
//   - On MySQL, where a flush that gives up leaves the tables of long statements closed to everybody until these end, none
//     is tried while such a statement runs.
//   - A moment counts only if the session that holds the lock has lived until all were open.
//   - The position is one that the connections see: all before it, nothing after it, as far as the shards are concerned.
//
// It must agree with the MySQL manual's "FLUSH Statement", "LOCK TABLES and UNLOCK TABLES Statements" and "START
// TRANSACTION", with the order of a group commit (MYSQL_BIN_LOG::ordered_commit: a GTID is owned before the binary log has
// it, and executed after InnoDB shows its rows), and with MariaDB's "Enhancements for START TRANSACTION WITH CONSISTENT
// SNAPSHOT", by which a snapshot knows its position.
package moment
