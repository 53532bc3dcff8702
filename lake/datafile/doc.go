// Package datafile writes a table's data files: Parquet, encoded straight from column batches.
//
// A [Writer] makes one file, a [RollingWriter] a series of them with their [manifest.DataFile] records. Which rows belong
// into a file, and what is done with the records, is the caller's matter. Files are read by package filereader, which shares
// nothing with this one but the format.
//
// Pages are encoded here and not by a Parquet library, because the values of a [row.Vector] already lie as PLAIN encoding
// wants them: a page is a copy, its statistics are taken in one pass, and the memory held is known to the byte. From
// parquet-go come the Thrift structs of page headers and footer. Two of them are declared again in this package
// ([format.SchemaElement] and [format.FileMetaData]): the library drops a field id of 0, with which Paimon's ids begin.
//
// A nested column (ARRAY, MAP, MULTISET, ROW) lies in a batch in Paimon's binary form. A shredder takes its values apart into
// the leaves of Parquet's schema, each with definition and repetition levels, and a leaf then goes the way of a flat column.
//
// What holds for every file:
//   - encodings are PLAIN and dictionary only, decimals of up to 18 digits are INT32 or INT64: Paimon 1.2 to 1.4 read wrong
//     bytes from DELTA_LENGTH_BYTE_ARRAY, Paimon 1.0 reads wrong decimals from fixed-length ones;
//   - pages are version 1 with a CRC, definition levels are RLE;
//   - a bound of a column chunk is exact and ordered as Parquet's logical type says, or it is not there: fixed-length
//     decimals are compared as signed numbers, a column with a NaN has none, long strings, bytes and INT96 have none;
//   - nested columns have no statistics in the manifest, as Paimon's have none;
//   - a zstd page is an ordinary zstd frame, at level 1 often one without matches (see appendLiterals);
//   - no file is empty.
//
// It must agree with org.apache.paimon.format.parquet.ParquetSchemaConverter, ParquetRowDataWriter,
// ParquetSimpleStatsExtractor, org.apache.paimon.statistics.TruncateSimpleColStatsCollector and
// org.apache.paimon.append.AppendOnlyWriter.
package datafile
