// Package deletion reads deletion vectors: which rows of a data file do not count any more, by their positions in the file.
//
// [Read] reads an index file of the type DELETION_VECTORS, in its form of 32-bit and of 64-bit positions, and gives a
// [Vector] for each data file. It writes none, and finds none: which index files a snapshot has is what its index manifest
// says (package manifest), and dropping the rows is the matter of whoever reads the data file.
//
// What holds:
//   - Nothing read is trusted: places, lengths, checksums and counts must be what the manifest and the file say of each other,
//     and the memory taken is that of the file.
//   - A vector does not change, and may be asked from several goroutines.
//
// It must agree with org.apache.paimon.deletionvectors.DeletionVectorsIndexFile, BitmapDeletionVector and
// Bitmap64DeletionVector.
package deletion
