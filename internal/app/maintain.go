package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tributary-lake/tributary/activities/upkeep"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/compact"
	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/orphan"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

var (
	// ErrRefused is returned for tables to which it is not done what was asked. Nothing was changed.
	ErrRefused = errors.New("nothing was changed")
	// ErrUnknown is returned when it cannot be told whether a compaction is in the table. Nothing was deleted.
	ErrUnknown = errors.New("it is not known whether the compaction is committed")
)

// refusal classifies the errors of tables that another tool must see to.
func refusal(err error) error {
	if errors.Is(err, compact.ErrRefused) || errors.Is(err, expire.ErrUnsupported) || errors.Is(err, schema.ErrNotWritable) {
		return fmt.Errorf("%w: %w (Paimon's own procedures may do it)", ErrRefused, err)
	}
	return err
}

// Compacted tells what a compaction did.
type Compacted struct {
	Table string `json:"table"`
	// Snapshot is the compaction's, 0 when there was nothing to do. User is its commit user.
	Snapshot    int64  `json:"snapshot"`
	User        string `json:"user"`
	FilesBefore int    `json:"files_before"`
	FilesAfter  int    `json:"files_after"`
	BytesBefore int64  `json:"bytes_before"`
	BytesAfter  int64  `json:"bytes_after"`
}

// Compact makes few large files of a table's many small ones in a snapshot of its own, with full also where that is little
// gain. It is safe beside runs and other writers: the rows stay as they are, and when a file that was replaced is gone
// meanwhile the compaction fails and the table is as it was. See ErrRefused and ErrUnknown.
func (l *Lake) Compact(ctx context.Context, name string, full bool) (*Compacted, error) {
	id, _, err := l.find(ctx, name)
	if err != nil {
		return nil, err
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	user := "tributary-compact-" + hex.EncodeToString(random[:])
	r, err := compact.Run(ctx, l.store, l.catalog.Path(id), user, 1, compact.Options{Full: full})
	switch {
	case errors.Is(err, commit.ErrOutcomeUnknown):
		return nil, fmt.Errorf("%w: %w; no row is at risk: look for a snapshot of user %s, or compact again, which does what is left; files in no snapshot are orphans in a day",
			ErrUnknown, err, user)
	case errors.Is(err, commit.ErrConflict):
		return nil, fmt.Errorf("the table was changed by another commit meanwhile and is as that left it: compact again: %w", err)
	case err != nil:
		return nil, refusal(err)
	}
	return &Compacted{
		Table: id.String(), Snapshot: int64(r.Snapshot), User: user, FilesBefore: r.Before, FilesAfter: r.After,
		BytesBefore: r.BytesBefore, BytesAfter: r.BytesAfter,
	}, nil
}

// ExpireOptions say which snapshots stay. Zero values leave it to the table's options.
type ExpireOptions struct {
	// RetainMin and RetainMax are the numbers of newest snapshots that stay at least and at most.
	RetainMin, RetainMax int
	// OlderThan is the moment before which a snapshot must have been replaced by the next one.
	OlderThan time.Time
	// Remove does it; otherwise it is only told what would go.
	Remove bool
}

// Expired tells what an expiry took out of a table, or would.
type Expired struct {
	Table string `json:"table"`
	// Removed tells that it is done.
	Removed bool `json:"removed"`
	// Tags whose time to live is over.
	Tags      []string `json:"tags"`
	Snapshots []int64  `json:"snapshots"`
	// Earliest is the first snapshot that stays, 0 when the table has none.
	Earliest int64 `json:"earliest"`
	// Files are the addresses of files that nothing else shows.
	DataFiles     []string `json:"data_files"`
	MetadataFiles []string `json:"metadata_files"`
}

// Expire takes the tags whose time is over and the oldest snapshots out of a table, and the files that only they showed, until
// none is left that is to go. See ErrRefused.
func (l *Lake) Expire(ctx context.Context, name string, o ExpireOptions) (*Expired, error) {
	id, _, err := l.find(ctx, name)
	if err != nil {
		return nil, err
	}
	folder := l.catalog.Path(id)
	out := &Expired{Table: id.String(), Removed: o.Remove, Tags: []string{}, Snapshots: []int64{}, DataFiles: []string{}, MetadataFiles: []string{}}
	if err := l.expireTags(ctx, folder, out); err != nil {
		return nil, refusal(err)
	}
	options := expire.Options{RetainMin: o.RetainMin, RetainMax: o.RetainMax, OlderThan: o.OlderThan, DryRun: !o.Remove}
	if !o.Remove {
		options.Limit = math.MaxInt32 // one look tells all
	}
	for {
		r, err := expire.Expire(ctx, l.store, folder, options)
		if err != nil {
			return nil, refusal(err)
		}
		l.addExpired(out, r)
		out.Earliest = int64(r.Earliest)
		if !o.Remove || len(r.Snapshots) == 0 {
			return out, nil
		}
	}
}

func (l *Lake) addExpired(out *Expired, r *expire.Result) {
	for _, s := range r.Snapshots {
		out.Snapshots = append(out.Snapshots, int64(s))
	}
	for _, p := range r.DataFiles {
		out.DataFiles = append(out.DataFiles, l.store.URI(p))
	}
	for _, p := range r.Metadata {
		out.MetadataFiles = append(out.MetadataFiles, l.store.URI(p))
	}
}

// expireTags deletes the tags whose time is over, as Paimon does after its commits.
func (l *Lake) expireTags(ctx context.Context, folder string, out *Expired) error {
	m := snapshot.NewManager(l.store, folder)
	names, err := m.Tags(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, name := range names {
		info, err := m.TagInfo(ctx, name)
		if errors.Is(err, fileio.ErrNotExist) {
			continue // somebody deleted it
		}
		if err != nil {
			return err
		}
		if !info.Expired(now) {
			continue
		}
		r, err := l.deleteTag(ctx, folder, name, out.Removed)
		if err != nil {
			return err
		}
		out.Tags = append(out.Tags, name)
		l.addExpired(out, r)
	}
	return nil
}

// OrphanOptions say what is taken for an orphan.
type OrphanOptions struct {
	// OlderThan is the moment before which a file was last changed; the zero time stands for a day ago. A later moment needs
	// Force, which is for tables to which nobody writes.
	OlderThan time.Time
	Force     bool
	// Staging are the roots of the ledgers of runs that may write to the table.
	Staging []string
	// Remove removes them; otherwise they are only shown.
	Remove bool
}

// Orphans are the files in a table's folders that nothing names.
type Orphans struct {
	Table string `json:"table"`
	// Removed tells that they are gone.
	Removed bool         `json:"removed"`
	Files   []OrphanFile `json:"files"`
	Bytes   int64        `json:"bytes"`
	// Kept counts files that are as old and unnamed and belong to Runs, those that have not been settled, as JOB/RUN/TABLE.
	Kept int      `json:"kept"`
	Runs []string `json:"runs"`
}

// OrphanFile is a file that nothing names.
type OrphanFile struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

// Orphans finds the files of a table that neither a snapshot nor a tag nor an unsettled run below a staging root has a use
// for, and removes them if told to.
func (l *Lake) Orphans(ctx context.Context, name string, o OrphanOptions) (*Orphans, error) {
	id, _, err := l.find(ctx, name)
	if err != nil {
		return nil, err
	}
	var roots []fileio.Store
	for _, uri := range o.Staging {
		store, err := l.openStaging(ctx, uri)
		if err != nil {
			return nil, err
		}
		roots = append(roots, store)
	}
	u := upkeep.NewUnsettled(ctx, roots...)
	act := orphan.Find
	if o.Remove {
		act = orphan.Remove
	}
	found, err := act(ctx, l.store, l.catalog.Path(id), orphan.Options{OlderThan: o.OlderThan, Force: o.Force, Keep: u.Keep})
	if errors.Is(err, orphan.ErrUnreadable) {
		return nil, fmt.Errorf("%w: nothing was removed: finish an expiry that was cut off, with `starter table expire`, and try again", err)
	}
	if err = errors.Join(u.Err(), err); err != nil {
		return nil, err
	}
	out := &Orphans{Table: id.String(), Removed: o.Remove, Files: []OrphanFile{}, Kept: u.Kept(), Runs: u.Runs()}
	for _, f := range found {
		out.Files = append(out.Files, OrphanFile{Path: l.store.URI(f.Path), Bytes: f.Size, Modified: f.Modified.UTC()})
		out.Bytes += f.Size
	}
	return out, nil
}

// CheckStaging refuses a staging root below which there is nothing: most likely its name is wrong.
func (l *Lake) CheckStaging(ctx context.Context, uri string) error {
	store, err := l.openStaging(ctx, uri)
	if err != nil {
		return err
	}
	found := errors.New("found")
	err = store.List(ctx, "", func(fileio.Info) error { return found })
	switch {
	case errors.Is(err, found):
		return nil
	case err != nil:
		return fmt.Errorf("staging root %s: %w", uri, err)
	}
	return fmt.Errorf("below the staging root %s there is nothing: correct its name, or leave it out", uri)
}

func (l *Lake) openStaging(ctx context.Context, uri string) (fileio.Store, error) {
	store, err := l.stores.open(ctx, uri, l.settings)
	if err != nil {
		return nil, fmt.Errorf("staging root %s: %w", uri, err)
	}
	return store, nil
}
