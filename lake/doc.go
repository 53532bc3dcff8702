// Package lake is a Paimon table as one sees it from outside: [Table] to write data files, to commit them and to read
// rows back. It is a library of its own and knows neither where rows come from nor what runs it.
//
// Written are append tables with and without buckets, and key tables with a fixed number of buckets, all with or without
// partitions; what else a table's options may ask for is refused by schema.CheckWritable. A [Writer] makes files and commit
// messages and nothing becomes visible; one commit makes the files of any number of writers visible at once. Of a bucket of
// a key table, only one writer may be at work at a time: rows of one key are ordered by the numbers that it gives them.
//
// A [Plan] chooses what a scan has to read, by partition, bucket and statistics, and divides it into splits that can be read
// apart; [Table.Scan] reads all of them. Rows are merged and filtered exactly, whatever was left out. Where files and
// snapshot do not agree, reading is an error: no row is lost silently.
//
// Memory is bounded whatever rows come: files open at once are few, and rows that wait for theirs, or are being sorted by key,
// go to disk beyond a budget.
//
// It must agree with org.apache.paimon.table.AppendOnlyFileStoreTable, PrimaryKeyFileStoreTable, BatchTableWrite and
// InnerTableScan, and with org.apache.paimon.table.source.MergeTreeSplitGenerator.
package lake
