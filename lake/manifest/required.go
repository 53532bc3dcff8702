package manifest

import (
	"fmt"

	"github.com/tributary-lake/tributary/lake/manifest/avro"
)

// shape names the fields that every release of Paimon writes into a record. Without one of them a record would seem to have
// a zero there: an entry another bucket, a deletion to be an addition.
type shape []required

type required struct {
	name string
	// within is the shape of the record that a field holds.
	within shape
}

// The shapes of the records of metadata files. Releases since 0.8 added fields, which are not here.
func entryShape() shape {
	file := append(fields("_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_MIN_KEY", "_MAX_KEY", "_MIN_SEQUENCE_NUMBER", "_MAX_SEQUENCE_NUMBER",
		"_SCHEMA_ID", "_LEVEL", "_EXTRA_FILES"), required{"_KEY_STATS", statsShape()}, required{"_VALUE_STATS", statsShape()})
	return append(fields("_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS"), required{"_FILE", file})
}

func listShape() shape {
	return append(fields("_VERSION", "_FILE_NAME", "_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES", "_SCHEMA_ID"),
		required{"_PARTITION_STATS", statsShape()})
}

// indexShape leaves the ranges of deletion vectors out, since they have had two names: see source.indexEntry.
func indexShape() shape {
	return fields("_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_INDEX_TYPE", "_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT")
}

func statsShape() shape { return fields("_MIN_VALUES", "_MAX_VALUES", "_NULL_COUNTS") }

func fields(names ...string) shape {
	var s shape
	for _, name := range names {
		s = append(s, required{name: name})
	}
	return s
}

// check tells which field is missing in the records of a schema, if any is.
func (want shape) check(s *avro.Schema) error {
	if s.Kind == avro.Union {
		for _, b := range s.Branches {
			if b.Kind == avro.Record {
				return want.check(b)
			}
		}
	}
	for _, r := range want {
		var found *avro.Schema
		for i := range s.Fields {
			if s.Fields[i].Name == r.name {
				found = s.Fields[i].Schema
			}
		}
		if found == nil {
			return fmt.Errorf("%w: its records have no field %s", ErrCorrupt, r.name)
		}
		if err := r.within.check(found); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}
