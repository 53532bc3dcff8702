package manifest

import (
	"fmt"

	"github.com/tributary-lake/tributary/lake/manifest/avro"
)

func (d source) indexEntry(s *avro.Schema) (e IndexEntry) {
	d.Record(s, func(name string, f *avro.Schema) {
		switch name {
		case "_VERSION":
			d.version(f, indexFormatVersion)
		case "_KIND":
			e.Kind = d.kind(f)
		case "_PARTITION":
			e.Partition = d.bytes(f)
		case "_BUCKET":
			e.Bucket = d.int(f)
		case "_INDEX_TYPE":
			e.File.Type = d.text(f)
		case "_FILE_NAME":
			e.File.Name = d.name(f)
		case "_FILE_SIZE":
			e.File.Size = d.count(f)
		case "_ROW_COUNT":
			e.File.Rows = d.count(f)
		case "_DELETIONS_VECTORS_RANGES", "_DELETION_VECTORS_RANGES":
			e.File.DeletionVectors = d.deletionVectors(f)
		case "_EXTERNAL_PATH":
			e.File.ExternalPath = d.optionalText(f)
		case "_GLOBAL_INDEX":
			e.File.GlobalIndex = d.globalIndex(f)
		default:
			d.Skip(f)
		}
	})
	if d.Err() == nil && e.File.Name == "" {
		d.Fail(fmt.Errorf("%w: an index file without name", ErrCorrupt))
	}
	return e
}

func (d source) deletionVectors(s *avro.Schema) []DeletionVector {
	list := []DeletionVector{}
	ok := d.Array(s, func(item *avro.Schema) {
		var v DeletionVector
		found := d.Record(item, func(name string, f *avro.Schema) {
			switch name {
			case "f0":
				v.DataFile = d.name(f)
			case "f1":
				v.Offset = d.int(f)
			case "f2":
				v.Length = d.int(f)
			case "_CARDINALITY":
				v.Cardinality = d.optionalLong(f)
			default:
				d.Skip(f)
			}
		})
		if found && v.DataFile == "" && d.Err() == nil {
			d.Fail(fmt.Errorf("%w: a deletion vector without data file", ErrCorrupt))
		}
		if found {
			list = append(list, v)
		}
	})
	if !ok {
		return nil
	}
	return list
}

func (d source) globalIndex(s *avro.Schema) *GlobalIndex {
	var x GlobalIndex
	ok := d.Record(s, func(name string, f *avro.Schema) {
		switch name {
		case "_ROW_RANGE_START":
			x.RowRangeStart = d.long(f)
		case "_ROW_RANGE_END":
			x.RowRangeEnd = d.long(f)
		case "_INDEX_FIELD_ID":
			x.FieldID = d.int(f)
		case "_EXTRA_FIELD_IDS":
			x.ExtraFieldIDs = d.optionalInts(f)
		case "_INDEX_META":
			x.Meta = d.optionalBytes(f)
		case "_SOURCE_META":
			x.SourceMeta = d.optionalBytes(f)
		default:
			d.Skip(f)
		}
	})
	if !ok {
		return nil
	}
	return &x
}

func (d source) optionalInts(s *avro.Schema) []int32 {
	list := []int32{}
	if !d.Array(s, func(item *avro.Schema) { list = append(list, d.int(item)) }) {
		return nil
	}
	return list
}
