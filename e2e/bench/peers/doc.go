// Package peers runs other tools on the benchmark's tables: Apache Spark and Apache Flink, both reading over JDBC and writing
// a Paimon append table, with two threads and a heap of 2 GB. They are those whose releases lie whole in package registries.
//
// Both read a view, for what a column of MySQL is in their eyes: TIME comes as text, BIT and YEAR as numbers, since neither
// keeps them otherwise. Everything else is as their documentation tells: twenty ranges of the key a shard, a server's cursor
// of 5,000 rows (Spark's JDBC data source, Flink's JDBC connector, Paimon's pages for Spark and Flink).
package peers
