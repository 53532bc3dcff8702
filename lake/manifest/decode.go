package manifest

import (
	"fmt"
	"math"
	"strings"

	"github.com/tributary-lake/tributary/lake/manifest/avro"
	"github.com/tributary-lake/tributary/lake/schema"
)

// source reads fields of the types that Paimon's records have. Errors stay in the decoder.
type source struct{ *avro.Decoder }

func (d source) long(s *avro.Schema) int64 {
	v, ok := d.Long(s)
	if !ok {
		d.Fail(fmt.Errorf("%w: a number is null", ErrCorrupt))
	}
	return v
}

func (d source) int(s *avro.Schema) int32 {
	v := d.long(s)
	if v < math.MinInt32 || v > math.MaxInt32 {
		d.Fail(fmt.Errorf("%w: %d is no 32-bit number", ErrCorrupt, v))
	}
	return int32(v)
}

func (d source) count(s *avro.Schema) int64 {
	v := d.long(s)
	if v < 0 {
		d.Fail(fmt.Errorf("%w: a size or count of %d", ErrCorrupt, v))
	}
	return v
}

func (d source) bytes(s *avro.Schema) []byte {
	v, ok := d.Bytes(s)
	if !ok {
		d.Fail(fmt.Errorf("%w: a value is null", ErrCorrupt))
	}
	return v
}

func (d source) text(s *avro.Schema) string { return string(d.bytes(s)) }

// name reads a bare file name.
func (d source) name(s *avro.Schema) string {
	v := d.text(s)
	if err := checkName(v); err != nil {
		d.Fail(err)
	}
	return v
}

// checkName refuses what could lead out of the folder that a name belongs to.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return fmt.Errorf("%w: %q is not a bare file name", ErrCorrupt, name)
	}
	return nil
}

func (d source) kind(s *avro.Schema) Kind {
	v := d.long(s)
	if v != int64(Add) && v != int64(Delete) {
		d.Fail(fmt.Errorf("%w: kind %d of an entry; 0 (add) and 1 (delete) are known", ErrCorrupt, v))
	}
	return Kind(v)
}

func (d source) version(s *avro.Schema, want int64) {
	if v := d.long(s); v != want {
		d.Fail(fmt.Errorf("%w: format version %d, only %d can be read", ErrCorrupt, v, want))
	}
}

func (d source) optionalLong(s *avro.Schema) *int64 {
	v, ok := d.Long(s)
	if !ok {
		return nil
	}
	return &v
}

func (d source) optionalInt(s *avro.Schema) *int32 {
	v, ok := d.Long(s)
	if !ok {
		return nil
	}
	if v < math.MinInt32 || v > math.MaxInt32 {
		d.Fail(fmt.Errorf("%w: %d is no 32-bit number", ErrCorrupt, v))
	}
	n := int32(v)
	return &n
}

func (d source) optionalText(s *avro.Schema) *string {
	v, ok := d.Bytes(s)
	if !ok {
		return nil
	}
	t := string(v)
	return &t
}

// optionalBytes gives nil for null and an empty slice for no bytes.
func (d source) optionalBytes(s *avro.Schema) []byte {
	v, ok := d.Bytes(s)
	if ok && v == nil {
		return []byte{}
	}
	return v
}

func (d source) optionalTexts(s *avro.Schema) []string {
	list := []string{}
	if !d.Array(s, func(item *avro.Schema) { list = append(list, d.text(item)) }) {
		return nil
	}
	return list
}

func (d source) stats(s *avro.Schema) (x Stats) {
	d.Record(s, func(name string, f *avro.Schema) {
		switch name {
		case "_MIN_VALUES":
			x.Min = d.bytes(f)
		case "_MAX_VALUES":
			x.Max = d.bytes(f)
		case "_NULL_COUNTS":
			x.NullCounts = []*int64{}
			d.Array(f, func(item *avro.Schema) { x.NullCounts = append(x.NullCounts, d.optionalLong(item)) })
		default:
			d.Skip(f)
		}
	})
	return x
}

func (d source) entry(s *avro.Schema) (e Entry) {
	d.Record(s, func(name string, f *avro.Schema) {
		switch name {
		case "_VERSION":
			d.version(f, formatVersion)
		case "_KIND":
			e.Kind = d.kind(f)
		case "_PARTITION":
			e.Partition = d.bytes(f)
		case "_BUCKET":
			e.Bucket = d.int(f)
		case "_TOTAL_BUCKETS":
			e.TotalBuckets = d.int(f)
		case "_FILE":
			d.Record(f, func(name string, f *avro.Schema) { d.dataFileField(&e.File, name, f) })
		default:
			d.Skip(f)
		}
	})
	if d.Err() == nil && (e.File.Name == "" || e.Partition == nil) {
		d.Fail(fmt.Errorf("%w: an entry without file or partition", ErrCorrupt))
	}
	return e
}

func (d source) dataFileField(x *DataFile, name string, f *avro.Schema) {
	switch name {
	case "_FILE_NAME":
		x.Name = d.name(f)
	case "_FILE_SIZE":
		x.Size = d.count(f)
	case "_ROW_COUNT":
		x.Rows = d.count(f)
	case "_MIN_KEY":
		x.MinKey = d.bytes(f)
	case "_MAX_KEY":
		x.MaxKey = d.bytes(f)
	case "_KEY_STATS":
		x.KeyStats = d.stats(f)
	case "_VALUE_STATS":
		x.ValueStats = d.stats(f)
	case "_MIN_SEQUENCE_NUMBER":
		x.MinSequence = d.long(f)
	case "_MAX_SEQUENCE_NUMBER":
		x.MaxSequence = d.long(f)
	case "_SCHEMA_ID":
		x.SchemaID = schema.ID(d.count(f))
	case "_LEVEL":
		x.Level = d.int(f)
	case "_EXTRA_FILES":
		x.ExtraFiles = d.extraFiles(f)
	default:
		d.optionalDataFileField(x, name, f)
	}
}

// optionalDataFileField reads what releases since 0.8 added.
func (d source) optionalDataFileField(x *DataFile, name string, f *avro.Schema) {
	switch name {
	case "_CREATION_TIME":
		x.CreationMillis = d.optionalLong(f)
	case "_DELETE_ROW_COUNT":
		x.DeleteRows = d.optionalLong(f)
	case "_EMBEDDED_FILE_INDEX":
		x.EmbeddedIndex = d.optionalBytes(f)
	case "_FILE_SOURCE":
		x.Source = d.fileSource(f)
	case "_VALUE_STATS_COLS":
		x.ValueStatsColumns = d.optionalTexts(f)
	case "_EXTERNAL_PATH":
		x.ExternalPath = d.optionalText(f)
	case "_FIRST_ROW_ID":
		x.FirstRowID = d.optionalLong(f)
	case "_WRITE_COLS":
		x.WriteColumns = d.optionalTexts(f)
	default:
		d.Skip(f)
	}
}

func (d source) extraFiles(s *avro.Schema) []string {
	list := []string{}
	d.Array(s, func(item *avro.Schema) { list = append(list, d.name(item)) })
	return list
}

func (d source) fileSource(s *avro.Schema) *FileSource {
	v, ok := d.Long(s)
	if !ok {
		return nil
	}
	if v != int64(SourceAppend) && v != int64(SourceCompact) {
		d.Fail(fmt.Errorf("%w: file source %d", ErrCorrupt, v))
	}
	x := FileSource(v)
	return &x
}

func (d source) fileMeta(s *avro.Schema) (m FileMeta) {
	d.Record(s, func(name string, f *avro.Schema) {
		switch name {
		case "_VERSION":
			d.version(f, formatVersion)
		case "_FILE_NAME":
			m.Name = d.name(f)
		case "_FILE_SIZE":
			m.Size = d.count(f)
		case "_NUM_ADDED_FILES":
			m.Added = d.count(f)
		case "_NUM_DELETED_FILES":
			m.Deleted = d.count(f)
		case "_PARTITION_STATS":
			m.PartitionStats = d.stats(f)
		case "_SCHEMA_ID":
			m.SchemaID = schema.ID(d.count(f))
		case "_MIN_BUCKET":
			m.MinBucket = d.optionalInt(f)
		case "_MAX_BUCKET":
			m.MaxBucket = d.optionalInt(f)
		case "_MIN_LEVEL":
			m.MinLevel = d.optionalInt(f)
		case "_MAX_LEVEL":
			m.MaxLevel = d.optionalInt(f)
		case "_MIN_ROW_ID":
			m.MinRowID = d.optionalLong(f)
		case "_MAX_ROW_ID":
			m.MaxRowID = d.optionalLong(f)
		default:
			d.Skip(f)
		}
	})
	if d.Err() == nil && m.Name == "" {
		d.Fail(fmt.Errorf("%w: a manifest without name", ErrCorrupt))
	}
	return m
}
