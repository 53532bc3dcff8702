// Package flink has Apache Flink read, write and maintain the tables that package lake makes, and lake go on with what
// Flink left. It has tests alone, and a Java program that runs SQL statements on a Flink cluster of its own.
//
// Flink is what most Paimon tables live with, and what it does to a table it does by other paths than Paimon's own
// library does in the referee: procedures that are jobs, writers that compact on the way, file names of its own.
//
// It is no part of make test, for the jars of Flink take 220 MB: make test-all runs it.
package flink
