package manifest

import "github.com/tributary-lake/tributary/lake/manifest/avro"

// appendEntry encodes an entry by entrySchema.
func appendEntry(b []byte, e *Entry) []byte {
	b = avro.AppendLong(b, formatVersion)
	b = avro.AppendLong(b, int64(e.Kind))
	b = avro.AppendBytes(b, e.Partition)
	b = avro.AppendLong(b, int64(e.Bucket))
	b = avro.AppendLong(b, int64(e.TotalBuckets))
	f := &e.File
	b = avro.AppendBytes(b, f.Name)
	b = avro.AppendLong(b, f.Size)
	b = avro.AppendLong(b, f.Rows)
	b = avro.AppendBytes(b, f.MinKey)
	b = avro.AppendBytes(b, f.MaxKey)
	b = appendStats(b, &f.KeyStats)
	b = appendStats(b, &f.ValueStats)
	b = avro.AppendLong(b, f.MinSequence)
	b = avro.AppendLong(b, f.MaxSequence)
	b = avro.AppendLong(b, int64(f.SchemaID))
	b = avro.AppendLong(b, int64(f.Level))
	b = avro.AppendArray(b, f.ExtraFiles, avro.AppendBytes[string])
	b = appendOptional(b, f.CreationMillis)
	b = appendOptional(b, f.DeleteRows)
	if f.EmbeddedIndex == nil {
		b = avro.AppendNull(b)
	} else {
		b = avro.AppendBytes(avro.AppendSome(b), f.EmbeddedIndex)
	}
	b = appendOptional(b, f.Source)
	b = appendNames(b, f.ValueStatsColumns)
	if f.ExternalPath == nil {
		b = avro.AppendNull(b)
	} else {
		b = avro.AppendBytes(avro.AppendSome(b), *f.ExternalPath)
	}
	b = appendOptional(b, f.FirstRowID)
	return appendNames(b, f.WriteColumns)
}

// appendStats never writes null counts as null: Java's readers do not expect it, though the schema allows it.
func appendStats(b []byte, s *Stats) []byte {
	b = avro.AppendBytes(b, s.Min)
	b = avro.AppendBytes(b, s.Max)
	b = avro.AppendSome(b)
	return avro.AppendArray(b, s.NullCounts, appendOptional[int64])
}

func appendOptional[T ~int8 | ~int32 | ~int64](b []byte, v *T) []byte {
	if v == nil {
		return avro.AppendNull(b)
	}
	return avro.AppendLong(avro.AppendSome(b), int64(*v))
}

// appendNames encodes an optional list: nil is null, empty is empty.
func appendNames(b []byte, names []string) []byte {
	if names == nil {
		return avro.AppendNull(b)
	}
	return avro.AppendArray(avro.AppendSome(b), names, avro.AppendBytes[string])
}

// appendFileMeta encodes a manifest's description by listSchema.
func appendFileMeta(b []byte, m *FileMeta) []byte {
	b = avro.AppendLong(b, formatVersion)
	b = avro.AppendBytes(b, m.Name)
	b = avro.AppendLong(b, m.Size)
	b = avro.AppendLong(b, m.Added)
	b = avro.AppendLong(b, m.Deleted)
	b = appendStats(b, &m.PartitionStats)
	b = avro.AppendLong(b, int64(m.SchemaID))
	for _, v := range []*int32{m.MinBucket, m.MaxBucket, m.MinLevel, m.MaxLevel} {
		b = appendOptional(b, v)
	}
	b = appendOptional(b, m.MinRowID)
	return appendOptional(b, m.MaxRowID)
}
