package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// TagInfo is a tag with the keys that only some tags have (org.apache.paimon.tag.Tag).
type TagInfo struct {
	Name     string
	Snapshot *Snapshot
	// Created is when the tag was made, as the maker's wall clock showed it, in UTC; the zero time where the tag does not
	// say, as Paimon does for tags without a time to live.
	Created time.Time
	// Retained is how long the tag is to live after Created; 0 means for ever.
	Retained time.Duration
}

// Expired tells whether the tag's time is over on the wall clock that now shows in its location.
func (i *TagInfo) Expired(now time.Time) bool {
	_, offset := now.Zone()
	wall := now.UTC().Add(time.Duration(offset) * time.Second)
	return !i.Created.IsZero() && i.Retained > 0 && wall.After(i.Created.Add(i.Retained))
}

// TagInfo returns a tag with its retention. An unknown tag gives fileio.ErrNotExist.
func (m Manager) TagInfo(ctx context.Context, name string) (*TagInfo, error) {
	if err := checkID("tag", name); err != nil {
		return nil, err
	}
	s, data, err := m.read(ctx, m.TagPath(name))
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", name, err)
	}
	info := &TagInfo{Name: name, Snapshot: s}
	if info.Created, info.Retained, err = parseRetention(data); err != nil {
		return nil, fmt.Errorf("tag %s: %s: %w", name, m.Store.URI(m.TagPath(name)), err)
	}
	return info, nil
}

// CreateTagFor is CreateTag for a tag that is to live only for a while from now on, in whole seconds at least one. Whoever
// cleans the table removes it then.
func (m Manager) CreateTagFor(ctx context.Context, name string, id ID, now time.Time, retained time.Duration) error {
	if retained < time.Second {
		return fmt.Errorf("create tag %s: it is to live for %s; want a second or more", name, retained)
	}
	data, err := m.tagContent(ctx, name, id)
	if err != nil {
		return err
	}
	if err := m.Store.CreateExclusive(ctx, m.TagPath(name), appendRetention(data, now, retained)); err != nil {
		return fmt.Errorf("create tag %s: %w", name, err)
	}
	return nil
}

// appendRetention adds the two keys in the form that Jackson gives a LocalDateTime and a Duration. The snapshot's own text
// stays as it is, so that keys of later releases do.
func appendRetention(data []byte, now time.Time, retained time.Duration) []byte {
	body := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimRight(data, " \r\n\t"), []byte("}")), " \r\n\t")
	return fmt.Appendf(bytes.Clone(body), ",\n  \"tagCreateTime\" : [ %d, %d, %d, %d, %d, %d, %d ],\n  \"tagTimeRetained\" : %d.%09d\n}",
		now.Year(), int(now.Month()), now.Day(), now.Hour(), now.Minute(), now.Second(), now.Nanosecond(),
		retained/time.Second, retained%time.Second)
}

func parseRetention(data []byte) (created time.Time, retained time.Duration, err error) {
	var w struct {
		Created  []int       `json:"tagCreateTime"`
		Retained json.Number `json:"tagTimeRetained"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return created, 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if len(w.Created) > 0 {
		// LocalDateTime leaves out seconds and nanoseconds that are zero.
		if len(w.Created) < 5 || len(w.Created) > 7 {
			return created, 0, fmt.Errorf("%w: tagCreateTime has %d numbers", ErrCorrupt, len(w.Created))
		}
		t := append(w.Created, 0, 0)
		created = time.Date(t[0], time.Month(t[1]), t[2], t[3], t[4], t[5], t[6], time.UTC)
	}
	if w.Retained == "" {
		return created, 0, nil
	}
	whole, fraction, _ := strings.Cut(w.Retained.String(), ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	nanos, fractionErr := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	const most = int64(1<<63-1) / int64(time.Second)
	if err != nil || fractionErr != nil || seconds < 0 || nanos < 0 {
		return created, 0, fmt.Errorf("%w: tagTimeRetained is %.40q", ErrCorrupt, w.Retained.String())
	}
	// 292 years are as good as for ever, and more do not fit.
	return created, time.Duration(min(seconds, most-1))*time.Second + time.Duration(nanos), nil
}

// Branches returns the managers of all branches of the table beside the main one, whose snapshots, tags and schemas have
// folders of their own and whose files lie among the table's (org.apache.paimon.utils.BranchManager).
func (m Manager) Branches(ctx context.Context) ([]Manager, error) {
	folder := path.Join(m.Table, "branch")
	names, err := fileio.Folders(ctx, m.Store, folder)
	if err != nil {
		return nil, fmt.Errorf("list branches: %w", err)
	}
	var list []Manager
	for _, name := range names {
		if strings.HasPrefix(name, "branch-") {
			list = append(list, Manager{Store: m.Store, Table: path.Join(folder, name)})
		}
	}
	return list, nil
}

// changelogPrefix begins the names of snapshots that only stay as changelogs.
const changelogPrefix = "changelog-"

// Changelogs returns the ids of expired snapshots that are kept for their changelog alone, ascending
// (org.apache.paimon.utils.ChangelogManager). Only tables whose changelogs are to outlive their snapshots have any.
func (m Manager) Changelogs(ctx context.Context) ([]ID, error) {
	numbers, err := numbered(ctx, m.Store, path.Join(m.Table, "changelog"), changelogPrefix)
	if err != nil {
		return nil, err
	}
	ids := make([]ID, len(numbers))
	for i, n := range numbers {
		ids[i] = ID(n)
	}
	return ids, nil
}

// ChangelogPath is where such a changelog lies in the store.
func (m Manager) ChangelogPath(id ID) string {
	return path.Join(m.Table, "changelog", changelogPrefix+strconv.FormatInt(int64(id), 10))
}

// Changelog reads what is kept of a snapshot for its changelog. One that never was or has expired gives fileio.ErrNotExist.
func (m Manager) Changelog(ctx context.Context, id ID) (*Snapshot, error) {
	s, _, err := m.read(ctx, m.ChangelogPath(id))
	if err != nil {
		return nil, fmt.Errorf("changelog %d: %w", id, err)
	}
	return s, nil
}

const earliestHint = "EARLIEST"

// EarliestHint returns the snapshot that EARLIEST names, 0 when there is no such hint or it is no number.
func (m Manager) EarliestHint(ctx context.Context) (ID, error) { return m.hint(ctx, earliestHint) }

// WriteEarliest lets EARLIEST name a snapshot. Readers pass over a hint whose snapshot is gone.
func (m Manager) WriteEarliest(ctx context.Context, id ID) error {
	p := path.Join(m.Table, "snapshot", earliestHint)
	if err := fileio.WriteFile(ctx, m.Store, p, []byte(strconv.FormatInt(int64(id), 10))); err != nil {
		return fmt.Errorf("write hint: %w", err)
	}
	return nil
}

// Delete removes a snapshot's own file; a missing one is no error. What the snapshot names must be gone before: nobody finds
// it afterwards.
func (m Manager) Delete(ctx context.Context, id ID) error {
	if err := m.Store.Delete(ctx, m.Path(id)); err != nil {
		return fmt.Errorf("delete snapshot %d: %w", id, err)
	}
	return nil
}
