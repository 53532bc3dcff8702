// Package filereader reads a table's data files, Parquet of this project, of Paimon and of other writers, into column
// batches.
//
// A [Reader] reads one file's columns, each brought to the type that is asked for; those of nested types are put together
// from their leaves into Paimon's binary form. It knows pages of both versions, all encodings but the dead BIT_PACKED and all
// codecs but LZO. Which files a snapshot has, and what a column, or a field of a ROW, was called when a file was written, is the
// caller's matter. It shares no code with package datafile, which writes, so that each is a test of the other.
//
// What holds for every file:
//   - Footer and pages are not trusted: lengths are checked before memory is taken, checksums where there are any, and a
//     file of another size than recorded is corrupt.
//   - A value is as the file has it, or is converted without loss, or the read fails. Only digits of a timestamp that the
//     type asked for has not are cut off.
//   - A nested value is as deep as the type asked for, and takes no more memory than a page may.
//   - Rows come in the file's order.
//
// It must agree with org.apache.paimon.format.parquet.ParquetReaderFactory, with Parquet's Encodings.md and
// LogicalTypes.md, and with Paimon's schema evolution (org.apache.paimon.casting.CastExecutors) where that loses nothing.
package filereader
