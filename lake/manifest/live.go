package manifest

import (
	"cmp"
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
)

// readAhead is the number of manifests that are read at the same time.
const readAhead = 4

// Filter chooses among entries by their partition, bucket and level, which an Add and its Delete have in common. The zero
// value takes all.
type Filter struct {
	// Manifest tells by a manifest's statistics whether it may hold a wanted entry; nil says yes.
	Manifest func(*FileMeta) bool
	// Entry tells whether an entry is wanted; nil says yes. It may be called from several goroutines.
	Entry func(*Entry) bool
}

func (f Filter) manifests(metas []FileMeta) []FileMeta {
	if f.Manifest == nil {
		return metas
	}
	var kept []FileMeta
	for i := range metas {
		if f.Manifest(&metas[i]) {
			kept = append(kept, metas[i])
		}
	}
	return kept
}

func (f Filter) wants(e *Entry) bool { return f.Entry == nil || f.Entry(e) }

// Live calls fn for every wanted entry that a snapshot's manifests leave in the table: each Add that no Delete takes out,
// whatever their order (AbstractFileStoreScan). Only identities of deleted files and a few manifests are held in memory.
// fn is called from one goroutine; its error ends the reading and is returned.
func (f Folder) Live(ctx context.Context, metas []FileMeta, filter Filter, fn func(*Entry) error) error {
	metas = filter.manifests(metas)
	deleted, err := f.deleted(ctx, metas, filter)
	if err != nil {
		return err
	}
	var adding []FileMeta
	for _, m := range metas {
		if m.Added > 0 {
			adding = append(adding, m)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, reading := errgroup.WithContext(ctx)
	streams := make(chan chan []Entry, readAhead-1) // in order; one more is being handed on
	group.Go(func() error {
		defer close(streams)
		for _, m := range adding {
			stream := make(chan []Entry, 1)
			select {
			case streams <- stream:
			case <-reading.Done():
				return reading.Err()
			}
			group.Go(func() error {
				defer close(stream)
				return f.stream(reading, m, filter, stream)
			})
		}
		return nil
	})
	err = handOn(reading, streams, deleted, fn)
	if err != nil {
		cancel()
	}
	return cmp.Or(err, group.Wait())
}

// handOn calls fn for the entries of all streams in their order.
func handOn(reading context.Context, streams chan chan []Entry, deleted map[string]bool, fn func(*Entry) error) error {
	for stream := range streams {
		for entries := range stream {
			if reading.Err() != nil {
				return nil // the error is a reader's
			}
			for i := range entries {
				if len(deleted) > 0 && deleted[entries[i].Identity()] {
					continue
				}
				if err := fn(&entries[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// chunk is the number of entries that are handed on together: what is read ahead stays small however many a manifest has.
const chunk = 1000

// stream reads the wanted Adds of a manifest.
func (f Folder) stream(ctx context.Context, m FileMeta, filter Filter, out chan<- []Entry) error {
	var entries []Entry
	send := func() error {
		select {
		case out <- entries:
			entries = nil
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := f.ReadManifest(ctx, m, func(e *Entry) error {
		if e.Kind != Add || !filter.wants(e) {
			return nil
		}
		if entries = append(entries, *e); len(entries) < chunk {
			return nil
		}
		return send()
	})
	if err != nil || len(entries) == 0 {
		return err
	}
	return send()
}

// Deleted returns the identities of all Deletes of manifests.
func (f Folder) Deleted(ctx context.Context, metas []FileMeta) (map[string]bool, error) {
	return f.deleted(ctx, metas, Filter{})
}

func (f Folder) deleted(ctx context.Context, metas []FileMeta, filter Filter) (map[string]bool, error) {
	var deleting []FileMeta
	for _, m := range metas {
		if m.Deleted > 0 {
			deleting = append(deleting, m)
		}
	}
	deleted := map[string]bool{}
	var mu sync.Mutex
	err := f.readEach(ctx, deleting, func(_ int, e *Entry) {
		if e.Kind == Delete && filter.wants(e) {
			id := e.Identity()
			mu.Lock()
			defer mu.Unlock()
			deleted[id] = true
		}
	})
	return deleted, err
}

// readEach reads manifests in parallel; fn is called from several goroutines with the manifest's place.
func (f Folder) readEach(ctx context.Context, metas []FileMeta, fn func(int, *Entry)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readAhead)
	for i, m := range metas {
		group.Go(func() error {
			return f.ReadManifest(ctx, m, func(e *Entry) error {
				fn(i, e)
				return nil
			})
		})
	}
	return group.Wait()
}
