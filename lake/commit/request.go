package commit

import (
	"fmt"
	"math"

	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// Request is one commit. All tries of it carry the same values.
type Request struct {
	// User and Identifier name the commit: a user that is one logical job, and a number that grows with the job's commits
	// on the table. Neither is ever used for another commit. The largest int64 is refused: Java's batch jobs use it, and a
	// user that had it could never commit again.
	User       string
	Identifier int64
	// Kind is snapshot.Append, which adds the messages' files, snapshot.Overwrite, which replaces files of the table by
	// them, or snapshot.Compact, which replaces the messages' own files and leaves the rows as they are. What a writer
	// compacted on the way becomes a second snapshot, of kind Compact.
	Kind snapshot.Kind
	// Messages name the files; an Overwrite without any leaves what it replaces empty.
	Messages []*message.Commit
	// Replace says what an Overwrite takes away; nil is all files of the table.
	Replace *Replace
	// Planned is the schema that the files were written with.
	Planned *schema.Table
	// Base is the latest snapshot when the commit was planned, 0 when there was none. Whatever of this request is in the
	// table came after it. The snapshots after it must be kept from expiring by a consumer until the outcome is recorded:
	// once one of them is gone it cannot be told whether the commit was it. So 0 is no default for a table that has snapshots.
	Base snapshot.ID
	// AllowForeign lets an Overwrite remove what another writer added after Base.
	AllowForeign bool
	// Alone tells that an Append's rows are to be later than all rows that their buckets have: it is ErrOvertaken when a bucket
	// has a row whose sequence number is not below those of the request.
	Alone bool
	// Unchanged tells that an Append's rows were chosen by what the whole table had: it is ErrConflict when another writer added
	// or removed rows after Base.
	Unchanged bool
	// Continues, unless nil, makes the commit a step of a chain: it is ErrConflict when another was committed since Base.
	Continues *Continues
	// AllowEmpty publishes a snapshot even for an Append without files. Otherwise there is none, as in Java.
	AllowEmpty bool
	// Properties and Watermark go into the snapshot; the watermark, in milliseconds since 1970, never lowers the table's.
	Properties map[string]string
	Watermark  *int64

	// follows marks the second half of a commit, whose first half added the messages' rows.
	follows bool
}

// Continues tells from where a commit goes on. The snapshots of a chain are known by a property, and each hands another on.
type Continues struct {
	// Chain is the property that names the chain, Name its value.
	Chain, Name string
	// State is the property that is handed on, and Value what it was in the chain's newest snapshot up to Base, empty for none. A
	// newer one must have the same.
	State, Value string
}

// validate refuses requests that no state of the table could make right.
func (r *Request) validate() error {
	switch {
	case r.User == "":
		return refusal("the request has no user")
	case r.Identifier < 0 || r.Identifier == math.MaxInt64:
		return refusal("identifier %d: it must be from 0 to %d", r.Identifier, int64(math.MaxInt64-1))
	case r.Kind != snapshot.Append && r.Kind != snapshot.Overwrite && r.Kind != snapshot.Compact:
		return refusal("kind %q: APPEND, OVERWRITE and COMPACT are known", r.Kind)
	case r.Kind != snapshot.Overwrite && r.Replace != nil:
		return refusal("only an OVERWRITE replaces partitions")
	case r.Planned == nil:
		return refusal("the request has no schema")
	case r.Base < 0:
		return refusal("base snapshot %d", r.Base)
	}
	seen := map[string]bool{}
	for _, m := range r.Messages {
		if err := r.checkMessage(m); err != nil {
			return err
		}
		for i := range m.Data.NewFiles {
			if name := m.Data.NewFiles[i].Name; seen[name] {
				return refusal("file %s is named twice", name)
			}
			seen[m.Data.NewFiles[i].Name] = true
		}
	}
	return nil
}

func (r *Request) checkMessage(m *message.Commit) error {
	d, k := &m.Data, &m.Compact
	switch {
	case len(d.DeletedFiles) > 0:
		return refusal("a message of a writer that deletes files, which is not supported")
	case len(d.NewIndexFiles)+len(d.DeletedIndexFiles)+len(k.NewIndexFiles)+len(k.DeletedIndexFiles) > 0:
		return refusal("a message with index files, of a table with deletion vectors or dynamic buckets, which are not supported")
	case r.Kind == snapshot.Compact && len(d.NewFiles)+len(d.ChangelogFiles) > 0 && !r.follows:
		return refusal("a COMPACT with a message that adds rows: commit it as an APPEND, which publishes both")
	}
	for _, files := range [][]manifest.DataFile{d.NewFiles, d.ChangelogFiles, k.After, k.ChangelogFiles} {
		for i := range files {
			// What a writer read in order to compact it may be of any schema, and so may be what it only lifted to another level.
			if f := &files[i]; f.SchemaID > r.Planned.ID || f.SchemaID != r.Planned.ID && !m.Compacts() {
				return refusal("file %s was written with schema %d, planned was %d", f.Name, f.SchemaID, r.Planned.ID)
			}
			if files[i].ExternalPath != nil {
				return refusal("file %s lies outside of the table, which is not supported", files[i].Name)
			}
		}
	}
	return r.checkBucket(m)
}

// checkBucket refuses messages of a table with another distribution than planned.
func (r *Request) checkBucket(m *message.Commit) error {
	o, err := r.Planned.ParseOptions()
	if err != nil {
		return refusal("%w", err)
	}
	total := int32(o.Bucket)
	if m.TotalBuckets != nil {
		total = *m.TotalBuckets
	}
	switch {
	case o.Bucket == schema.BucketUnaware && total != schema.BucketUnaware:
		return refusal("a message for a table of %d buckets, and the table has none", total)
	case o.Bucket == schema.BucketUnaware && m.Bucket != 0:
		return refusal("a message for bucket %d: tables without buckets have bucket 0 only", m.Bucket)
	case o.Bucket > 0 && (total < 1 || m.Bucket < 0 || m.Bucket >= total):
		return refusal("a message for bucket %d of %d: the table has buckets from 0", m.Bucket, total)
	}
	return r.checkKeys(m)
}

// checkKeys makes sure that the bounds of the primary key are there, which decide what readers merge.
func (r *Request) checkKeys(m *message.Commit) error {
	order := newKeyOrder(r.Planned)
	for _, files := range [][]manifest.DataFile{m.Data.NewFiles, m.Compact.Before, m.Compact.After} {
		for i := range files {
			c, err := order.compare(files[i].MinKey, files[i].MaxKey)
			if err != nil {
				return refusal("file %s: smallest and largest key: %w", files[i].Name, err)
			}
			if c > 0 {
				return refusal("file %s: its smallest key is above its largest", files[i].Name)
			}
		}
	}
	return nil
}

func refusal(format string, args ...any) error {
	return &Error{Err: fmt.Errorf("%w: "+format, append([]any{ErrRefused}, args...)...)}
}

// empty tells whether the request names no file.
func (r *Request) empty() bool {
	for _, m := range r.Messages {
		if r.Kind == snapshot.Compact && m.Compacts() || r.Kind != snapshot.Compact && len(m.Data.NewFiles)+len(m.Data.ChangelogFiles) > 0 {
			return false
		}
	}
	return true
}

// nothing tells whether publishing the request would change nothing, so that there is no snapshot, as in Java.
func (r *Request) nothing() bool {
	dropping := r.Kind == snapshot.Overwrite && (r.Replace == nil || !r.Replace.Touched)
	return r.empty() && !r.AllowEmpty && !dropping
}

// compaction is the request that publishes what the writers of the messages compacted, nil where they did not.
func (r *Request) compaction() *Request {
	if r.Kind == snapshot.Compact {
		return nil
	}
	for _, m := range r.Messages {
		if m.Compacts() {
			return &Request{
				User: r.User, Identifier: r.Identifier, Kind: snapshot.Compact, Messages: r.Messages, Planned: r.Planned, Base: r.Base,
				follows: true,
			}
		}
	}
	return nil
}
