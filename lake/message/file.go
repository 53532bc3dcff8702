package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"

	"github.com/tributary-lake/tributary/lake/schema"
)

// magic begins every message file of this format.
const magic = "TRBCMSG1"

// AnySchema lets [ReadFile] take a file of whatever schema id.
const AnySchema schema.ID = -1

// What a message file can be refused for, beside [ErrVersion], [ErrNewerVersion] and [ErrCorrupt]. All come within a [*FileError], and none
// goes away by retrying.
var (
	// ErrMagic: the file is none of commit messages, or of another format of them.
	ErrMagic = errors.New("no commit message file")
	// ErrSchemaID: the messages were written under another version of the table's schema.
	ErrSchemaID = errors.New("commit message file of another schema")
	// ErrShort: the file ends before its content does.
	ErrShort = errors.New("commit message file is cut off")
	// ErrLong: bytes follow the file's content.
	ErrLong = errors.New("commit message file has bytes behind its end")
	// ErrChecksum: the content does not match the checksum.
	ErrChecksum = errors.New("commit message file does not match its checksum")
)

// FileError tells which message file is wrong in which way, with what it has and what it should have.
type FileError struct {
	// Kind is one of the sentinels of this package.
	Kind error
	File string
	// Got and Want are the two values that differ, for people.
	Got, Want string
	// Cause is more detail, or nil.
	Cause error
}

// Error names the file and both values.
func (e *FileError) Error() string {
	text := fmt.Sprintf("%s: %s: got %s, want %s", e.File, e.Kind, e.Got, e.Want)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap gives the kind and the cause.
func (e *FileError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Cause}
}

// File is the content of a message file.
type File struct {
	// Producer is who wrote it, such as tributary/0.3.0, for people.
	Producer string
	// PaimonLine is the Paimon release line of the serializer, for people. See [Line].
	PaimonLine string
	// SerializerVersion alone decides whether and how the messages can be read.
	SerializerVersion int
	// SchemaID is the version of the table's schema under which the files were written.
	SchemaID schema.ID
	Messages []*Commit
}

// WriteFile returns the bytes of a message file: the magic, producer and line as Java's writeUTF, then big-endian the
// serializer version (int32), the schema id (int64), the count (int32), each message with its length (int32) in front, and
// the CRC-32C of all before.
func WriteFile(f File) ([]byte, error) {
	if _, err := layoutOf(f.SerializerVersion); err != nil {
		return nil, fmt.Errorf("write commit message file: %w", err)
	}
	buf := []byte(magic)
	for _, text := range []string{f.Producer, f.PaimonLine} {
		var err error
		if buf, err = appendUTF(buf, text); err != nil {
			return nil, fmt.Errorf("write commit message file: %w", err)
		}
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(f.SerializerVersion))
	buf = binary.BigEndian.AppendUint64(buf, uint64(f.SchemaID))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(f.Messages)))
	for i, m := range f.Messages {
		data, err := Encode(f.SerializerVersion, m)
		if err != nil {
			return nil, fmt.Errorf("write commit message file: message %d: %w", i, err)
		}
		if len(data) > math.MaxInt32 {
			return nil, fmt.Errorf("write commit message file: message %d has %d bytes, more than 2 GiB", i, len(data))
		}
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(data)))
		buf = append(buf, data...)
	}
	return binary.BigEndian.AppendUint32(buf, checksum(buf)), nil
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// ReadFile reads a message file. The name is for errors, all of which are [*FileError]s. With another want than
// [AnySchema] the file must be of that schema id.
func ReadFile(name string, data []byte, want schema.ID) (*File, error) {
	f, messages, bad := readFrame(data)
	if bad == nil {
		bad = readMessages(f, messages, want)
	}
	if bad != nil {
		bad.File = name
		return nil, bad
	}
	return f, nil
}

// Bodies returns the messages of a file as they are in it, which are the bytes of Paimon's serializer. They are parts of
// data, and are not decoded. Errors are as those of [ReadFile].
func Bodies(name string, data []byte) ([][]byte, error) {
	_, messages, bad := readFrame(data)
	if bad != nil {
		bad.File = name
		return nil, bad
	}
	return messages, nil
}

// readFrame takes a file apart. Lengths come first and the checksum second, so that a cut file is called cut.
func readFrame(data []byte) (*File, [][]byte, *FileError) {
	head := data[:min(len(data), len(magic))]
	if !strings.HasPrefix(magic, string(head)) {
		return nil, nil, &FileError{Kind: ErrMagic, Got: strconv.Quote(string(head)), Want: strconv.Quote(magic)}
	}
	r := &frame{data: data}
	r.take(len(magic), "the magic")
	f := &File{}
	f.Producer = r.utf("the producer")
	f.PaimonLine = r.utf("the Paimon line")
	f.SerializerVersion = int(int32(r.uint32("the serializer version")))
	f.SchemaID = schema.ID(r.uint64("the schema id"))
	count := int64(int32(r.uint32("the count")))
	// Every message has its length at least, so a count beyond that is told before its messages are looked for.
	if left := int64(len(data) - r.at); r.bad == nil && count > left/4 {
		r.bad = &FileError{
			Kind: ErrShort, Got: fmt.Sprintf("%d bytes", len(data)), Want: fmt.Sprintf("at least %d for %d messages", int64(r.at)+4*count, count),
		}
	}
	var messages [][]byte
	for i := int64(0); i < count && r.bad == nil; i++ {
		what := fmt.Sprintf("message %d of %d", i+1, count)
		messages = append(messages, r.take(int(int32(r.uint32(what))), what))
	}
	body := data[:r.at]
	sum := r.uint32("the checksum")
	switch {
	case r.bad != nil:
		return nil, nil, r.bad
	case count < 0:
		return nil, nil, &FileError{Kind: ErrCorrupt, Got: fmt.Sprintf("%d messages", count), Want: "none or more"}
	case r.at < len(data):
		return nil, nil, &FileError{Kind: ErrLong, Got: fmt.Sprintf("%d bytes", len(data)), Want: strconv.Itoa(r.at)}
	case sum != checksum(body):
		return nil, nil, &FileError{
			Kind: ErrChecksum, Got: fmt.Sprintf("%08x over the content", checksum(body)), Want: fmt.Sprintf("%08x as the file says", sum),
		}
	}
	return f, messages, r.utfError
}

func readMessages(f *File, messages [][]byte, want schema.ID) *FileError {
	if _, err := layoutOf(f.SerializerVersion); err != nil {
		kind := ErrVersion
		if errors.Is(err, ErrNewerVersion) {
			kind = ErrNewerVersion
		}
		return &FileError{
			Kind: kind, Want: fmt.Sprintf("one of %v", Versions()),
			Got: fmt.Sprintf("%d (Paimon %q, written by %q)", f.SerializerVersion, f.PaimonLine, f.Producer),
		}
	}
	if want != AnySchema && want != f.SchemaID {
		return &FileError{Kind: ErrSchemaID, Got: fmt.Sprintf("schema %d", f.SchemaID), Want: strconv.FormatInt(int64(want), 10)}
	}
	for i, data := range messages {
		m, err := Decode(f.SerializerVersion, data)
		if err != nil {
			return &FileError{
				Kind: ErrCorrupt, Cause: err, Got: fmt.Sprintf("message %d of %d bytes", i+1, len(data)),
				Want: fmt.Sprintf("one of serializer version %d", f.SerializerVersion),
			}
		}
		f.Messages = append(f.Messages, m)
	}
	return nil
}

// frame reads the parts of a file and keeps the first error.
type frame struct {
	data     []byte
	at       int
	bad      *FileError
	utfError *FileError
}

func (r *frame) take(n int, what string) []byte {
	if r.bad != nil {
		return nil
	}
	if n < 0 {
		r.bad = &FileError{Kind: ErrCorrupt, Got: fmt.Sprintf("%s of %d bytes", what, n), Want: "a length"}
		return nil
	}
	if left := len(r.data) - r.at; n > left {
		r.bad = &FileError{
			Kind: ErrShort, Got: fmt.Sprintf("%d bytes", len(r.data)), Want: fmt.Sprintf("at least %d for %s", r.at+n, what),
		}
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *frame) uint32(what string) uint32 {
	if p := r.take(4, what); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func (r *frame) uint64(what string) uint64 {
	if p := r.take(8, what); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

// utf reads a text. One that is malformed is told only when the checksum is right, else that is what is wrong.
func (r *frame) utf(what string) string {
	p := r.take(2, what)
	if p == nil {
		return ""
	}
	text, err := decodeUTF(r.take(int(binary.BigEndian.Uint16(p)), what))
	if err != nil && r.utfError == nil {
		r.utfError = &FileError{Kind: ErrCorrupt, Got: what, Want: "modified UTF-8", Cause: err}
	}
	return text
}
