// Package userlock shares an instance among all processes that read it, by the user locks of the instance itself
// (GET_LOCK): slots of connections, a turn among those that wait for one, and a line that paces rows.
//
// It opens no connection and reads no row. There is no other coordinator: a lock is gone with the connection that holds it.
//
// Invariants:
//   - No more connections have a slot than there are slots; who has more to take than one takes them in one turn.
//   - The turn and the line are handed on in the order of asking.
//
// It must agree with the MySQL manual's "Locking Functions".
package userlock
