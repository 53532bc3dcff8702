// Package row holds rows on their way through memory: typed column batches that are reused, single values, and
// Paimon's BinaryRow bytes for keys, partitions and statistics.
//
// A [Batch] is a set of [Vector]s of equal length. A vector keeps its values in the layout that Parquet's PLAIN
// encoding wants, so that writing a column without nulls is a copy. No cell is ever boxed in an interface.
//
// Beside the batches stand single [Value]s. [AppendBinary] and [Serialize] turn them into BinaryRow bytes, [Deserialize]
// reads those, [Compare] orders them as Paimon's readers do, and [Text] prints them and [ParseText] reads that; [Builder] and
// [Section] serve structures that are no row of values. A nested value is its binary form in memory too, in a batch and out
// of it: [AppendArray] and [AppendMap] make one, [ReadArray] and [ReadMap] look into it. Memory and BinaryRow differ in units, and only this package
// converts: a timestamp of 4 to 6 digits is microseconds here and milliseconds with nanoseconds there, a decimal of more
// than 18 digits has a fixed width here and as few bytes as possible there.
//
// Invariants: BinaryRow bytes are canonical, since Paimon compares and hashes them (padding is zero, short strings sit in
// their slot, negative integers are not sign-extended into it, null decimals and timestamps keep their place); decoding
// takes any bytes and answers with an error, never a panic.
//
// It must agree with org.apache.paimon.data.BinaryRow, BinaryRowWriter, BinaryArray, BinaryMap and Decimal.
package row
