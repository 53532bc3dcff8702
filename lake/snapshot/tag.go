package snapshot

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/fileio"
)

const tagPrefix = "tag-"

// checkID refuses names of tags and consumers that Paimon refuses or that would leave their folder.
func checkID(what, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("%s name %q: it must not be blank", what, name)
	case strings.ContainsAny(name, "/\\\x00"):
		return fmt.Errorf("%s name %q: it must hold no slash, backslash or NUL", what, name)
	case what == "tag" && strings.Trim(name, "0123456789") == "":
		return fmt.Errorf("%s name %q: it must not be a number, which would be taken for a snapshot", what, name)
	case len(name) > 200:
		return fmt.Errorf("%s name %.40q…: it must not be longer than 200 bytes", what, name)
	}
	return nil
}

// TagPath is where a tag lies in the store.
func (m Manager) TagPath(name string) string { return path.Join(m.Table, "tag", tagPrefix+name) }

// CreateTag keeps a snapshot under a name that is not yet taken: a taken one gives fileio.ErrExist, unless it holds this
// very snapshot.
func (m Manager) CreateTag(ctx context.Context, name string, id ID) error {
	data, err := m.tagContent(ctx, name, id)
	if err != nil {
		return err
	}
	if err := m.Store.CreateExclusive(ctx, m.TagPath(name), data); err != nil {
		return fmt.Errorf("create tag %s: %w", name, err)
	}
	return nil
}

// SetTag keeps a snapshot under a name, whatever snapshot the name kept before.
func (m Manager) SetTag(ctx context.Context, name string, id ID) error {
	data, err := m.tagContent(ctx, name, id)
	if err != nil {
		return err
	}
	if err := fileio.WriteFile(ctx, m.Store, m.TagPath(name), data); err != nil {
		return fmt.Errorf("set tag %s: %w", name, err)
	}
	return nil
}

// tagContent is the snapshot's own file, byte for byte, so that keys of later releases stay.
func (m Manager) tagContent(ctx context.Context, name string, id ID) ([]byte, error) {
	if err := checkID("tag", name); err != nil {
		return nil, err
	}
	s, data, err := m.read(ctx, m.Path(id))
	if err != nil {
		return nil, fmt.Errorf("tag %s: snapshot %d: %w", name, id, err)
	}
	if s.ID != id {
		return nil, fmt.Errorf("tag %s: %s: %w: it says that it is snapshot %d", name, m.Store.URI(m.Path(id)), ErrCorrupt, s.ID)
	}
	return data, nil
}

// Tag returns the snapshot that a tag keeps. An unknown tag gives fileio.ErrNotExist.
func (m Manager) Tag(ctx context.Context, name string) (*Snapshot, error) {
	if err := checkID("tag", name); err != nil {
		return nil, err
	}
	s, _, err := m.read(ctx, m.TagPath(name))
	if err != nil {
		return nil, fmt.Errorf("tag %s: %w", name, err)
	}
	return s, nil
}

// Tags returns the names of all tags, sorted.
func (m Manager) Tags(ctx context.Context) ([]string, error) {
	folder := path.Join(m.Table, "tag")
	var names []string
	err := m.Store.List(ctx, folder, func(info fileio.Info) error {
		if name, ok := strings.CutPrefix(info.Path, folder+"/"+tagPrefix); ok && !strings.Contains(name, "/") {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list tags: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// Views returns all snapshots of the table, oldest first, and those that tags keep behind them.
func (m Manager) Views(ctx context.Context) ([]*Snapshot, error) {
	latest, err := m.LatestID(ctx)
	if err != nil {
		return nil, err
	}
	list, _, err := m.Between(ctx, 0, latest)
	if err != nil {
		return nil, err
	}
	tags, err := m.Tags(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range tags {
		s, err := m.Tag(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// DeleteTag removes a tag; a missing one is no error. Files that only the tag kept become orphans: lake/expire has a
// DeleteTag that removes them as well.
func (m Manager) DeleteTag(ctx context.Context, name string) error {
	if err := checkID("tag", name); err != nil {
		return err
	}
	if err := m.Store.Delete(ctx, m.TagPath(name)); err != nil {
		return fmt.Errorf("delete tag %s: %w", name, err)
	}
	return nil
}
