package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/message"
)

// MessageInfo is what a commit-message file holds.
type MessageInfo struct {
	File              string `json:"file"`
	Producer          string `json:"producer"`
	PaimonLine        string `json:"paimon_line"`
	SerializerVersion int    `json:"serializer_version"`
	SchemaID          int64  `json:"schema_id"`
	// Files, Rows and Bytes count the new data files of all messages.
	Files    int            `json:"files"`
	Rows     int64          `json:"rows"`
	Bytes    int64          `json:"bytes"`
	Messages []MessageEntry `json:"messages"`
}

// MessageEntry is one commit message: what one writer made for one partition and bucket.
type MessageEntry struct {
	// Partition is the serialized BinaryRow in hexadecimal digits: its types are the table's and not in the file.
	Partition    string        `json:"partition"`
	Bucket       int32         `json:"bucket"`
	TotalBuckets *int32        `json:"total_buckets,omitempty"`
	NewFiles     []MessageFile `json:"new_files"`
	// Others counts what else the message brings: deleted and changelog files, index files, and files of a compaction.
	Others int `json:"other_files"`
}

// MessageFile is a new data file of a commit message.
type MessageFile struct {
	Name        string `json:"name"`
	Rows        int64  `json:"rows"`
	Bytes       int64  `json:"bytes"`
	MinSequence int64  `json:"min_sequence"`
	MaxSequence int64  `json:"max_sequence"`
}

// maxMessageFile bounds what is read as a commit-message file.
const maxMessageFile = 1 << 30

// Message shows a commit-message file: a path, relative to the working directory or absolute, or a URI.
func Message(ctx context.Context, file string) (*MessageInfo, error) {
	data, err := readMessageFile(ctx, file)
	if err != nil {
		return nil, err
	}
	return messageInfo(file, data)
}

func readMessageFile(ctx context.Context, file string) ([]byte, error) {
	folder, name := path.Split(file)
	if !strings.HasPrefix(file, "file:") && !inS3(file) && !inHDFS(file) {
		absolute, err := filepath.Abs(file)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", file, err)
		}
		folder, name = filepath.Dir(absolute), filepath.Base(absolute)
	}
	store, err := newStores(new(config.Masker)).open(ctx, folder, StoreSettings{})
	if err != nil {
		return nil, err
	}
	return fileio.ReadFile(ctx, store, name, maxMessageFile)
}

func messageInfo(file string, data []byte) (*MessageInfo, error) {
	f, err := message.ReadFile(file, data, message.AnySchema)
	if err != nil {
		return nil, err
	}
	info := &MessageInfo{
		File: file, Producer: f.Producer, PaimonLine: f.PaimonLine, SerializerVersion: f.SerializerVersion,
		SchemaID: int64(f.SchemaID), Messages: []MessageEntry{},
	}
	for _, m := range f.Messages {
		e := messageEntry(m)
		for _, d := range e.NewFiles {
			info.Files++
			info.Rows += d.Rows
			info.Bytes += d.Bytes
		}
		info.Messages = append(info.Messages, e)
	}
	return info, nil
}

func messageEntry(m *message.Commit) MessageEntry {
	d, c := &m.Data, &m.Compact
	e := MessageEntry{
		Partition: fmt.Sprintf("%x", m.Partition), Bucket: m.Bucket, TotalBuckets: m.TotalBuckets, NewFiles: []MessageFile{},
		Others: len(d.DeletedFiles) + len(d.ChangelogFiles) + len(d.NewIndexFiles) + len(d.DeletedIndexFiles) +
			len(c.Before) + len(c.After) + len(c.ChangelogFiles) + len(c.NewIndexFiles) + len(c.DeletedIndexFiles),
	}
	for i := range d.NewFiles {
		f := &d.NewFiles[i]
		e.NewFiles = append(e.NewFiles, MessageFile{
			Name: f.Name, Rows: f.Rows, Bytes: f.Size, MinSequence: f.MinSequence, MaxSequence: f.MaxSequence,
		})
	}
	return e
}

// Extracted tells what ExtractMessages wrote.
type Extracted struct {
	Directory string `json:"directory"`
	// Files are the messages, in the order of the file that they came from.
	Files []string `json:"files"`
	// Index is the name of the file that holds the MessageIndex.
	Index string `json:"index"`
	MessageIndex
}

// MessageIndex stands beside extracted messages: what is needed to read them and is not in them.
type MessageIndex struct {
	// SerializerVersion is that of Paimon's CommitMessageSerializer; reading with another one gives nonsense.
	SerializerVersion int `json:"serializer_version"`
	// PaimonLine and Producer are for people.
	PaimonLine string `json:"paimon_line"`
	Producer   string `json:"producer"`
	// SchemaID is the version of the table's schema that the files were written with.
	SchemaID int64 `json:"schema_id"`
	Count    int   `json:"count"`
}

// messageIndex is written last: where it stands, all messages do.
const messageIndex = "messages.json"

// ExtractMessages writes each message of a commit-message file into a file of its own below dir: message-1.bin and so on
// with the bytes of Paimon's CommitMessageSerializer and nothing else, and messages.json, the MessageIndex. The directory
// is made; one that holds anything is refused, so that nothing is overwritten or mixed.
func ExtractMessages(ctx context.Context, file, dir string) (*Extracted, error) {
	data, err := readMessageFile(ctx, file)
	if err != nil {
		return nil, err
	}
	info, err := messageInfo(file, data)
	if err != nil {
		return nil, err
	}
	bodies, err := message.Bodies(file, data)
	if err != nil {
		return nil, err
	}
	if err := emptyDirectory(dir); err != nil {
		return nil, err
	}
	out := &Extracted{Directory: dir, Files: []string{}, Index: messageIndex, MessageIndex: MessageIndex{
		SerializerVersion: info.SerializerVersion, PaimonLine: info.PaimonLine, Producer: info.Producer,
		SchemaID: info.SchemaID, Count: len(bodies),
	}}
	for i, body := range bodies {
		name := fmt.Sprintf("message-%d.bin", i+1)
		if err := writeNew(filepath.Join(dir, name), body); err != nil {
			return nil, err
		}
		out.Files = append(out.Files, name)
	}
	index, err := json.MarshalIndent(out.MessageIndex, "", "  ")
	if err != nil {
		return nil, err
	}
	return out, writeNew(filepath.Join(dir, messageIndex), append(index, '\n'))
}

// emptyDirectory makes dir, or finds it empty.
func emptyDirectory(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.MkdirAll(dir, 0o755)
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%s holds %s already: name a new or empty directory, nothing is overwritten", dir, entries[0].Name())
	}
	if err != nil {
		return fmt.Errorf("extract to %s: %w", dir, err)
	}
	return nil
}

func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("extract: write %s: %w", path, err)
	}
	return nil
}
