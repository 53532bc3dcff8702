package message

import "github.com/tributary-lake/tributary/lake/manifest"

// Commit is what one writer made for one (partition, bucket) (org.apache.paimon.table.sink.CommitMessageImpl).
type Commit struct {
	// Partition is the serialized BinaryRow of the partition columns with its arity in front; 12 zero bytes when the
	// table has none.
	Partition []byte
	Bucket    int32
	// TotalBuckets is nil for serializer versions before 7, -1 for append tables without buckets.
	TotalBuckets *int32
	Data         DataIncrement
	Compact      CompactIncrement
}

// DataIncrement lists the files that a writer added (org.apache.paimon.io.DataIncrement).
type DataIncrement struct {
	NewFiles, DeletedFiles, ChangelogFiles []manifest.DataFile
	NewIndexFiles, DeletedIndexFiles       []manifest.IndexFile
}

// CompactIncrement lists the files that a compaction replaced and made (org.apache.paimon.io.CompactIncrement).
type CompactIncrement struct {
	Before, After, ChangelogFiles    []manifest.DataFile
	NewIndexFiles, DeletedIndexFiles []manifest.IndexFile
}

// Compacts tells whether the writer compacted data files on the way.
func (m *Commit) Compacts() bool { return !m.Compact.empty() }
