package manifest

import "github.com/tributary-lake/tributary/lake/schema"

// FileSource tells what made a data file (org.apache.paimon.manifest.FileSource).
type FileSource int8

const (
	// SourceAppend marks a file made by a writer.
	SourceAppend FileSource = 0
	// SourceCompact marks a file made by a compaction.
	SourceCompact FileSource = 1
)

// Stats are bounds and null counts of columns (org.apache.paimon.stats.SimpleStats). Min and Max are serialized
// BinaryRows with their arity in front; NullCounts has as many elements, a nil one is unknown.
type Stats struct {
	Min, Max   []byte
	NullCounts []*int64
}

// EmptyStats are the statistics of no column. Its rows are the 12 zero bytes of an empty BinaryRow with arity.
func EmptyStats() Stats {
	return Stats{Min: make([]byte, 12), Max: make([]byte, 12), NullCounts: []*int64{}}
}

// DataFile describes a data file (org.apache.paimon.io.DataFileMeta). Pointers are nil where Paimon keeps null.
type DataFile struct {
	// Name is the bare file name; the folder follows from partition and bucket.
	Name string
	// Size is the exact length in bytes: readers find the Parquet footer by it.
	Size int64
	Rows int64
	// MinKey and MaxKey are serialized BinaryRows of the trimmed primary key; 12 zero bytes for append tables.
	MinKey, MaxKey []byte
	KeyStats       Stats
	ValueStats     Stats
	MinSequence    int64
	MaxSequence    int64
	// SchemaID is the version that the file was written with.
	SchemaID schema.ID
	// Level of the merge tree; 0 for append tables.
	Level      int32
	ExtraFiles []string
	// CreationMillis is the writer's local wall-clock time encoded as if it were UTC.
	CreationMillis *int64
	DeleteRows     *int64
	EmbeddedIndex  []byte
	Source         *FileSource
	// ValueStatsColumns names the columns of ValueStats; nil means all in schema order, empty means none.
	ValueStatsColumns []string
	ExternalPath      *string
	FirstRowID        *int64
	// WriteColumns names the columns of a file that holds only some; nil means all.
	WriteColumns []string
}

// DeletionVector is the place of one data file's deletion vector within an index file (DeletionVectorMeta).
type DeletionVector struct {
	DataFile       string
	Offset, Length int32
	Cardinality    *int64
}

// GlobalIndex is the range of a global index (org.apache.paimon.index.GlobalIndexMeta).
type GlobalIndex struct {
	RowRangeStart, RowRangeEnd int64
	FieldID                    int32
	ExtraFieldIDs              []int32
	Meta                       []byte
	SourceMeta                 []byte
}

// IndexFile describes an index file (org.apache.paimon.index.IndexFileMeta).
type IndexFile struct {
	Type            string
	Name            string
	Size, Rows      int64
	DeletionVectors []DeletionVector // nil where Paimon keeps null
	ExternalPath    *string
	GlobalIndex     *GlobalIndex
}
