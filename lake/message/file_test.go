package message_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/schema"
)

func sample(t testing.TB) (message.File, []byte) {
	f := message.File{
		Producer: "tributary/0.3.0", PaimonLine: "1.4", SerializerVersion: 11, SchemaID: 5,
		Messages: []*message.Commit{small(), {Partition: make([]byte, 12)}},
	}
	data, err := message.WriteFile(f)
	require.NoError(t, err)
	return f, data
}

// seal puts the right checksum behind the content.
func seal(content []byte) []byte {
	return binary.BigEndian.AppendUint32(bytes.Clone(content), crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
}

// The layout is the documented one, built here by hand.
func TestFileLayout(t *testing.T) {
	f, data := sample(t)
	want := []byte("TRBCMSG1\x00\x0ftributary/0.3.0\x00\x031.4")
	want = append(want, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 2)
	for _, m := range f.Messages {
		body, err := message.Encode(11, m)
		require.NoError(t, err)
		want = binary.BigEndian.AppendUint32(want, uint32(len(body)))
		want = append(want, body...)
	}
	require.Equal(t, hex.EncodeToString(seal(want)), hex.EncodeToString(data))
}

func TestFilesComeBack(t *testing.T) {
	f, data := sample(t)
	for _, want := range []schema.ID{5, message.AnySchema} {
		back, err := message.ReadFile("a.msg", data, want)
		require.NoError(t, err)
		require.Equal(t, f, *back)
	}
	for _, version := range message.Versions() {
		f := message.File{SerializerVersion: version}
		for _, g := range goldens(t) {
			if g.version == version {
				f.Messages = append(f.Messages, g.view.commit(t))
			}
		}
		data, err := message.WriteFile(f)
		require.NoError(t, err)
		back, err := message.ReadFile("a.msg", data, 0)
		require.NoError(t, err)
		require.Equal(t, f, *back)
	}
	empty, err := message.WriteFile(message.File{SerializerVersion: 11})
	require.NoError(t, err)
	back, err := message.ReadFile("a.msg", empty, 0)
	require.NoError(t, err)
	require.Empty(t, back.Messages)
}

func TestBodiesAreTheSerializersBytes(t *testing.T) {
	for _, g := range goldens(t) {
		content := append([]byte("TRBCMSG1\x00\x01p\x00\x01l"), binary.BigEndian.AppendUint32(nil, uint32(g.version))...)
		content = append(content, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2)
		for range 2 {
			content = append(binary.BigEndian.AppendUint32(content, uint32(len(g.body))), g.body...)
		}
		bodies, err := message.Bodies("a", seal(content))
		require.NoError(t, err)
		require.Equal(t, [][]byte{g.body, g.body}, bodies)
	}
	_, err := message.Bodies("a", []byte("PAR1"))
	require.ErrorIs(t, err, message.ErrMagic)
	require.ErrorContains(t, err, "a: ")
}

// The bytes are those of java.io.DataOutputStream.writeUTF.
func TestTextsAreModifiedUTF8(t *testing.T) {
	data, err := message.WriteFile(message.File{Producer: "a\x00é中😀", SerializerVersion: 11})
	require.NoError(t, err)
	require.Equal(t, "000e61c080c3a9e4b8adeda0bdedb880", hex.EncodeToString(data[8:24]))
	back, err := message.ReadFile("a.msg", data, 0)
	require.NoError(t, err)
	require.Equal(t, "a\x00é中😀", back.Producer)

	_, err = message.WriteFile(message.File{Producer: strings.Repeat("x", 1<<16), SerializerVersion: 11})
	require.ErrorContains(t, err, "more than 65535")
	for _, broken := range []string{"\x80", "\xc3", "\xc3a", "\xe4\xb8", "\xf0\x9f\x98\x80"} {
		content := append([]byte("TRBCMSG1\x00"), byte(len(broken)))
		content = append(content, broken...)
		content = append(content, make([]byte, 2+4+8+4)...)
		_, err := message.ReadFile("a.msg", seal(content), 0)
		require.ErrorIs(t, err, message.ErrCorrupt, "%x", broken)
	}
}

func kinds() []error {
	return []error{
		message.ErrMagic, message.ErrVersion, message.ErrNewerVersion, message.ErrSchemaID, message.ErrShort, message.ErrLong,
		message.ErrChecksum, message.ErrCorrupt,
	}
}

func TestFileErrorsNameFileAndBothValues(t *testing.T) {
	_, good := sample(t)
	content := good[:len(good)-4]
	changed := func(at int, b byte) []byte {
		c := bytes.Clone(content)
		c[at] = b
		return seal(c)
	}
	const version, count, firstByte = 8 + 17 + 5 + 3, 8 + 17 + 5 + 12, 8 + 17 + 5 + 16 + 4
	for name, c := range map[string]struct {
		data []byte
		want schema.ID
		kind error
		text string
	}{
		"magic":          {[]byte("PAR1 and so on"), 5, message.ErrMagic, `got "PAR1 and", want "TRBCMSG1"`},
		"newer format":   {append([]byte("TRBCMSG2"), good[8:]...), 5, message.ErrMagic, `got "TRBCMSG2", want "TRBCMSG1"`},
		"empty":          {nil, 5, message.ErrShort, "got 0 bytes, want at least 8 for the magic"},
		"cut":            {good[:len(good)-1], 5, message.ErrShort, "for the checksum"},
		"cut in message": {good[:len(good)/2], 5, message.ErrShort, "for message 1 of 2"},
		"long":           {append(bytes.Clone(good), 0), 5, message.ErrLong, "want"},
		"flipped":        {append(bytes.Clone(content[:len(content)-1]), append([]byte{9}, good[len(good)-4:]...)...), 5, message.ErrChecksum, "over the content, want"},
		"old version":    {changed(version, 9), 5, message.ErrVersion, `got 9 (Paimon "1.4", written by "tributary/0.3.0"), want one of [6 7 10 11 12]`},
		"newer version":  {changed(version, 13), 5, message.ErrNewerVersion, `got 13 (Paimon "1.4", written by "tributary/0.3.0"), want one of [6 7 10 11 12]`},
		"schema":         {good, 6, message.ErrSchemaID, "got schema 5, want 6"},
		"message":        {changed(firstByte, 0x7f), 5, message.ErrCorrupt, "got message 1 of"},
		"negative count": {seal(append(bytes.Clone(content[:count]), 255, 255, 255, 255)), 5, message.ErrCorrupt, "got -1 messages"},
		"negative size":  {seal(append(bytes.Clone(content[:count]), 0, 0, 0, 1, 255, 255, 255, 255)), 5, message.ErrCorrupt, "of -1 bytes"},
		"many":           {seal(append(bytes.Clone(content[:count]), 127, 255, 255, 255)), 5, message.ErrShort, "message"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := message.ReadFile("dir/a.msg", c.data, c.want)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, "dir/a.msg: ")
			require.ErrorContains(t, err, c.text)
			var typed *message.FileError
			require.ErrorAs(t, err, &typed)
			require.Equal(t, "dir/a.msg", typed.File)
			require.NotEmpty(t, typed.Got)
			require.NotEmpty(t, typed.Want)
			for _, other := range kinds() { // one kind and no other, but that a newer version is also an unknown one
				require.Equal(t, errors.Is(c.kind, other), errors.Is(err, other), "%v", other)
			}
		})
	}
	for n := range good {
		_, err := message.ReadFile("a", good[:n], 5)
		require.ErrorIs(t, err, message.ErrShort)
		flipped := bytes.Clone(good)
		flipped[n] ^= 0x10
		_, err = message.ReadFile("a", flipped, 5)
		require.Error(t, err)
	}
}

func TestWriteFileRefusesBrokenMessages(t *testing.T) {
	_, err := message.WriteFile(message.File{SerializerVersion: 11, Messages: []*message.Commit{{}}})
	require.ErrorIs(t, err, message.ErrCorrupt)
	require.ErrorContains(t, err, "message 0")
	_, err = message.WriteFile(message.File{SerializerVersion: 13, Messages: []*message.Commit{small()}})
	require.ErrorIs(t, err, message.ErrVersion)
	_, err = message.WriteFile(message.File{SerializerVersion: 13})
	require.ErrorIs(t, err, message.ErrVersion)
}

func FuzzDecodeFile(f *testing.F) {
	_, data := sample(f)
	f.Add(data, false)
	f.Add(data[:len(data)-4], true)
	f.Fuzz(func(t *testing.T, data []byte, fix bool) {
		if fix {
			data = seal(data)
		}
		file, err := message.ReadFile("f", data, message.AnySchema)
		if err != nil {
			var typed *message.FileError
			require.ErrorAs(t, err, &typed)
			return
		}
		written, err := message.WriteFile(*file)
		require.NoError(t, err)
		back, err := message.ReadFile("f", written, file.SchemaID)
		require.NoError(t, err)
		require.Equal(t, file, back)
	})
}
