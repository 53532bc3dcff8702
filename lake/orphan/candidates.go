package orphan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-lake/tributary/lake/fileio"
)

// candidates are the files that are orphans unless something names them.
type candidates struct {
	// named holds files by their bare name, which is all that is compared: names are unique, and where they are not, one
	// mention keeps all.
	named map[string][]fileio.Info
	// junk are files that nothing ever names: what is no snapshot in the folders of snapshots.
	junk []fileio.Info
}

// drop takes a file out that something names.
func (c *candidates) drop(name string) { delete(c.named, name) }

// keep takes files out by their paths.
func (c *candidates) keep(kept func(path string) bool) {
	isKept := func(i fileio.Info) bool { return kept(i.Path) }
	c.junk = slices.DeleteFunc(c.junk, isKept)
	for name, infos := range c.named {
		if infos = slices.DeleteFunc(infos, isKept); len(infos) == 0 {
			delete(c.named, name)
		} else {
			c.named[name] = infos
		}
	}
}

// list finds the candidates among a table's files.
func list(ctx context.Context, store fileio.Store, table string, keys int, wanted func(fileio.Info) bool) (*candidates, error) {
	c := &candidates{named: map[string][]fileio.Info{}}
	err := store.List(ctx, table, func(i fileio.Info) error {
		below, ok := strings.CutPrefix(i.Path, table+"/")
		if !ok {
			return nil
		}
		parts := strings.Split(below, "/")
		name := parts[len(parts)-1]
		switch {
		case inHistory(parts):
			if !isHistory(parts) && wanted(i) {
				c.junk = append(c.junk, i)
			}
		case mayBeNamed(parts, keys) && wanted(i):
			c.named[name] = append(c.named[name], i)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", store.URI(table), err)
	}
	return c, nil
}

// mayBeNamed tells whether a file lies where snapshots name files.
func mayBeNamed(parts []string, keys int) bool {
	if len(parts) == 2 && (parts[0] == "manifest" || parts[0] == "index" || parts[0] == "statistics") {
		return true
	}
	if len(parts) != keys+2 || !strings.HasPrefix(parts[keys], "bucket-") {
		return false
	}
	for _, p := range parts[:keys] {
		if !strings.Contains(p, "=") {
			return false
		}
	}
	// Paimon packs blobs of several files into ones that only these files name.
	return !strings.HasSuffix(parts[keys+1], ".managed.blob")
}

// history is the path within a branch.
func history(parts []string) []string {
	if len(parts) > 2 && parts[0] == "branch" && strings.HasPrefix(parts[1], "branch-") {
		return parts[2:]
	}
	return parts
}

// inHistory tells whether a file lies right in the folder of a branch's snapshots or changelogs.
func inHistory(parts []string) bool {
	h := history(parts)
	return len(h) == 2 && (h[0] == "snapshot" || h[0] == "changelog")
}

// isHistory tells whether such a file is a snapshot, a changelog or a hint.
func isHistory(parts []string) bool {
	h := history(parts)
	return strings.HasPrefix(h[1], h[0]+"-") || h[1] == "EARLIEST" || h[1] == "LATEST"
}
