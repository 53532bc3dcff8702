package commit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/partition"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

// statsAtOnce bounds the number of files that are looked at at the same time.
const statsAtOnce = 16

// Check does everything that can refuse a commit, and changes nothing: the schema fits, no conflicting change came since
// the base, and every file is there with its size. Nil means that Publish will go through unless the table changes
// meanwhile, or that the commit is in the table already.
func (c *Committer) Check(ctx context.Context, req Request) error {
	if err := c.check(ctx, &req); err != nil {
		return c.fail("check", err)
	}
	return nil
}

func (c *Committer) check(ctx context.Context, req *Request) error {
	if err := req.validate(); err != nil {
		return err
	}
	if !c.store.Exclusive() {
		return &Error{
			Err:  fmt.Errorf("%w: the store cannot create a file only if it is absent", ErrRefused),
			Hint: "use a store with conditional writes, or a catalog with a lock",
		}
	}
	latest, err := c.checkSchema(ctx, req.Planned)
	if err != nil {
		return err
	}
	h := newHistory(c, req.User, req.Identifier, req.Kind, req.Base)
	if err := h.advance(ctx); err != nil {
		return err
	}
	switch {
	case h.own != nil:
		return nil
	case h.fence != nil:
		return fenced(h)
	case h.hole:
		return &Error{
			Err: fmt.Errorf("%w: snapshots between %d and %d have expired, so a repeated commit could not be recognized",
				ErrRefused, req.Base, h.latest.ID),
			Hint: "plan anew, with a consumer that keeps them",
		}
	}
	if err := c.checkChanges(ctx, req, latest, h); err != nil {
		return err
	}
	return c.checkFiles(ctx, latest, req)
}

// checkChanges makes sure that what the request changes fits the table as it is now.
func (c *Committer) checkChanges(ctx context.Context, req *Request, table *schema.Table, h *history) error {
	layout, err := partition.LayoutOf(c.table, table)
	if err != nil {
		return err
	}
	s, err := scopeOf(req, layout)
	if err != nil {
		return err
	}
	if h.latest != nil && h.latest.IndexManifest != "" && (s != nil || req.Kind == snapshot.Compact) {
		return &Error{Snapshot: h.latest.ID, Err: fmt.Errorf("%w: the table has index files, of which a part cannot be replaced", ErrRefused)}
	}
	if err := c.conflicts(ctx, h, req, s); err != nil {
		return err
	}
	if err := continues(h, req.Continues); err != nil {
		return err
	}
	return c.checkConflicts(ctx, req, table, layout, h.latest)
}

func fenced(h *history) error {
	return &Error{Snapshot: h.fence.ID, Err: ErrFenced, Hint: "start a new run"}
}

// conflicts refuses an overwrite that would remove what others added since the base, and an append that does not know of it
// although it should.
func (c *Committer) conflicts(ctx context.Context, h *history, req *Request, within *scope) error {
	switch req.Kind {
	case snapshot.Overwrite:
		if req.AllowForeign {
			return nil
		}
	case snapshot.Append:
		if !req.Unchanged {
			return nil
		}
	default:
		return nil
	}
	var foreign []*snapshot.Snapshot
	for _, s := range h.foreign {
		touched, err := within.touchedBy(ctx, c.manifests, s)
		if err != nil {
			return err
		}
		if touched {
			foreign = append(foreign, s)
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	const named = 5
	var list []string
	for i, s := range foreign {
		if i == named {
			list = append(list, fmt.Sprintf("and %d more", len(foreign)-named))
			break
		}
		list = append(list, fmt.Sprintf("%d (%s, %+d rows, by %s)", s.ID, s.CommitKind, s.DeltaRecordCount, s.CommitUser))
	}
	if req.Kind == snapshot.Append {
		return &Error{
			Snapshot: foreign[0].ID,
			Err:      fmt.Errorf("%w: others changed the table since snapshot %d, with which the source was compared: %s", ErrConflict, req.Base, strings.Join(list, ", ")),
			Hint:     "run again to compare anew",
		}
	}
	return &Error{
		Snapshot: foreign[0].ID,
		Err:      fmt.Errorf("%w: the overwrite would remove what others wrote since snapshot %d: %s", ErrConflict, req.Base, strings.Join(list, ", ")),
		Hint:     "run again to load on top of it, or set on_conflict: replace to let it be removed",
	}
}

// continues refuses a step that goes on from another state than the chain's newest.
func continues(h *history, c *Continues) error {
	if c == nil {
		return nil
	}
	for i := len(h.foreign) - 1; i >= 0; i-- {
		s := h.foreign[i]
		if s.Properties[c.Chain] != c.Name {
			continue
		}
		if s.Properties[c.State] == c.Value {
			return nil
		}
		return &Error{
			Snapshot: s.ID, Err: fmt.Errorf("%w: a newer commit of %s has moved %s on since this one was planned", ErrConflict, c.Name, c.State),
			Hint: "run again: it goes on from there",
		}
	}
	return nil
}

// checkSchema returns the table's latest schema after making sure that files of the planned one fit into it.
func (c *Committer) checkSchema(ctx context.Context, planned *schema.Table) (*schema.Table, error) {
	latest, err := c.schemas.Latest(ctx)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil, &Error{Err: fmt.Errorf("%w: there is no table here", ErrRefused), Hint: "it was dropped since the plan; plan anew"}
	}
	if err != nil {
		return nil, err
	}
	written, err := c.schemas.Get(ctx, planned.ID)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil, &Error{Err: fmt.Errorf("%w: the table has no schema %d", ErrRefused, planned.ID), Hint: "it was made anew since the plan; plan anew"}
	}
	if err != nil {
		return nil, err
	}
	same, err := sameSchema(planned, written)
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, &Error{
			Err:  fmt.Errorf("%w: the table's schema %d is not the planned one", ErrRefused, planned.ID),
			Hint: "the table was dropped and made anew since the plan; plan anew",
		}
	}
	if err := schema.CompatibleEvolution(planned, latest); err != nil {
		return nil, &Error{Err: fmt.Errorf("%w: %w", ErrRefused, err), Hint: "plan anew"}
	}
	if err := schema.CheckWritable(latest); err != nil {
		return nil, &Error{Err: fmt.Errorf("%w: %w", ErrRefused, err)}
	}
	if _, err := optionsOf(latest); err != nil {
		return nil, &Error{Err: fmt.Errorf("%w: %w", ErrRefused, err), Hint: "correct the option"}
	}
	return latest, nil
}

func sameSchema(a, b *schema.Table) (bool, error) {
	x, err := schema.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := schema.Marshal(b)
	return bytes.Equal(x, y), err
}

// checkFiles makes sure that every file that the request adds is there with its size.
func (c *Committer) checkFiles(ctx context.Context, table *schema.Table, req *Request) error {
	layout, err := partition.LayoutOf(c.table, table)
	if err != nil {
		return err
	}
	o, err := optionsOf(table)
	if err != nil {
		return err
	}
	changes := changesOf(req, table, o)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(statsAtOnce)
	for _, entries := range [][]manifest.Entry{changes.table, changes.changelog} {
		for i := range entries {
			e := &entries[i]
			if e.Kind != manifest.Add {
				continue
			}
			values, err := layout.Values(e.Partition)
			if err != nil {
				return errors.Join(group.Wait(), refusal("a message's partition: %w", err))
			}
			folder := layout.Bucket(values, e.Bucket)
			group.Go(func() error { return c.checkFile(ctx, folder, &e.File) })
		}
	}
	return group.Wait()
}

func (c *Committer) checkFile(ctx context.Context, folder string, f *manifest.DataFile) error {
	p := folder + "/" + f.Name
	if strings.ContainsAny(f.Name, "/\\\x00") {
		return refusal("%q is not a bare file name", f.Name)
	}
	info, err := c.store.Stat(ctx, p)
	switch {
	case errors.Is(err, fileio.ErrNotExist):
		return &Error{
			Path: p, Err: fmt.Errorf("%w: the file is not there", ErrRefused),
			Hint: "another tool's cleaning of orphan files may have removed it; run again",
		}
	case err != nil:
		return err
	case info.Size != f.Size:
		return &Error{Path: p, Err: fmt.Errorf("%w: the file has %d bytes, its message says %d", ErrRefused, info.Size, f.Size), Hint: "run again"}
	}
	for _, extra := range f.ExtraFiles {
		if _, err := c.store.Stat(ctx, folder+"/"+extra); err != nil {
			if errors.Is(err, fileio.ErrNotExist) {
				return &Error{Path: folder + "/" + extra, Err: fmt.Errorf("%w: the file is not there", ErrRefused)}
			}
			return err
		}
	}
	return nil
}
