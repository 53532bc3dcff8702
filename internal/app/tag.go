package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// TagsInfo are the tags of a table, by name.
type TagsInfo struct {
	Table string    `json:"table"`
	Tags  []TagInfo `json:"tags"`
}

// TagInfo is a name that keeps a snapshot.
type TagInfo struct {
	Name     string       `json:"name"`
	Snapshot SnapshotInfo `json:"snapshot"`
	// Expires is when its time to live is over, on the wall clock of whoever made it, without a zone; empty for never. Expired
	// tells that it is over: the next expiry deletes the tag.
	Expires string `json:"expires,omitempty"`
	Expired bool   `json:"expired"`
}

// Untagged tells what deleting a tag removed, or would.
type Untagged struct {
	Table string `json:"table"`
	Tag   string `json:"tag"`
	// Removed tells that it is done.
	Removed bool `json:"removed"`
	// Snapshot that the tag kept.
	Snapshot int64 `json:"snapshot"`
	// Files are the addresses of files that only the tag showed.
	DataFiles     []string `json:"data_files"`
	MetadataFiles []string `json:"metadata_files"`
}

// Tags shows the tags of a table.
func (l *Lake) Tags(ctx context.Context, name string) (*TagsInfo, error) {
	id, _, err := l.find(ctx, name)
	if err != nil {
		return nil, err
	}
	m := snapshot.NewManager(l.store, l.catalog.Path(id))
	names, err := m.Tags(ctx)
	if err != nil {
		return nil, err
	}
	out := &TagsInfo{Table: id.String(), Tags: []TagInfo{}}
	for _, n := range names {
		info, err := m.TagInfo(ctx, n)
		if errors.Is(err, fileio.ErrNotExist) {
			continue // somebody deleted it
		}
		if err != nil {
			return nil, err
		}
		out.Tags = append(out.Tags, tagInfo(info))
	}
	return out, nil
}

func tagInfo(i *snapshot.TagInfo) TagInfo {
	out := TagInfo{Name: i.Name, Snapshot: snapshotInfo(i.Snapshot), Expired: i.Expired(time.Now())}
	if !i.Created.IsZero() && i.Retained > 0 {
		out.Expires = i.Created.Add(i.Retained).Format(time.DateTime)
	}
	return out
}

// Tag keeps a snapshot of a table, 0 being the latest, under a name that is free or keeps it already; for ever, or as long as
// retained says.
func (l *Lake) Tag(ctx context.Context, name, tag string, id int64, retained time.Duration) (*TagInfo, error) {
	o, err := l.open(ctx, name, id)
	if err != nil {
		return nil, err
	}
	if o.snapshot == nil {
		return nil, fmt.Errorf("table %s has no snapshot to be tagged: nothing has been committed yet", o.id)
	}
	if retained == 0 {
		err = o.snapshots.CreateTag(ctx, tag, o.snapshot.ID)
	} else {
		err = o.snapshots.CreateTagFor(ctx, tag, o.snapshot.ID, time.Now(), retained)
	}
	if errors.Is(err, fileio.ErrExist) {
		return nil, fmt.Errorf("table %s has a tag %s already: choose another name, or delete it with `starter table untag`: %w", o.id, tag, err)
	}
	if err != nil {
		return nil, err
	}
	info, err := o.snapshots.TagInfo(ctx, tag)
	if err != nil {
		return nil, err
	}
	out := tagInfo(info)
	return &out, nil
}

// Untag deletes a tag and the files that only it showed, if told to. See ErrRefused.
func (l *Lake) Untag(ctx context.Context, name, tag string, remove bool) (*Untagged, error) {
	id, _, err := l.find(ctx, name)
	if err != nil {
		return nil, err
	}
	folder := l.catalog.Path(id)
	m := snapshot.NewManager(l.store, folder)
	names, err := m.Tags(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, tag) {
		if len(names) == 0 {
			return nil, fmt.Errorf("table %s has no tag %s, and no other", id, tag)
		}
		return nil, fmt.Errorf("table %s has no tag %s: it has %s", id, tag, some(names))
	}
	kept, err := m.Tag(ctx, tag)
	if err != nil {
		return nil, err
	}
	r, err := l.deleteTag(ctx, folder, tag, remove)
	if err != nil {
		return nil, refusal(err)
	}
	files := &Expired{DataFiles: []string{}, MetadataFiles: []string{}}
	l.addExpired(files, r)
	return &Untagged{
		Table: id.String(), Tag: tag, Removed: remove, Snapshot: int64(kept.ID),
		DataFiles: files.DataFiles, MetadataFiles: files.MetadataFiles,
	}, nil
}

// deleteTag tells which files only a tag shows, and removes it and them if told to. A tag's manifests also name files that
// were replaced before it was made; of these only what is still there is told.
func (l *Lake) deleteTag(ctx context.Context, folder, tag string, remove bool) (*expire.Result, error) {
	r, err := expire.DeleteTag(ctx, l.store, folder, tag, true)
	if err != nil {
		return nil, err
	}
	if r.DataFiles, err = l.present(ctx, r.DataFiles); err != nil {
		return nil, err
	}
	if r.Metadata, err = l.present(ctx, r.Metadata); err != nil {
		return nil, err
	}
	if remove {
		_, err = expire.DeleteTag(ctx, l.store, folder, tag, false)
	}
	return r, err
}

// present leaves out the paths of files that are not there.
func (l *Lake) present(ctx context.Context, paths []string) ([]string, error) {
	var list []string
	for _, p := range paths {
		_, err := l.store.Stat(ctx, p)
		switch {
		case err == nil:
			list = append(list, p)
		case !errors.Is(err, fileio.ErrNotExist):
			return nil, err
		}
	}
	return list, nil
}
