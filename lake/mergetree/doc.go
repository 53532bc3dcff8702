// Package mergetree makes and merges the files of primary-key tables: rows sorted by key, of which one remains per key.
//
// A [Spec] is what a table's schema says of keys and merging. Rows travel as batches of [Spec.Fields]: sequence number, row
// kind, then the table's columns. A [Source] is a stream of such batches in merge order: by the trimmed primary key in the
// key's order, then by the columns of `sequence.field`, then by sequence number, then a row that takes away before one that
// adds. A [Sorter] makes a source of rows in any order within a memory budget, [Merge] one of several, and a [Writer] puts
// one into data files. Sorted runs on a store ([RunWriter], [OpenRun]) carry sources from one process to another.
//
// Which files a bucket has, how they are read, and what is committed is the caller's matter: whoever reads a file hands its
// rows in as a source. Compaction is a merge and a writer; choosing its files is not done here.
//
// Invariants: a data file has each key once, in order, and says of its keys, sequence numbers and deleted rows what is true,
// since readers plan by that; what Paimon's merge functions would do and this package does not is refused by [SpecOf], never
// done otherwise; memory held is bounded by what was asked for, except that one row must always fit; a run that is cut off
// or changed is an error.
//
// It must agree with org.apache.paimon.KeyValue, org.apache.paimon.mergetree.MergeTreeWriter and SortBufferWriteBuffer,
// org.apache.paimon.mergetree.compact.ReducerMergeFunctionWrapper, DeduplicateMergeFunction, FirstRowMergeFunction and
// PartialUpdateMergeFunction, org.apache.paimon.utils.UserDefinedSeqComparator, and org.apache.paimon.io.KeyValueDataFileWriter.
package mergetree
