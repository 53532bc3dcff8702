package compact_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/lake"
	"github.com/tributary-lake/tributary/lake/commit"
	"github.com/tributary-lake/tributary/lake/compact"
	"github.com/tributary-lake/tributary/lake/expire"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
	"github.com/tributary-lake/tributary/lake/manifest"
	"github.com/tributary-lake/tributary/lake/orphan"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/lake/snapshot"
)

func TestSmallFilesOfAnAppendTable(t *testing.T) {
	b := newBed(t, nil, []string{"part"}, nil)
	var want []string
	for i := range 5 {
		b.write(rowOf{id: i, part: 1, text: "x"}, rowOf{id: i + 10, part: 2, text: "y"})
		want = append(want, fmt.Sprintf("%d 1 x", i), fmt.Sprintf("%d 2 y", i+10))
	}
	b.write(rowOf{id: 5, part: 1, text: "z"})
	want = append(want, "5 1 z")
	for i := range 4 {
		b.write(rowOf{id: i, part: 3, text: "few"})
		want = append(want, fmt.Sprintf("%d 3 few", i))
	}
	slices.Sort(want)
	before := b.latest()

	r := b.run(compact.Options{})
	require.Equal(t, before+1, r.Snapshot)
	require.Equal(t, []int{11, 2}, []int{r.Before, r.After}, "five and six files become two; four are too few")
	require.Equal(t, want, b.sorted(0))
	require.Equal(t, want, b.sorted(before), "the snapshot before stays readable")
	s, err := snapshot.NewManager(b.store, tablePath).Get(t.Context(), r.Snapshot)
	require.NoError(t, err)
	require.Equal(t, snapshot.Compact, s.CommitKind)
	require.Equal(t, int64(len(want)), s.TotalRecordCount)
	for folder, rows := range map[string]int64{"part=1/bucket-0": 6, "part=2/bucket-0": 5} {
		files := b.files()[folder]
		require.Len(t, files, 1)
		require.Equal(t, rows, files[0].DataFile.Rows)
		require.Equal(t, manifest.SourceCompact, *files[0].DataFile.Source)
		require.Equal(t, int32(schema.BucketUnaware), files[0].TotalBuckets)
	}
	require.Len(t, b.files()["part=3/bucket-0"], 4)

	require.Zero(t, b.run(compact.Options{}), "there is nothing left to do")
	r = b.run(compact.Options{Full: true})
	require.Equal(t, []int{4, 1}, []int{r.Before, r.After})
	require.Zero(t, b.run(compact.Options{Full: true}))
	require.Equal(t, want, b.sorted(0))
}

func TestWantedChoosesPartitions(t *testing.T) {
	b := newBed(t, nil, []string{"part"}, nil)
	for i := range 2 {
		b.write(rowOf{id: i, part: 1, text: "x"}, rowOf{id: i, part: 2, text: "x"})
	}
	r := b.run(compact.Options{Full: true, Wanted: func(p []row.Value, bucket int32) bool { return p[0].I64 == 2 && bucket == 0 }})
	require.Equal(t, []int{2, 1}, []int{r.Before, r.After})
	require.Len(t, b.files()["part=1/bucket-0"], 2)
	require.Len(t, b.files()["part=2/bucket-0"], 1)
}

// noise is text that does not compress well.
func noise(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(byte('!' + r.IntN(90)))
	}
	return b.String()
}

// TestBucketsKeepTheirOrder has large files between small ones: rows of a bucket come in the order in which they were
// written, by sequence numbers, before and after.
func TestBucketsKeepTheirOrder(t *testing.T) {
	b := newBed(t, nil, nil, map[string]string{"bucket": "2", "bucket-key": "part", "target-file-size": "8 kb"})
	random := rand.New(rand.NewPCG(1, 2))
	want := map[int][]int{} // ids by value of the bucket key
	id := 0
	for _, n := range []int{1, 1, 1, 200, 1, 1, 200, 1} {
		var rows []rowOf
		for range n {
			rows = append(rows, rowOf{id: id, part: id % 5, text: noise(random, 100)})
			want[id%5] = append(want[id%5], id)
			id++
			rows = append(rows, rowOf{id: id, part: id % 5, text: "x"})
			want[id%5] = append(want[id%5], id)
			id++
		}
		b.write(rows...)
	}
	order := func() map[int][]int {
		got := map[int][]int{}
		for _, files := range b.files() {
			last := int64(-1)
			for _, f := range files {
				require.Greater(t, f.DataFile.MinSequence, last, "sequence numbers of files meet")
				last = f.DataFile.MaxSequence
				require.Equal(t, f.DataFile.Rows, last-f.DataFile.MinSequence+1)
				for _, r := range b.read(f) {
					got[r.part] = append(got[r.part], r.id)
				}
			}
		}
		return got
	}
	require.Equal(t, want, order())
	before := len(b.onDisk())
	r := b.run(compact.Options{Full: true})
	require.Greater(t, r.Before, r.After)
	require.Equal(t, want, order())
	require.Greater(t, len(b.onDisk()), before)
	b.write(rowOf{id: id, part: 0, text: "later"})
	want[0] = append(want[0], id)
	require.Equal(t, want, order())
}

// read returns the rows of one file.
func (b *bed) read(f lake.File) []rowOf {
	b.Helper()
	p, err := b.table.Plan(b.Context(), lake.ScanOptions{})
	require.NoError(b, err)
	var rows []rowOf
	require.NoError(b, p.Read(b.Context(), &lake.Split{Partition: f.Partition, Bucket: f.Bucket, Files: []lake.File{f}}, func(batch *row.Batch) error {
		for i := range batch.Rows {
			rows = append(rows, rowOf{id: int(batch.Columns[0].Value(i).I64), part: int(batch.Columns[1].Value(i).I64)})
		}
		return nil
	}))
	return rows
}

func TestFilesOfTheTargetSizeAreLeftAlone(t *testing.T) {
	b := newBed(t, nil, nil, map[string]string{"target-file-size": "16 kb"})
	random := rand.New(rand.NewPCG(3, 4))
	for range 6 {
		var rows []rowOf
		for i := range 40 {
			rows = append(rows, rowOf{id: i, text: noise(random, 100)})
		}
		b.write(rows...)
	}
	want := b.sorted(0)
	r := b.run(compact.Options{RowGroupBytes: 2048})
	require.Equal(t, 6, r.Before)
	require.Less(t, r.After, 6)
	require.Greater(t, r.After, 1, "files end at the target size")
	require.Equal(t, want, b.sorted(0))
	for range 4 {
		if b.run(compact.Options{Full: true, RowGroupBytes: 2048}).Snapshot == 0 {
			return
		}
		require.Equal(t, want, b.sorted(0))
	}
	t.Fatal("compaction never comes to rest")
}

// Rows written under an older schema are written anew in the latest one, as a reader sees them.
func TestCompactionTakesUpTheLatestSchema(t *testing.T) {
	for name, b := range map[string]*bed{
		"append": newBed(t, nil, nil, nil),
		"keyed":  newBed(t, []string{"id"}, nil, map[string]string{"bucket": "1"}),
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			b.write(rowOf{id: 1, text: "old"})
			b.alter(schema.AddColumn(schema.Field{Name: "more", Type: schema.StringType()}, schema.First()), schema.RenameColumn("text", "words"))
			b.alter(schema.ChangeType("part", schema.Of(schema.BigInt)))
			b.write(rowOf{id: 2, text: "new"})
			want := []string{"null 1 0 old", "new 2 0 new"}
			slices.Sort(want)
			require.Equal(t, want, b.sorted(0))
			require.Equal(t, 1, b.run(compact.Options{Full: true}).After)
			require.Equal(t, want, b.sorted(0))
			for _, files := range b.files() {
				require.Equal(t, schema.ID(2), files[0].DataFile.SchemaID)
			}
		})
	}
}

// TestKeyTablesAgainstAModel makes random changes and compactions, and compares with a map.
func TestKeyTablesAgainstAModel(t *testing.T) {
	for name, options := range map[string]map[string]string{
		"deduplicate":    {"bucket": "2", "target-file-size": "6 kb"},
		"one bucket":     {"bucket": "1"},
		"partial update": {"bucket": "1", "merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
		"sequence field": {"bucket": "2", "sequence.field": "text"},
		"changelog":      {"bucket": "1", "changelog-producer": "input"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, []string{"id", "part"}, []string{"part"}, options)
			random := rand.New(rand.NewPCG(5, 6))
			model := map[string]string{} // text by "id part"
			for range 25 {
				var rows []rowOf
				low, taken := random.IntN(300), map[string]bool{}
				for range 1 + random.IntN(60) {
					r := rowOf{id: low + random.IntN(40), part: random.IntN(2), text: noise(random, 1+random.IntN(60))}
					if random.IntN(5) == 0 && name != "sequence field" {
						r.kind = row.Delete
					}
					if random.IntN(6) == 0 && name == "partial update" {
						r.text = ""
					}
					// A delete of a partial update that is followed by another row of its key in one commit is no more known
					// to have been; so it is in Java.
					if key := fmt.Sprint(r.id, r.part); name != "partial update" || !taken[key] {
						taken[key] = true
						rows = append(rows, r)
						apply(model, r, name)
					}
				}
				b.write(rows...)
				if random.IntN(3) == 0 {
					b.run(compact.Options{})
					atRest(t, b)
				}
				require.Equal(t, linesOf(model), b.sorted(0))
			}
			b.run(compact.Options{})
			atRest(t, b)
			require.Equal(t, linesOf(model), b.sorted(0))
			require.Zero(t, b.run(compact.Options{}))
		})
	}
}

func apply(model map[string]string, r rowOf, engine string) {
	key := fmt.Sprintf("%d %d", r.id, r.part)
	old, known := model[key]
	switch {
	case r.kind == row.Delete:
		delete(model, key)
	case engine == "partial update" && r.text == "":
		if !known {
			model[key] = "null"
		}
	case engine == "sequence field" && known && old > r.text:
	default:
		model[key] = r.text
	}
}

func linesOf(model map[string]string) []string {
	var lines []string
	for key, text := range model {
		lines = append(lines, key+" "+text)
	}
	slices.Sort(lines)
	return lines
}

// atRest asks that all is as a full compaction leaves it.
func atRest(t *testing.T, b *bed) {
	t.Helper()
	for _, folder := range b.folders() {
		for _, f := range b.files()[folder] {
			require.Equal(t, int32(5), f.DataFile.Level)
			require.Zero(t, *f.DataFile.DeleteRows)
		}
	}
}

// A file that meets no other is lifted as it is: no byte is written, and it outlives the snapshots that showed it below.
func TestALoneFileIsLifted(t *testing.T) {
	b := newBed(t, []string{"id"}, nil, map[string]string{"bucket": "1"})
	b.write(rowOf{id: 1, text: "a"}, rowOf{id: 2, text: "b"})
	disk := b.onDisk()
	r := b.run(compact.Options{})
	require.Equal(t, []int{1, 1}, []int{r.Before, r.After})
	require.Equal(t, disk, b.onDisk())
	require.Equal(t, int32(5), b.files()["bucket-0"][0].DataFile.Level)
	_, err := expire.Expire(t.Context(), b.store, tablePath, expire.Options{RetainMin: 1, RetainMax: 1})
	require.NoError(t, err)
	require.Equal(t, disk, b.onDisk())
	require.Equal(t, []string{"1 0 a", "2 0 b"}, b.sorted(0))
}

// Deletes of keys that never were leave nothing behind.
func TestABucketOfDeletesVanishes(t *testing.T) {
	b := newBed(t, []string{"id"}, nil, map[string]string{"bucket": "1"})
	b.write(rowOf{id: 1, kind: row.Delete})
	r := b.run(compact.Options{})
	require.Equal(t, []int{1, 0}, []int{r.Before, r.After})
	require.Empty(t, b.files())
	require.Empty(t, b.rows(0))
	b.write(rowOf{id: 1, text: "again"})
	require.Equal(t, []string{"1 0 again"}, b.rows(0))
}

func TestNothingToDo(t *testing.T) {
	b := newBed(t, nil, nil, nil)
	require.Zero(t, b.run(compact.Options{Full: true}), "a table without snapshots")
	_, err := compact.Run(t.Context(), b.store, "db.db/other", "u", 1, compact.Options{})
	require.ErrorIs(t, err, fileio.ErrNotExist)
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		keys    []string
		options map[string]string
		is      error
		want    string
	}{
		"lookup":           {[]string{"id"}, map[string]string{"bucket": "1", "changelog-producer": "lookup"}, compact.ErrRefused, "record what changed"},
		"full-compaction":  {[]string{"id"}, map[string]string{"bucket": "1", "changelog-producer": "Full-Compaction"}, compact.ErrRefused, "record what changed"},
		"dynamic buckets":  {[]string{"id"}, nil, schema.ErrNotWritable, "bucket = -1"},
		"aggregation":      {[]string{"id"}, map[string]string{"bucket": "1", "merge-engine": "aggregation"}, schema.ErrNotWritable, "aggregation"},
		"deletion vectors": {nil, map[string]string{"deletion-vectors.enabled": "true"}, schema.ErrNotWritable, "deletion-vectors"},
		"row tracking":     {nil, map[string]string{"row-tracking.enabled": "true"}, schema.ErrNotWritable, "row-tracking"},
		"small file ratio": {nil, map[string]string{"compaction.small-file-ratio": "much"}, nil, "compaction.small-file-ratio"},
		"minimum":          {nil, map[string]string{"compaction.min.file-num": "-1"}, nil, "compaction.min.file-num"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, c.keys, nil, c.options)
			_, err := compact.New(t.Context(), b.store, tablePath, compact.Options{})
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
}

// busy is a key table with something to merge, something to lift and something to leave alone.
func busy(t *testing.T) (*bed, []string) {
	t.Helper()
	b := newBed(t, []string{"id", "part"}, []string{"part"}, map[string]string{"bucket": "1"})
	b.write(rowOf{id: 1, part: 0, text: "a"}, rowOf{id: 2, part: 0, text: "b"}, rowOf{id: 1, part: 1, text: "lift"})
	b.write(rowOf{id: 2, part: 0, kind: row.Delete}, rowOf{id: 3, part: 0, text: "c"})
	return b, []string{"1 0 a", "1 1 lift", "3 0 c"}
}

func TestSweep(t *testing.T) {
	for name, fault := range map[string]func(k, n int) faultio.Fault{
		"one step not done": func(k, n int) faultio.Fault {
			if n == k {
				return faultio.FailBefore
			}
			return faultio.None
		},
		"one step done, answer lost": func(k, n int) faultio.Fault {
			if n == k {
				return faultio.FailAfter
			}
			return faultio.None
		},
		"dead from a step on": func(k, n int) faultio.Fault {
			if n >= k {
				return faultio.FailBefore
			}
			return faultio.None
		},
	} {
		t.Run(name, func(t *testing.T) {
			for k := 0; ; k++ {
				b, want := busy(t)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				var failed atomic.Bool
				_, err := compact.Run(ctx, faultio.New(b.store, func(op faultio.Op) faultio.Fault {
					f := fault(k, op.N)
					if f != faultio.None {
						failed.Store(true)
						if strings.HasPrefix(name, "dead") {
							cancel() // nobody waits for retries
						}
					}
					return f
				}), tablePath, "compactor", 1, compact.Options{})
				cancel()
				require.Equal(t, want, b.sorted(0))
				require.Equal(t, want, b.sorted(2))
				if !failed.Load() {
					require.NoError(t, err)
					require.Greater(t, k, 20)
					return
				}
				if err != nil {
					require.True(t, errors.Is(err, faultio.ErrInjected) || errors.Is(err, context.Canceled), err)
				}
				_, err = compact.Run(t.Context(), b.store, tablePath, "compactor", 2, compact.Options{})
				require.NoError(t, err)
				atRest(t, b)
				require.Equal(t, want, b.sorted(0))
				_, err = orphan.Remove(t.Context(), b.store, tablePath, orphan.Options{OlderThan: time.Now().Add(time.Hour), Force: true})
				require.NoError(t, err)
				require.Equal(t, want, b.sorted(0))
				require.Equal(t, want, b.sorted(2))
			}
		})
	}
}

// before runs an action before the compaction publishes its snapshot.
func before(b *bed, action func()) fileio.Store {
	done := false
	return faultio.New(b.store, func(op faultio.Op) faultio.Fault {
		if op.Kind == faultio.CreateExclusive && !done {
			done = true
			action()
		}
		return faultio.None
	})
}

// Another compaction was faster: the slower one is told so, its files are gone, and what the faster one lifted stays.
func TestTheSlowerOfTwoCompactionsLoses(t *testing.T) {
	b, want := busy(t)
	var faster []string
	s := before(b, func() {
		b.run(compact.Options{Prefix: "faster-"})
		faster = b.onDisk()
	})
	_, err := compact.Run(t.Context(), s, tablePath, "slower", 1, compact.Options{Prefix: "slower-"})
	require.ErrorIs(t, err, commit.ErrConflict)
	require.Equal(t, want, b.sorted(0))
	var left []string
	for _, name := range faster {
		if !strings.HasPrefix(name, "slower-") {
			left = append(left, name)
		}
	}
	require.Less(t, len(left), len(faster), "the slower one had made a file")
	require.Equal(t, left, b.onDisk())
}

// Rows that come while a compaction works stay, and win over what was merged.
func TestRowsThatComeMeanwhileStay(t *testing.T) {
	b, _ := busy(t)
	s := before(b, func() { b.write(rowOf{id: 1, part: 0, text: "newer"}, rowOf{id: 3, part: 0, kind: row.Delete}) })
	_, err := compact.Run(t.Context(), s, tablePath, "c", 1, compact.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"1 0 newer", "1 1 lift"}, b.sorted(0))
	b.run(compact.Options{})
	atRest(t, b)
	require.Equal(t, []string{"1 0 newer", "1 1 lift"}, b.sorted(0))
}

// An outcome that is unknown keeps the files: the compaction may be in the table, and here is.
func TestUnknownOutcomeKeepsTheFiles(t *testing.T) {
	b, want := busy(t)
	var published atomic.Bool
	_, err := compact.Run(t.Context(), faultio.New(b.store, func(op faultio.Op) faultio.Fault {
		switch {
		case op.Kind == faultio.CreateExclusive:
			published.Store(true)
			return faultio.FailAfter
		case published.Load() && op.Kind != faultio.Delete:
			return faultio.FailBefore
		}
		return faultio.None
	}), tablePath, "c", 1, compact.Options{})
	require.ErrorIs(t, err, commit.ErrOutcomeUnknown)
	require.Equal(t, want, b.sorted(0))
	atRest(t, b)
}

func TestGuardEndsTheCompaction(t *testing.T) {
	b, want := busy(t)
	disk, stop := b.onDisk(), errors.New("stop")
	_, err := compact.Run(t.Context(), b.store, tablePath, "c", 1, compact.Options{Guard: func(context.Context) error { return stop }})
	require.ErrorIs(t, err, stop)
	require.Equal(t, disk, b.onDisk())
	require.Equal(t, want, b.sorted(0))
}
