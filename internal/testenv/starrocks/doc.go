// Package starrocks is a StarRocks for tests: front ends and nodes in one process, over real HTTP, that take plain Stream Loads and
// transactions, keep the rows, and fail by script.
//
// It was written from StarRocks' manual and sources, not from our client: it reads CSV as csv_reader.cpp does without enclose
// and escape, keeps what is not prepared in a node's memory, and answers with StarRocks' own words. It was never compared with
// a real server.
//
// It is no database: tables are lists of rows, values are texts that have passed their type's check.
package starrocks
