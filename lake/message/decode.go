package message

import (
	"encoding/binary"
	"fmt"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// Decode reads the bytes of Paimon's serializer of the version. Bytes that are none, or more than one message, are
// [ErrCorrupt]. The message keeps no part of data.
func Decode(version int, data []byte) (*Commit, error) {
	l, err := layoutOf(version)
	if err != nil {
		return nil, err
	}
	d := &decoder{layout: l, data: data, budget: len(data)}
	m := d.commit()
	if d.err == nil && len(d.data) > 0 {
		d.fail(fmt.Errorf("%d bytes behind its end", len(d.data)))
	}
	if d.err != nil {
		return nil, fmt.Errorf("%w: version %d: %w", ErrCorrupt, version, d.err)
	}
	return m, m.check()
}

// decoder keeps its first error; what it reads after that is zero.
type decoder struct {
	layout
	data []byte
	// budget is how many bytes may still be copied. Nothing in a message of Paimon's lies twice in it, but slots of a
	// hostile one could all point at the same bytes.
	budget int
	err    error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// take gives the next n bytes.
func (d *decoder) take(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.data) {
		d.fail(fmt.Errorf("%d bytes are wanted where %d are left", n, len(d.data)))
		return nil
	}
	p := d.data[:n]
	d.data = d.data[n:]
	return p
}

func (d *decoder) int32() int32 {
	p := d.take(4)
	if p == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(p))
}

func (d *decoder) commit() *Commit {
	m := &Commit{}
	m.Partition = d.copied(d.take(int(d.int32())))
	m.Bucket = d.int32()
	if d.totalBuckets {
		m.TotalBuckets = d.optionalInt32()
	}
	m.Data.NewFiles, m.Data.DeletedFiles, m.Data.ChangelogFiles = d.dataFiles(), d.dataFiles(), d.dataFiles()
	if d.ownIndexes {
		m.Data.NewIndexFiles, m.Data.DeletedIndexFiles = d.indexFiles(), d.indexFiles()
	}
	m.Compact.Before, m.Compact.After, m.Compact.ChangelogFiles = d.dataFiles(), d.dataFiles(), d.dataFiles()
	created, deleted := d.indexFiles(), d.indexFiles()
	if !d.ownIndexes && m.Compact.empty() {
		m.Data.NewIndexFiles, m.Data.DeletedIndexFiles = created, deleted
	} else {
		m.Compact.NewIndexFiles, m.Compact.DeletedIndexFiles = created, deleted
	}
	return m
}

func (d *decoder) optionalInt32() *int32 {
	flag := d.take(1)
	switch {
	case flag == nil || flag[0] == 0:
		return nil
	case flag[0] != 1:
		d.fail(fmt.Errorf("%d is neither true nor false", flag[0]))
		return nil
	}
	n := d.int32()
	return &n
}

// count reads how many rows of the given arity follow; no more than the bytes that are left can hold.
func (d *decoder) count(arity int) int {
	n := int(d.int32())
	if most := len(d.data) / (4 + row.FixedPartSize(arity)); n < 0 || n > most {
		d.fail(fmt.Errorf("a list of %d where at most %d fit", n, most))
		return 0
	}
	return n
}

func (d *decoder) dataFiles() []manifest.DataFile {
	n := d.count(d.dataFields)
	if n == 0 {
		return nil
	}
	files := make([]manifest.DataFile, n)
	for i := range files {
		d.dataFile(&files[i])
	}
	return files
}

func (d *decoder) indexFiles() []manifest.IndexFile {
	n := d.count(d.indexFields)
	if n == 0 {
		return nil
	}
	files := make([]manifest.IndexFile, n)
	for i := range files {
		d.indexFile(&files[i])
	}
	return files
}

// sized opens a row that has its size in front.
func (d *decoder) sized(what string, arity int) *cursor {
	return d.open(what, arity, d.take(int(d.int32())))
}

func (d *decoder) open(what string, arity int, data []byte) *cursor {
	if d.err != nil {
		return &cursor{d: d}
	}
	s, err := row.ReadRow(data, arity)
	if err != nil {
		d.fail(fmt.Errorf("%s: %w", what, err))
	}
	return &cursor{d: d, s: s, what: what}
}

// copied makes bytes its own, within the budget.
func (d *decoder) copied(p []byte) []byte {
	if d.err != nil {
		return nil
	}
	if d.budget -= len(p); d.budget < 0 {
		d.fail(fmt.Errorf("parts that overlap"))
		return nil
	}
	return append([]byte{}, p...)
}

func (d *decoder) dataFile(f *manifest.DataFile) {
	c := d.sized("data file", d.dataFields)
	f.Name = c.string()
	f.Size = c.int64()
	f.Rows = c.int64()
	f.MinKey = c.bytes()
	f.MaxKey = c.bytes()
	f.KeyStats = c.stats()
	f.ValueStats = c.stats()
	f.MinSequence = c.int64()
	f.MaxSequence = c.int64()
	f.SchemaID = schema.ID(c.int64())
	f.Level = c.int32()
	if f.ExtraFiles = c.strings(); f.ExtraFiles == nil {
		d.fail(fmt.Errorf("data file: the list of extra files is null"))
	}
	f.CreationMillis = optional(c, c.int64)
	f.DeleteRows = optional(c, c.int64)
	f.EmbeddedIndex = c.optionalBytes()
	f.Source = optional(c, c.source)
	f.ValueStatsColumns = c.strings()
	f.ExternalPath = optional(c, c.string)
	if d.dataFields >= 20 {
		f.FirstRowID = optional(c, c.int64)
		f.WriteColumns = c.strings()
	}
}

func (d *decoder) indexFile(f *manifest.IndexFile) {
	c := d.sized("index file", d.indexFields)
	f.Type = c.string()
	f.Name = c.string()
	f.Size = c.int64()
	f.Rows = c.int64()
	f.DeletionVectors = c.deletionVectors()
	if d.indexFields >= 6 {
		f.ExternalPath = optional(c, c.string)
	}
	if d.indexFields >= 7 {
		f.GlobalIndex = c.globalIndex()
	}
}

// cursor reads the fields of a row one after another.
type cursor struct {
	d    *decoder
	s    row.Section
	what string
	next int
}

// field gives the place of the next field, which must not be null; negative when there is an error.
func (c *cursor) field() int {
	i := c.next
	c.next++
	if c.d.err == nil && c.s.IsNull(i) {
		c.d.fail(fmt.Errorf("%s: field %d is null", c.what, i))
	}
	if c.d.err != nil {
		return -1
	}
	return i
}

// null passes the next field if it is null.
func (c *cursor) null() bool {
	if c.d.err != nil || c.s.IsNull(c.next) {
		c.next++
		return true
	}
	return false
}

// optional reads the next field unless it is null.
func optional[T any](c *cursor, read func() T) *T {
	if c.null() {
		return nil
	}
	v := read()
	return &v
}

func (c *cursor) int64() int64 {
	if i := c.field(); i >= 0 {
		return c.s.Int64(i)
	}
	return 0
}

func (c *cursor) int32() int32 {
	if i := c.field(); i >= 0 {
		return c.s.Int32(i)
	}
	return 0
}

func (c *cursor) source() manifest.FileSource {
	if i := c.field(); i >= 0 {
		return manifest.FileSource(c.s.Int8(i))
	}
	return 0
}

func (c *cursor) bytes() []byte {
	i := c.field()
	if i < 0 {
		return nil
	}
	p, err := c.s.Bytes(i)
	if err != nil {
		c.d.fail(fmt.Errorf("%s: field %d: %w", c.what, i, err))
	}
	return c.d.copied(p)
}

func (c *cursor) string() string { return string(c.bytes()) }

func (c *cursor) optionalBytes() []byte {
	if c.null() {
		return nil
	}
	return c.bytes()
}

// nested gives the bytes of the next field, a part of the row.
func (c *cursor) nested() []byte {
	i := c.field()
	if i < 0 {
		return nil
	}
	p, err := c.s.Nested(i)
	if err != nil {
		c.d.fail(fmt.Errorf("%s: field %d: %w", c.what, i, err))
	}
	return p
}

// array opens the next field as an array; ok is false when it is null or there is an error.
func (c *cursor) array(width int) (a row.Section, ok bool) {
	if c.null() {
		return a, false
	}
	p := c.nested()
	if c.d.err != nil {
		return a, false
	}
	a, err := row.ReadArray(p, width)
	if err != nil {
		c.d.fail(fmt.Errorf("%s: field %d: %w", c.what, c.next-1, err))
	}
	return a, c.d.err == nil
}

// strings is nil for null alone.
func (c *cursor) strings() []string {
	a, ok := c.array(8)
	if !ok {
		return nil
	}
	texts := make([]string, a.Len())
	for i := range texts {
		p, err := a.Bytes(i)
		if err != nil || a.IsNull(i) {
			c.d.fail(fmt.Errorf("%s: string %d of field %d is null or lies outside", c.what, i, c.next-1))
			return nil
		}
		texts[i] = string(c.d.copied(p))
	}
	return texts
}

func (c *cursor) stats() manifest.Stats {
	inner := c.d.open("statistics", 3, c.nested())
	s := manifest.Stats{Min: inner.bytes(), Max: inner.bytes(), NullCounts: []*int64{}}
	counts, ok := inner.array(8)
	if !ok {
		return s
	}
	s.NullCounts = make([]*int64, counts.Len())
	for i := range s.NullCounts {
		if !counts.IsNull(i) {
			n := counts.Int64(i)
			s.NullCounts[i] = &n
		}
	}
	return s
}

func (c *cursor) deletionVectors() []manifest.DeletionVector {
	a, ok := c.array(8)
	if !ok {
		return nil
	}
	vectors := make([]manifest.DeletionVector, a.Len())
	for i := range vectors {
		p, err := a.Nested(i)
		if err != nil || a.IsNull(i) {
			c.d.fail(fmt.Errorf("deletion vector %d is null or lies outside", i))
			return nil
		}
		inner := c.d.open("deletion vector", 4, p)
		vectors[i] = manifest.DeletionVector{DataFile: inner.string(), Offset: inner.int32(), Length: inner.int32()}
		vectors[i].Cardinality = optional(inner, inner.int64)
	}
	return vectors
}

func (c *cursor) globalIndex() *manifest.GlobalIndex {
	if c.null() {
		return nil
	}
	inner := c.d.open("global index", c.d.globalFields, c.nested())
	g := &manifest.GlobalIndex{RowRangeStart: inner.int64(), RowRangeEnd: inner.int64(), FieldID: inner.int32()}
	if ids, ok := inner.array(4); ok {
		g.ExtraFieldIDs = make([]int32, ids.Len())
		for i := range g.ExtraFieldIDs {
			g.ExtraFieldIDs[i] = ids.Int32(i)
		}
	}
	g.Meta = inner.optionalBytes()
	if c.d.globalFields >= 6 {
		g.SourceMeta = inner.optionalBytes()
	}
	return g
}
