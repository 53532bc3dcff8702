// Package temporaldev runs a whole Temporal in this process: the four services of the server on SQLite, and the web UI.
//
// It is for demonstrations, development and tests on one machine. It is not for production: one history shard, no
// authentication, no encryption, and a schema that is never migrated.
//
// Invariants:
//   - every listener is bound to 127.0.0.1, and nothing calls home (no version check, no news, no release look-up);
//   - nothing here ends the process: what the server calls fatal is reported by Server.Failed;
//   - a database file is used only if its marker file says that this server version finished making it. A process
//     killed in the middle of schema set-up, and another version, both leave a database without such a marker, and it
//     is made anew;
//   - a state directory belongs to one server at a time. The server's SQLite plugin keeps its connection open until
//     the process ends, so a database that was removed behind its back is made anew only by another process.
//
// The settings that make SQLite fast enough (write-ahead log, one connection, poll rates) are in openStore and
// dynamicValues, each with its reason.
package temporaldev
