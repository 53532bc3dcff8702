package message_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
)

func ptr[T any](v T) *T { return &v }

// small is a message of one file, as the published vector of a DataFileMeta row has it.
func small() *message.Commit {
	return &message.Commit{
		Partition: make([]byte, 12), TotalBuckets: ptr(int32(-1)),
		Data: message.DataIncrement{NewFiles: []manifest.DataFile{{
			Name: "data-x-0.parquet", Size: 1234, Rows: 2, MinKey: make([]byte, 12), MaxKey: make([]byte, 12),
			KeyStats: manifest.EmptyStats(), ValueStats: manifest.EmptyStats(), MaxSequence: 1, ExtraFiles: []string{},
			CreationMillis: ptr(int64(1700000000000)), DeleteRows: ptr(int64(0)), Source: ptr(manifest.SourceAppend),
			ValueStatsColumns: []string{},
		}}},
	}
}

// The bytes of an empty message are published for version 13, whose frame is that of 10 to 12.
func TestEmptyMessage(t *testing.T) {
	want := "0000000c0000000000000000000000000000000000"
	for range 10 {
		want += "00000000"
	}
	for _, version := range []int{10, 11, 12} {
		data, err := message.Encode(version, &message.Commit{Partition: make([]byte, 12)})
		require.NoError(t, err)
		require.Equal(t, want, hex.EncodeToString(data))
	}
}

// withGlobalIndex holds what no golden message does; its layout is GlobalIndexMeta.SCHEMA of Paimon 1.4 and 2.0.
func withGlobalIndex() *message.Commit {
	m := small()
	m.Data.NewIndexFiles = []manifest.IndexFile{
		{Type: "BITMAP", Name: "i-1", Size: 3, Rows: 4, ExternalPath: ptr("s3://b/i-1"), GlobalIndex: &manifest.GlobalIndex{
			RowRangeStart: 1, RowRangeEnd: 2, FieldID: 3, ExtraFieldIDs: []int32{4, -5}, Meta: []byte("meta bytes"), SourceMeta: []byte{},
		}},
		{Type: "HASH", Name: "i-2", DeletionVectors: []manifest.DeletionVector{}, GlobalIndex: &manifest.GlobalIndex{}},
		{Type: "DELETION_VECTORS", Name: "i-3", DeletionVectors: []manifest.DeletionVector{{DataFile: "d", Offset: 1, Length: 2}}},
	}
	return m
}

func TestGlobalIndexesComeBack(t *testing.T) {
	m := withGlobalIndex()
	data, err := message.Encode(12, m)
	require.NoError(t, err)
	back, err := message.Decode(12, data)
	require.NoError(t, err)
	require.Equal(t, m, back)

	m.Data.NewIndexFiles[0].GlobalIndex.SourceMeta = nil
	data, err = message.Encode(11, m)
	require.NoError(t, err)
	back, err = message.Decode(11, data)
	require.NoError(t, err)
	require.Equal(t, m, back)
}

func TestEncodeRefusesWhatAVersionCannotHold(t *testing.T) {
	for _, c := range []struct {
		version int
		change  func(*message.Commit)
		want    string
	}{
		{11, func(m *message.Commit) { *m = *withGlobalIndex() }, "source of the global index"},
		{10, func(m *message.Commit) {
			m.Data.NewIndexFiles = []manifest.IndexFile{{Name: "i", GlobalIndex: &manifest.GlobalIndex{}}}
		}, `global index of index file "i"`},
		{7, func(m *message.Commit) {
			m.Data.NewIndexFiles = []manifest.IndexFile{{Name: "i", ExternalPath: ptr("x")}}
		}, "external path"},
		{7, func(m *message.Commit) { m.Data.NewFiles[0].FirstRowID = ptr(int64(1)) }, "first row id"},
		{6, func(m *message.Commit) { m.Data.NewFiles[0].WriteColumns = []string{} }, "written columns"},
		{7, func(m *message.Commit) { m.Compact.NewIndexFiles = []manifest.IndexFile{{Name: "i"}} }, "compaction without data files"},
		{7, func(m *message.Commit) {
			m.Data.NewIndexFiles, m.Compact.After = []manifest.IndexFile{{Name: "i"}}, m.Data.NewFiles
		}, "beside a compaction"},
	} {
		m := small()
		c.change(m)
		_, err := message.Encode(c.version, m)
		require.ErrorIs(t, err, message.ErrUnrepresentable)
		require.ErrorContains(t, err, c.want)
	}
	m := small()
	data, err := message.Encode(6, m)
	require.NoError(t, err)
	back, err := message.Decode(6, data)
	require.NoError(t, err)
	require.Nil(t, back.TotalBuckets)
}

func TestHarmfulMessagesAreRefused(t *testing.T) {
	for want, change := range map[string]func(*message.Commit){
		"partition":                 func(m *message.Commit) { m.Partition = nil },
		"smallest key":              func(m *message.Commit) { m.Data.NewFiles[0].MinKey = nil },
		"largest key":               func(m *message.Commit) { m.Data.NewFiles[0].MaxKey = []byte{0, 0, 0, 1} },
		"negative size":             func(m *message.Commit) { m.Data.NewFiles[0].Size = -1 },
		"no name":                   func(m *message.Commit) { m.Data.NewFiles[0].Name = "" },
		"unknown source 7":          func(m *message.Commit) { m.Data.NewFiles[0].Source = ptr(manifest.FileSource(7)) },
		"1 null counts":             func(m *message.Commit) { m.Data.NewFiles[0].ValueStats.NullCounts = []*int64{nil} },
		"lower bounds":              func(m *message.Commit) { m.Data.NewFiles[0].KeyStats.Min = nil },
		"upper bounds":              func(m *message.Commit) { m.Data.NewFiles[0].KeyStats.Max = nil },
		"of 0 values for 1 columns": func(m *message.Commit) { m.Data.NewFiles[0].ValueStatsColumns = []string{"a"} },
		"index file \"\"":           func(m *message.Commit) { m.Compact.NewIndexFiles = []manifest.IndexFile{{}} },
	} {
		m := small()
		change(m)
		_, err := message.Encode(11, m)
		require.ErrorIs(t, err, message.ErrCorrupt)
		require.ErrorContains(t, err, want)
	}
}

func TestDecodeRefusesBrokenBytes(t *testing.T) {
	data, err := message.Encode(11, small())
	require.NoError(t, err)
	for n := range data {
		_, err := message.Decode(11, data[:n])
		require.ErrorIs(t, err, message.ErrCorrupt, "%d bytes", n)
	}
	_, err = message.Decode(11, append(data, 0))
	require.ErrorContains(t, err, "1 bytes behind its end")
	for _, version := range []int{-1, 0, 5, 8, 9, 13} {
		_, err = message.Decode(version, data)
		require.ErrorIs(t, err, message.ErrVersion)
		_, err = message.Encode(version, small())
		require.ErrorIs(t, err, message.ErrVersion)
		_, err = message.Line(version)
		require.ErrorIs(t, err, message.ErrVersion)
		require.Equal(t, version > 12, errors.Is(err, message.ErrNewerVersion))
	}
	huge := append([]byte{}, data...)
	const newFiles = 4 + 12 + 4 + 1 + 4
	binary.BigEndian.PutUint32(huge[newFiles:], 1<<31-1)
	_, err = message.Decode(11, huge)
	require.ErrorContains(t, err, "a list of 2147483647 where at most")
	huge[newFiles-5] = 2
	_, err = message.Decode(11, huge)
	require.ErrorContains(t, err, "neither true nor false")
}

// A small message whose slots all point at the same bytes must not grow without bound.
func TestDecodeRefusesOverlappingParts(t *testing.T) {
	m := small()
	const n = 1000
	m.Data.NewFiles[0].ExtraFiles = make([]string, n)
	long := make([]byte, 10_000)
	m.Data.NewFiles[0].ExtraFiles[0] = string(long)
	data, err := message.Encode(11, m)
	require.NoError(t, err)
	_, err = message.Decode(11, data)
	require.NoError(t, err)
	head := binary.LittleEndian.AppendUint32(nil, n)
	at := indexOf(data, append(head, make([]byte, (n+31)/32*4)...)) + 4 + (n+31)/32*4
	for i := 1; i < n; i++ {
		copy(data[at+8*i:], data[at:at+8])
	}
	_, err = message.Decode(11, data)
	require.ErrorContains(t, err, "parts that overlap")
}

func indexOf(data, part []byte) int {
	for i := range data {
		if string(data[i:min(len(data), i+len(part))]) == string(part) {
			return i
		}
	}
	return -1
}

func TestLines(t *testing.T) {
	require.Equal(t, []int{6, 7, 10, 11, 12}, message.Versions())
	line, err := message.Line(message.DefaultVersion)
	require.NoError(t, err)
	require.Equal(t, "1.4", line)
}

func FuzzDecodeMessage(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(uint8(slices.Index(message.Versions(), g.version)), g.body)
	}
	data, err := message.Encode(12, withGlobalIndex())
	require.NoError(f, err)
	f.Add(uint8(4), data)
	f.Fuzz(func(t *testing.T, choice uint8, data []byte) {
		version := message.Versions()[int(choice)%len(message.Versions())]
		m, err := message.Decode(version, data)
		if err != nil {
			return
		}
		written, err := message.Encode(version, m)
		require.NoError(t, err)
		back, err := message.Decode(version, written)
		require.NoError(t, err)
		require.Equal(t, m, back)
	})
}
