package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tributary-lake/tributary/lake/schema"
)

// ErrCorrupt is returned for metadata that contradicts itself or the format. Reading again does not help.
var ErrCorrupt = errors.New("corrupt table metadata")

// Kind tells whether an entry adds or deletes a file (org.apache.paimon.manifest.FileKind).
type Kind int8

const (
	// Add makes a file part of the table.
	Add Kind = 0
	// Delete takes a file out of the table. The file itself stays until the snapshots that show it expire.
	Delete Kind = 1
)

// Entry is a change of one data file (org.apache.paimon.manifest.ManifestEntry).
type Entry struct {
	Kind Kind
	// Partition is the serialized BinaryRow of the partition columns with its arity in front.
	Partition []byte
	Bucket    int32
	// TotalBuckets is the number of buckets when the file was written, -1 for append tables without buckets.
	TotalBuckets int32
	File         DataFile
}

// Identity is what makes two entries speak of the same file: a Delete takes out the Add of equal identity
// (FileEntry.Identifier). It is meant as a key for maps.
func (e *Entry) Identity() string {
	f := &e.File
	b := make([]byte, 0, len(e.Partition)+len(f.Name)+len(f.EmbeddedIndex)+24)
	b = appendPart(b, e.Partition)
	b = binary.AppendVarint(b, int64(e.Bucket))
	b = binary.AppendVarint(b, int64(f.Level))
	b = appendPart(b, f.Name)
	b = binary.AppendUvarint(b, uint64(len(f.ExtraFiles)))
	for _, x := range f.ExtraFiles {
		b = appendPart(b, x)
	}
	if f.EmbeddedIndex != nil {
		b = appendPart(append(b, 1), f.EmbeddedIndex)
	} else {
		b = append(b, 0)
	}
	if f.ExternalPath != nil {
		b = appendPart(append(b, 1), *f.ExternalPath)
	} else {
		b = append(b, 0)
	}
	return string(b)
}

func appendPart[T ~[]byte | ~string](b []byte, part T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

// MergeEntries cancels each Delete with the Add before it and keeps the order of the rest, unmatched Deletes included.
// Adding a file that is there already gives ErrCorrupt (FileEntry.mergeEntries).
func MergeEntries(entries []Entry) ([]Entry, error) {
	at := make(map[string]int, len(entries))
	gone := make([]bool, len(entries))
	left := 0
	for i := range entries {
		id := entries[i].Identity()
		before, known := at[id]
		switch {
		case entries[i].Kind == Add && known:
			return nil, fmt.Errorf("%w: file %s is added twice, or again after its deletion", ErrCorrupt, entries[i].File.Name)
		case known && entries[before].Kind == Add:
			gone[before], gone[i] = true, true
			delete(at, id)
			left--
		case known:
			return nil, fmt.Errorf("%w: file %s is deleted twice", ErrCorrupt, entries[i].File.Name)
		default:
			at[id] = i
			left++
		}
	}
	merged := make([]Entry, 0, left)
	for i := range entries {
		if !gone[i] {
			merged = append(merged, entries[i])
		}
	}
	return merged, nil
}

// FileMeta describes a manifest within a manifest list (org.apache.paimon.manifest.ManifestFileMeta). Pointers are nil
// where Paimon keeps null, which means unknown.
type FileMeta struct {
	Name string
	Size int64
	// Added and Deleted count the entries of each kind. A reader that looks for one kind skips manifests without it.
	Added, Deleted int64
	// PartitionStats are full bounds of all partition columns.
	PartitionStats Stats
	// SchemaID is the highest schema id of the entries.
	SchemaID             schema.ID
	MinBucket, MaxBucket *int32
	MinLevel, MaxLevel   *int32
	MinRowID, MaxRowID   *int64
}

// IndexEntry is one live index file within an index manifest (org.apache.paimon.manifest.IndexManifestEntry).
type IndexEntry struct {
	Kind      Kind
	Partition []byte
	Bucket    int32
	File      IndexFile
}
