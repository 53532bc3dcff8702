package snapshot

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// abandoned is the age at which a temporary file has no writer any more: it takes milliseconds from its creation to its
// final name.
const abandoned = time.Minute

// ListPending returns the ids of all snapshots, ascending, and those under which somebody is about to publish one: whose
// temporary files, as Paimon and this library name them, lie beside the snapshots.
//
// It matters where files are published by being moved, and a move replaces what is there, as on a local disk. Paimon's
// committers make sure that the id is free after they have made the temporary file, and move it at once. So a snapshot can
// still be replaced while a temporary file of its id is pending, and no more when a listing has shown it without one.
func (m Manager) ListPending(ctx context.Context) (ids, pending []ID, err error) {
	folder := path.Join(m.Table, "snapshot")
	recent := time.Now().Add(-abandoned)
	err = m.Store.List(ctx, folder, func(i fileio.Info) error {
		name, ok := strings.CutPrefix(i.Path, folder+"/")
		if !ok {
			return nil
		}
		if id, ok := idOf(name); ok {
			ids = append(ids, id)
		} else if inner, ok := strings.CutPrefix(name, "."); ok && fileio.IsTemporary(name) && i.Modified.After(recent) {
			inner, _, _ = strings.Cut(inner, ".")
			if id, ok := idOf(inner); ok {
				pending = append(pending, id)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(ids)
	return ids, pending, nil
}

// idOf reads the name of a snapshot file.
func idOf(name string) (ID, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	return ID(n), ok && err == nil && n > 0 && strconv.FormatInt(n, 10) == digits
}
