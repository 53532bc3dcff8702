// Package testenv installs, starts and ends the real servers and judges that tests talk to: MariaDB, MySQL 5.7 and
// MySQL 8.0, a small Java program over Apache Paimon's own library, and a reader of Paimon tables in Rust.
//
// A test asks for what it needs and gets it ready to use, or fails with the command that helps:
//
//	db := testenv.Start(t, testenv.FlavorMySQL80)          // a server of its own, gone after the test
//	db := testenv.Shared(t, testenv.FlavorMariaDB)         // one server for the whole test binary
//	rows := testenv.Referee(t).Read(t, warehouse, "db.orders", 0)
//	rows := testenv.RefereeOf(t, "1.0.1").Read(t, warehouse, "db.orders", 0) // an older Paimon's word
//
// Nothing has to be prepared on a Debian machine with Go, JDK 17, Maven, Node with npm, Python 3 and git; Debian packages need
// root or a password-less sudo. What is fetched or built stays in $TRIBUTARY_CACHE (default: tributary in the user's
// cache directory), under file locks, so that many test binaries may ask at once.
//
// Invariants:
//   - Servers listen on 127.0.0.1 only, and write only to their own directory.
//   - Only processes that this package started are signalled: its own children, or for a server that was left running
//     on purpose the process whose number and start time both match the pid file.
//   - A server does not outlive the process that started it, however that process ends, unless [Detached] says so.
//   - Nothing is ever skipped: a missing tool is a failure that names the remedy.
//
// It is not part of the product: only tests, benchmarks and developers' commands import it. The MySQL builds are for
// tests only. Settings follow the MySQL reference manual, "Replication and Binary Logging Options".
package testenv
