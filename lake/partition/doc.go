// Package partition names the directories of partitions, byte for byte as Paimon's Java readers rebuild them from a
// partition's BinaryRow. A directory that differs in one byte is one that no reader finds.
//
// It is pure and makes no directories. The directory does not tell everything: null, "" and blank strings share one, and
// are different partitions all the same, as their rows differ.
//
// FLOAT and DOUBLE follow Java's toString since release 19 (shortest digits that read back the same). Older releases print
// some values with a digit more (2.66897824E13 for 2.6689782E13); there is no one right name for those, so
// [github.com/tributary-lake/tributary/lake/schema.CheckWritable] refuses such partition keys.
//
// It must agree with org.apache.paimon.utils.InternalRowPartitionComputer, PartitionPathUtils, the casts to STRING in
// org.apache.paimon.casting, and the toString methods of Java's Double, Float and LocalDateTime.
package partition
