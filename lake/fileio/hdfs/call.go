package hdfs

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"unsafe"

	"github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// caller sends a request to the name node and fills in the answer.
type caller func(method string, request, answer proto.Message) error

// errLibrary tells that the library is not built as the one that this package was written for.
var errLibrary = errors.New("the library of HDFS has another inside than v2.4.0: a rename that does not overwrite cannot be asked for")

// callerOf is the library's own way to the name node, which it keeps to itself: its Rename always orders to overwrite, and no other
// call of it creates a whole file in one step. WebHDFS could be asked instead, on another port, with another authentication,
// where the cluster has it switched on. Taking the library's connection costs one look at an unexported field, which is checked
// here each time a client is made, so another release of the library fails at the start and not by losing a commit.
func callerOf(c *hdfs.Client) (caller, error) {
	field := reflect.ValueOf(c).Elem().FieldByName("namenode")
	if !field.IsValid() || field.Kind() != reflect.Pointer {
		return nil, errLibrary
	}
	visible := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
	node, ok := visible.Interface().(interface {
		Execute(method string, request, answer proto.Message) error
	})
	if !ok {
		return nil, errLibrary
	}
	if _, err := renameRequest("/a", "/b", false); err != nil {
		return nil, err
	}
	if _, err := listRequest("/", nil); err != nil {
		return nil, err
	}
	if _, err := statRequest("/"); err != nil {
		return nil, err
	}
	return node.Execute, nil
}

// rename moves a file in one step (ClientProtocol.rename2). Without overwrite a target that exists gives an error and nothing
// changes.
func (call caller) rename(from, to string, overwrite bool) error {
	request, err := renameRequest(from, to, overwrite)
	if err != nil {
		return err
	}
	answer, err := message("hadoop.hdfs.Rename2ResponseProto", nil)
	if err != nil {
		return err
	}
	return call("rename2", request.Interface(), answer.Interface())
}

func renameRequest(from, to string, overwrite bool) (protoreflect.Message, error) {
	return message("hadoop.hdfs.Rename2RequestProto", map[protoreflect.Name]protoreflect.Value{
		"src": protoreflect.ValueOfString(from), "dst": protoreflect.ValueOfString(to), "overwriteDest": protoreflect.ValueOfBool(overwrite),
	})
}

// stat describes a file or folder (ClientProtocol.getFileInfo). The library's own loses what the name node said.
func (call caller) stat(name string) (*hdfs.FileStatus, error) {
	request, err := statRequest(name)
	if err != nil {
		return nil, err
	}
	answer, err := message("hadoop.hdfs.GetFileInfoResponseProto", nil)
	if err != nil {
		return nil, err
	}
	if err := call("getFileInfo", request.Interface(), answer.Interface()); err != nil {
		return nil, err
	}
	found, has := field(answer, "fs")
	if !has {
		return nil, fs.ErrNotExist
	}
	status, ok := found.Message().Interface().(*hdfs.FileStatus)
	if !ok {
		return nil, errLibrary
	}
	return status, nil
}

func statRequest(name string) (protoreflect.Message, error) {
	return message("hadoop.hdfs.GetFileInfoRequestProto", map[protoreflect.Name]protoreflect.Value{"src": protoreflect.ValueOfString(name)})
}

// list returns the entries of a folder whose names come after one, as many as the name node gives in one answer, and whether
// there are more (ClientProtocol.getListing). A file has one entry without a name. The library's own listing cannot go on
// where it broke off.
func (call caller) list(folder string, after []byte) (entries []*hdfs.FileStatus, more bool, err error) {
	request, err := listRequest(folder, after)
	if err != nil {
		return nil, false, err
	}
	answer, err := message("hadoop.hdfs.GetListingResponseProto", nil)
	if err != nil {
		return nil, false, err
	}
	if err := call("getListing", request.Interface(), answer.Interface()); err != nil {
		return nil, false, err
	}
	listing, has := field(answer, "dirList")
	if !has {
		return nil, false, fs.ErrNotExist
	}
	some, _ := field(listing.Message(), "partialListing")
	for i := range some.List().Len() {
		status, ok := some.List().Get(i).Message().Interface().(*hdfs.FileStatus)
		if !ok {
			return nil, false, errLibrary
		}
		entries = append(entries, status)
	}
	left, _ := field(listing.Message(), "remainingEntries")
	return entries, left.Uint() > 0, nil
}

func listRequest(folder string, after []byte) (protoreflect.Message, error) {
	return message("hadoop.hdfs.GetListingRequestProto", map[protoreflect.Name]protoreflect.Value{
		"src": protoreflect.ValueOfString(folder), "startAfter": protoreflect.ValueOfBytes(after), "needLocation": protoreflect.ValueOfBool(false),
	})
}

// message makes a message of a type that the library has registered.
func message(name protoreflect.FullName, values map[protoreflect.Name]protoreflect.Value) (protoreflect.Message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLibrary, err)
	}
	m := kind.New()
	for name, value := range values {
		field := m.Descriptor().Fields().ByName(name)
		if field == nil {
			return nil, fmt.Errorf("%w: %s has no %s", errLibrary, m.Descriptor().FullName(), name)
		}
		m.Set(field, value)
	}
	return m, nil
}

// field is a field of an answer, and whether it is set.
func field(m protoreflect.Message, name protoreflect.Name) (protoreflect.Value, bool) {
	f := m.Descriptor().Fields().ByName(name)
	return m.Get(f), m.Has(f)
}
