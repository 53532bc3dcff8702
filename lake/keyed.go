package lake

import (
	"context"
	"errors"
	"fmt"

	"github.com/tributary-lake/tributary/lake/datafile"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/mergetree"
	"github.com/tributary-lake/tributary/lake/message"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
)

// keyFiles makes the files of key tables: rows of a bucket are sorted by key, and one remains of each key
// (org.apache.paimon.mergetree.MergeTreeWriter).
type keyFiles struct {
	w         *Writer
	spec      *mergetree.Spec
	level     int32
	changelog bool
	// held are the bytes in the memory of all sorters.
	held int
	runs int // number of the next spilled run
}

// keyPart is what keyFiles knows of a part.
type keyPart struct {
	sorter *mergetree.Sorter // nil when nothing is held
	// writers are those of the files being made.
	writers          []*mergetree.Writer
	files, changelog []manifest.DataFile
}

func newKeyFiles(w *Writer) (*keyFiles, error) {
	spec, err := mergetree.SpecOf(w.table.schema)
	if err == nil {
		err = spec.CheckWritable()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", schema.ErrNotWritable, err)
	}
	k := &keyFiles{w: w, spec: spec}
	// Nobody reads the changelog of an overwrite: its commit leaves the files out.
	k.changelog = spec.Producer == mergetree.ProducerInput && !w.opts.Overwrite
	switch {
	case w.opts.TopLevel && !w.opts.Overwrite:
		return nil, errors.New("files of the top level would overlap those that are there: write them for an overwrite only")
	case w.opts.TopLevel:
		k.level = int32(w.options.NumLevels - 1)
	case spec.Engine == mergetree.FirstRow:
		return nil, fmt.Errorf("%w: merge-engine = first-row hides new files until a compaction of another engine; only an overwrite "+
			"with files of the top level can be seen", schema.ErrNotWritable)
	}
	if k.changelog && w.opts.ChangelogPrefix == "" {
		return nil, errors.New("changelog-producer = input needs a prefix for the names of changelog files")
	}
	// What cannot be compressed as wanted is found before any row is taken.
	for _, changelog := range []bool{false, k.changelog} {
		if _, err := k.codec(changelog); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// codec compresses data or changelog files.
func (k *keyFiles) codec(changelog bool) (*datafile.Codec, error) {
	name, level, err := k.spec.Compression(k.level, changelog)
	if err != nil {
		return nil, err
	}
	return k.w.opts.Codecs.get(name, level)
}

// write implements filer.
func (k *keyFiles) write(ctx context.Context, p *part, b *row.Batch, rows []int32, kinds []row.Kind) error {
	if p.keyed.sorter == nil {
		if err := k.begin(p); err != nil {
			return err
		}
	}
	before := p.keyed.sorter.Memory()
	var err error
	if rows == nil {
		err = p.keyed.sorter.Write(ctx, b, kinds)
	} else {
		err = p.keyed.sorter.WriteRows(ctx, b, rows, kinds)
	}
	if err != nil {
		return err
	}
	k.held += p.keyed.sorter.Memory() - before
	return k.shrink(ctx)
}

// shrink implements filer.
func (k *keyFiles) shrink(ctx context.Context) error {
	for k.held > k.memory() {
		before := k.held
		if err := k.relieve(ctx); err != nil {
			return err
		}
		if k.held >= before {
			break // what is left is what sorters need to work at all
		}
	}
	return nil
}

// memory bounds what all sorters hold; as much again is for reading runs at the end, when the others still hold rows.
func (k *keyFiles) memory() int { return k.w.memory() / 2 }

func (k *keyFiles) begin(p *part) error {
	sorter, err := mergetree.NewSorter(k.spec, mergetree.SortOptions{
		Memory: k.memory(), Store: k.w.opts.Spill, Folder: k.w.opts.SpillFolder, BeforeFile: k.w.opts.Guard,
		Name: func(int) string {
			k.runs++
			return fmt.Sprintf("run-%d", k.runs)
		},
		FirstSequence: p.sequence,
		Merge:         mergetree.MergeOptions{Unmerged: k.changelog, DropDeletes: k.dropDeletes()},
	})
	if err != nil {
		return err
	}
	p.keyed.sorter = sorter
	return nil
}

// dropDeletes tells whether rows that take away may go: below the top level is nothing that they could take away.
func (k *keyFiles) dropDeletes() bool { return k.level > 0 }

// relieve lets the part that holds most give its memory back: by a spilled run or, where there is no store for these, by
// files of level 0, of which there may be any number.
func (k *keyFiles) relieve(ctx context.Context) error {
	var most *part
	for _, p := range k.w.router.order {
		if p.keyed.sorter != nil && (most == nil || p.keyed.sorter.Memory() > most.keyed.sorter.Memory()) {
			most = p
		}
	}
	switch {
	case most == nil:
		return nil
	case k.w.opts.Spill != nil:
		before := most.keyed.sorter.Memory()
		if err := most.keyed.sorter.Spill(ctx); err != nil {
			return err
		}
		k.held += most.keyed.sorter.Memory() - before
		return nil
	case k.level > 0:
		return fmt.Errorf("%w: files of the top level cannot be made in parts", mergetree.ErrMemory)
	}
	return k.flush(ctx, most)
}

// flush makes files of what a part's sorter has.
func (k *keyFiles) flush(ctx context.Context, p *part) error {
	sorter := p.keyed.sorter
	k.held -= sorter.Memory()
	p.sequence = sorter.NextSequence()
	sorted, err := sorter.Sorted(ctx)
	if err != nil {
		return err
	}
	data, err := k.writer(p, false)
	if err != nil {
		return errors.Join(err, sorted.Close())
	}
	if !k.changelog {
		if err := data.WriteAll(ctx, sorted); err != nil {
			return err
		}
	} else if err := k.flushBoth(ctx, p, data, sorted); err != nil {
		return err
	}
	files, err := data.Close()
	if err != nil {
		return err
	}
	p.keyed.files = append(p.keyed.files, files...)
	p.keyed.sorter, p.keyed.writers = nil, nil
	return sorter.Close(ctx)
}

// flushBoth writes all rows to changelog files and what remains of them to data files.
func (k *keyFiles) flushBoth(ctx context.Context, p *part, data *mergetree.Writer, sorted mergetree.Source) error {
	changes, err := k.writer(p, true)
	if err != nil {
		return errors.Join(err, sorted.Close())
	}
	merged := mergetree.Merge(k.spec, []mergetree.Source{mergetree.Tee(sorted, changes.Write)}, mergetree.MergeOptions{})
	if err := data.WriteAll(ctx, merged); err != nil {
		return err
	}
	files, err := changes.Close()
	p.keyed.changelog = append(p.keyed.changelog, files...)
	return err
}

func (k *keyFiles) writer(p *part, changelog bool) (*mergetree.Writer, error) {
	prefix := k.w.opts.Prefix
	if changelog {
		prefix = k.w.opts.ChangelogPrefix
	}
	codec, err := k.codec(changelog)
	if err != nil {
		return nil, err
	}
	w, err := mergetree.NewWriter(k.spec, mergetree.WriterOptions{
		File:  datafile.Options{Codec: codec, RowGroupBytes: k.w.opts.RowGroupBytes}.WithBlockSize(k.w.options.BlockSize),
		Store: k.w.table.store, Folder: p.folder, BeforeFile: k.w.opts.Guard,
		Name:  func(int) string { return k.w.name(p, prefix) },
		Level: k.level, Source: manifest.SourceAppend, Changelog: changelog, TargetSize: k.w.options.TargetFileSize,
	})
	if err == nil {
		p.keyed.writers = append(p.keyed.writers, w)
	}
	return w, err
}

// finish implements filer.
func (k *keyFiles) finish(ctx context.Context, p *part) (message.DataIncrement, error) {
	if p.keyed.sorter != nil {
		if err := k.flush(ctx, p); err != nil {
			return message.DataIncrement{}, err
		}
	}
	return message.DataIncrement{NewFiles: p.keyed.files, ChangelogFiles: p.keyed.changelog}, nil
}

// abort implements filer.
func (k *keyFiles) abort(ctx context.Context, p *part) error {
	var errs []error
	if p.keyed.sorter != nil {
		errs = append(errs, p.keyed.sorter.Close(ctx))
	}
	for _, w := range p.keyed.writers {
		errs = append(errs, w.Abort(ctx))
	}
	p.keyed = keyPart{}
	return errors.Join(errs...)
}

// bytes implements filer.
func (k *keyFiles) bytes(p *part) int64 {
	n := sizeOf(p.keyed.files) + sizeOf(p.keyed.changelog)
	for _, w := range p.keyed.writers {
		n += w.Size()
	}
	return n
}

// sizeOf is the size of files in bytes.
func sizeOf(files []manifest.DataFile) int64 {
	n := int64(0)
	for _, f := range files {
		n += f.Size
	}
	return n
}
