// Package starrocks loads rows into StarRocks by Stream Load, over HTTP.
//
// A unit's rows go into one transaction under a label of its own: begin, loads, prepare. What is prepared is a [sink.Part],
// which [Client.Commit] makes visible and [Client.RollBack] gives up, each as often as one likes. [Client.Put] loads a body in
// one request, where a label alone must do. Package encode makes the bodies, package ddl the tables.
//
// Invariants:
//   - A reply that is lost, late or no reply at all is never taken for a no. Only the label's state tells, and where it does
//     not, nothing is sent again.
//   - A body is sent twice under a label only where the server said that it took nothing of it.
//   - No row counts that the server does not confirm: what is prepared holds as many rows as were sent, none filtered.
//   - No error holds a password, and none holds rows unless the configuration says so.
//
// A front end (FE) answers with the address of the node (BE) that does the work. Both hops are made here: net/http would drop
// the account on the way and the body too. A BE that is gone takes what is not prepared with it.
//
// It must agree with StarRocks' "STREAM LOAD" and "Stream Load transaction interface" pages, and with LoadAction.java,
// TransactionLoadAction.java, stream_load.cpp and transaction_mgr.cpp of its sources.
package starrocks
