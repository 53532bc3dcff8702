// Package demoshards runs a sharded MySQL shop in this process, for a demonstration that needs nothing installed.
//
// Two server instances, a and b, hold two databases each (shop_0 and shop_1, shop_2 and shop_3), and every database
// holds the tables orders_0 and orders_1: eight shards of one logical table of orders. The rows are the same on every
// start, ids repeat across shards as auto-increment ids do, and Instance says how many rows there are and what their
// amounts sum up to, computed apart from the database.
//
// It is not MySQL and no measure of correctness or speed: the engine is go-mysql-server's, in memory, without a binary
// log, and its inserts into a keyed table are quadratic, so the tables stay small. Columns with a fraction of a second
// are left out on purpose, because the engine drops fractions in the binary protocol. The account may only read, as a
// source account should.
//
// Every listener is bound to 127.0.0.1.
package demoshards
