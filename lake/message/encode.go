package message

import (
	"encoding/binary"
	"fmt"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
)

// Encode returns the bytes that Paimon's serializer of the version writes for the message. Version 6 has no place for the
// number of buckets, and readers of it do not miss it; anything else without a place is [ErrUnrepresentable].
func Encode(version int, m *Commit) ([]byte, error) {
	l, err := layoutOf(version)
	if err != nil {
		return nil, err
	}
	if err := l.fits(m); err != nil {
		return nil, err
	}
	e := encoder{layout: l}
	e.int32(int32(len(m.Partition)))
	e.buf = append(e.buf, m.Partition...)
	e.int32(m.Bucket)
	if l.totalBuckets {
		e.totalBuckets(m.TotalBuckets)
	}
	e.dataFiles(m.Data.NewFiles, m.Data.DeletedFiles, m.Data.ChangelogFiles)
	if l.ownIndexes {
		e.indexFiles(m.Data.NewIndexFiles, m.Data.DeletedIndexFiles)
	}
	e.dataFiles(m.Compact.Before, m.Compact.After, m.Compact.ChangelogFiles)
	if !l.ownIndexes && m.Compact.empty() {
		e.indexFiles(m.Data.NewIndexFiles, m.Data.DeletedIndexFiles)
	} else {
		e.indexFiles(m.Compact.NewIndexFiles, m.Compact.DeletedIndexFiles)
	}
	return e.buf, nil
}

// empty tells whether a compaction did nothing to data files; then older versions' index files belong to the writer.
func (c *CompactIncrement) empty() bool {
	return len(c.Before)+len(c.After)+len(c.ChangelogFiles) == 0
}

type encoder struct {
	layout
	buf []byte
}

func (e *encoder) int32(v int32) { e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(v)) }

func (e *encoder) totalBuckets(n *int32) {
	if n == nil {
		e.buf = append(e.buf, 0)
		return
	}
	e.buf = append(e.buf, 1)
	e.int32(*n)
}

func (e *encoder) dataFiles(lists ...[]manifest.DataFile) {
	for _, files := range lists {
		e.int32(int32(len(files)))
		for i := range files {
			e.row(e.dataFile(&files[i]))
		}
	}
}

func (e *encoder) indexFiles(lists ...[]manifest.IndexFile) {
	for _, files := range lists {
		e.int32(int32(len(files)))
		for i := range files {
			e.row(e.indexFile(&files[i]))
		}
	}
}

// row writes a row without arity, its size in front.
func (e *encoder) row(r []byte) {
	e.int32(int32(len(r)))
	e.buf = append(e.buf, r...)
}

// dataFile is the row of org.apache.paimon.io.DataFileMeta, its fields in their order.
func (e *encoder) dataFile(f *manifest.DataFile) []byte {
	b := newFields(e.dataFields)
	b.string(f.Name)
	b.int64(f.Size)
	b.int64(f.Rows)
	b.bytes(f.MinKey)
	b.bytes(f.MaxKey)
	b.nested(stats(f.KeyStats))
	b.nested(stats(f.ValueStats))
	b.int64(f.MinSequence)
	b.int64(f.MaxSequence)
	b.int64(int64(f.SchemaID))
	b.int32(f.Level)
	b.nested(stringArray(f.ExtraFiles))
	b.optionalInt64(f.CreationMillis)
	b.optionalInt64(f.DeleteRows)
	b.optionalBytes(f.EmbeddedIndex)
	b.source(f.Source)
	b.optionalStrings(f.ValueStatsColumns)
	b.optionalString(f.ExternalPath)
	if e.dataFields >= 20 {
		b.optionalInt64(f.FirstRowID)
		b.optionalStrings(f.WriteColumns)
	}
	return b.Bytes()
}

// indexFile is the row of org.apache.paimon.index.IndexFileMeta.
func (e *encoder) indexFile(f *manifest.IndexFile) []byte {
	b := newFields(e.indexFields)
	b.string(f.Type)
	b.string(f.Name)
	b.int64(f.Size)
	b.int64(f.Rows)
	if f.DeletionVectors == nil {
		b.null()
	} else {
		b.nested(deletionVectors(f.DeletionVectors))
	}
	if e.indexFields >= 6 {
		b.optionalString(f.ExternalPath)
	}
	switch {
	case e.indexFields < 7:
	case f.GlobalIndex == nil:
		b.null()
	default:
		b.nested(e.globalIndex(f.GlobalIndex))
	}
	return b.Bytes()
}

// globalIndex is the row of org.apache.paimon.index.GlobalIndexMeta.
func (e *encoder) globalIndex(g *manifest.GlobalIndex) []byte {
	b := newFields(e.globalFields)
	b.int64(g.RowRangeStart)
	b.int64(g.RowRangeEnd)
	b.int32(g.FieldID)
	if g.ExtraFieldIDs == nil {
		b.null()
	} else {
		ids := row.NewArrayBuilder(nil, len(g.ExtraFieldIDs), 4)
		for i, id := range g.ExtraFieldIDs {
			ids.SetInt32(i, id)
		}
		b.nested(ids.Bytes())
	}
	b.optionalBytes(g.Meta)
	if e.globalFields >= 6 {
		b.optionalBytes(g.SourceMeta)
	}
	return b.Bytes()
}

// stats is the row of org.apache.paimon.stats.SimpleStats. Java reads the null counts without looking whether they are null,
// so they never are.
func stats(s manifest.Stats) []byte {
	counts := row.NewArrayBuilder(nil, len(s.NullCounts), 8)
	for i, n := range s.NullCounts {
		if n == nil {
			counts.SetNull(i)
		} else {
			counts.SetInt64(i, *n)
		}
	}
	b := newFields(3)
	b.bytes(s.Min)
	b.bytes(s.Max)
	b.nested(counts.Bytes())
	return b.Bytes()
}

// deletionVectors is an array of rows of org.apache.paimon.index.DeletionVectorMeta.
func deletionVectors(vectors []manifest.DeletionVector) []byte {
	array := row.NewArrayBuilder(nil, len(vectors), 8)
	for i, v := range vectors {
		b := newFields(4)
		b.string(v.DataFile)
		b.int32(v.Offset)
		b.int32(v.Length)
		b.optionalInt64(v.Cardinality)
		array.SetNested(i, b.Bytes())
	}
	return array.Bytes()
}

func stringArray(texts []string) []byte {
	array := row.NewArrayBuilder(nil, len(texts), 8)
	for i, s := range texts {
		array.SetBytes(i, []byte(s))
	}
	return array.Bytes()
}

// fields writes the fields of a row one after another.
type fields struct {
	row.Builder
	next int
}

func newFields(arity int) *fields {
	return &fields{Builder: row.NewRowBuilder(nil, arity)}
}

func (f *fields) at() int {
	f.next++
	return f.next - 1
}

func (f *fields) null()           { f.SetNull(f.at()) }
func (f *fields) int32(v int32)   { f.SetInt32(f.at(), v) }
func (f *fields) int64(v int64)   { f.SetInt64(f.at(), v) }
func (f *fields) string(s string) { f.SetBytes(f.at(), []byte(s)) }
func (f *fields) bytes(p []byte)  { f.SetBytes(f.at(), p) }
func (f *fields) nested(p []byte) { f.SetNested(f.at(), p) }

func (f *fields) optionalInt64(v *int64) {
	if v == nil {
		f.null()
		return
	}
	f.int64(*v)
}

func (f *fields) optionalString(s *string) {
	if s == nil {
		f.null()
		return
	}
	f.string(*s)
}

func (f *fields) optionalBytes(p []byte) {
	if p == nil {
		f.null()
		return
	}
	f.bytes(p)
}

func (f *fields) optionalStrings(s []string) {
	if s == nil {
		f.null()
		return
	}
	f.nested(stringArray(s))
}

func (f *fields) source(s *manifest.FileSource) {
	if s == nil {
		f.null()
		return
	}
	f.SetInt8(f.at(), int8(*s))
}

// fits tells what the layout has no place for.
func (l layout) fits(m *Commit) error {
	refuse := func(what string) error {
		return fmt.Errorf("%w %d (Paimon %s): %s", ErrUnrepresentable, l.version, l.line, what)
	}
	if !l.ownIndexes {
		data, compact := len(m.Data.NewIndexFiles)+len(m.Data.DeletedIndexFiles), len(m.Compact.NewIndexFiles)+len(m.Compact.DeletedIndexFiles)
		if data > 0 && !m.Compact.empty() || compact > 0 && m.Compact.empty() {
			return refuse("index files of the writer beside a compaction, or of a compaction without data files")
		}
	}
	for _, files := range m.dataFiles() {
		for i := range files {
			f := &files[i]
			if l.dataFields < 20 && (f.FirstRowID != nil || f.WriteColumns != nil) {
				return refuse(fmt.Sprintf("first row id or written columns of file %q", f.Name))
			}
		}
	}
	for _, files := range m.indexFiles() {
		for i := range files {
			f := &files[i]
			switch {
			case l.indexFields < 6 && f.ExternalPath != nil:
				return refuse(fmt.Sprintf("external path of index file %q", f.Name))
			case l.indexFields < 7 && f.GlobalIndex != nil:
				return refuse(fmt.Sprintf("global index of index file %q", f.Name))
			case l.globalFields < 6 && f.GlobalIndex != nil && f.GlobalIndex.SourceMeta != nil:
				return refuse(fmt.Sprintf("source of the global index of index file %q", f.Name))
			}
		}
	}
	return m.check()
}

func (m *Commit) dataFiles() [6][]manifest.DataFile {
	return [6][]manifest.DataFile{
		m.Data.NewFiles, m.Data.DeletedFiles, m.Data.ChangelogFiles,
		m.Compact.Before, m.Compact.After, m.Compact.ChangelogFiles,
	}
}

func (m *Commit) indexFiles() [4][]manifest.IndexFile {
	return [4][]manifest.IndexFile{
		m.Data.NewIndexFiles, m.Data.DeletedIndexFiles, m.Compact.NewIndexFiles, m.Compact.DeletedIndexFiles,
	}
}
