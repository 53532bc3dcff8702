package message

import (
	"errors"
	"fmt"
)

// DefaultVersion is the serializer version to write when nobody asks for another: that of Paimon 1.4.
const DefaultVersion = 11

var (
	// ErrVersion is returned for a serializer version that is not among [Versions]. Retrying does not help: write with a
	// known version, or read with a newer library.
	ErrVersion = errors.New("unknown version of Paimon's commit message serializer")
	// ErrNewerVersion is an [ErrVersion] for a version above all of [Versions]: the message comes from a later Paimon, and a
	// newer library, or an older version asked of the writer, is the way out.
	ErrNewerVersion = fmt.Errorf("%w, later than all that are known", ErrVersion)
	// ErrCorrupt is returned for bytes that are no commit message of the version. Retrying does not help.
	ErrCorrupt = errors.New("commit message is corrupt")
	// ErrUnrepresentable is returned for a message that holds what the version to write has no place for.
	ErrUnrepresentable = errors.New("commit message does not fit the serializer version")
)

// layout is what differs between versions.
type layout struct {
	version int
	// line names the Paimon releases.
	line string
	// dataFields, indexFields and globalFields are the numbers of fields of DataFileMeta, IndexFileMeta and GlobalIndexMeta.
	dataFields, indexFields, globalFields int
	// totalBuckets tells that the number of buckets follows the bucket.
	totalBuckets bool
	// ownIndexes tells that each increment has its own index files; before, they stood behind both.
	ownIndexes bool
}

func layouts() []layout {
	return []layout{
		{version: 6, line: "1.0", dataFields: 18, indexFields: 5},
		{version: 7, line: "1.2", dataFields: 18, indexFields: 5, totalBuckets: true},
		{version: 10, line: "1.3", dataFields: 20, indexFields: 6, totalBuckets: true, ownIndexes: true},
		{version: 11, line: "1.4", dataFields: 20, indexFields: 7, globalFields: 5, totalBuckets: true, ownIndexes: true},
		{version: 12, line: "2.0", dataFields: 20, indexFields: 7, globalFields: 6, totalBuckets: true, ownIndexes: true},
	}
}

func layoutOf(version int) (layout, error) {
	err := ErrNewerVersion
	for _, l := range layouts() {
		if l.version == version {
			return l, nil
		}
		if version < l.version {
			err = ErrVersion
		}
	}
	return layout{}, fmt.Errorf("%w: %d, known are %v", err, version, Versions())
}

// Versions are the serializer versions that can be read and written, ascending.
func Versions() []int {
	var versions []int
	for _, l := range layouts() {
		versions = append(versions, l.version)
	}
	return versions
}

// Line is the newest Paimon release line that writes the version, such as "1.4" for 11.
func Line(version int) (string, error) {
	l, err := layoutOf(version)
	return l.line, err
}
