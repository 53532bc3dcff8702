package activities_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/lake/fileio/faultio"
)

func checksums(t *testTable) { t.Checksums = true }

// By default nothing is read again; with checksums every data file is, before its unit is claimed.
func TestChecksumsReadEveryFileAgain(t *testing.T) {
	for name, job := range map[string]testJob{"counts": orders(), "checksums": orders(checksums)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.begin(job, "r1")
			opened := map[string]bool{}
			p := w.faulty(func(op faultio.Op) faultio.Fault {
				if op.Kind == faultio.Open && strings.Contains(op.Path, "/bucket-") {
					opened[op.Path] = true
				}
				return faultio.None
			})
			for unit := range 6 {
				_, err := call(t.Context(), p.write, unitOf("r1", unit))
				require.NoError(t, err)
			}
			require.Len(t, opened, map[string]int{"counts": 0, "checksums": 6}[name])
			w.commitRun("r1")
			require.ElementsMatch(t, w.source().lines(), w.rows())
		})
	}
}

// rotten changes a byte of every data file on its way to the disk.
type rotten struct{ fileio.Store }

func (r rotten) Create(ctx context.Context, p string) (fileio.Writer, error) {
	w, err := r.Store.Create(ctx, p)
	return &rottenWriter{Writer: w}, err
}

type rottenWriter struct {
	fileio.Writer
	at int
}

func (w *rottenWriter) Write(p []byte) (int, error) {
	const victim = 40 // within the first page
	if i := victim - w.at; i >= 0 && i < len(p) {
		p = append([]byte(nil), p...)
		p[i] ^= 0x10
	}
	w.at += len(p)
	return w.Writer.Write(p)
}

// What a disk did to a file is found before the unit is claimed, and the files are removed.
func TestChecksumsFindWhatADiskDid(t *testing.T) {
	w := newWorld(t)
	w.begin(orders(checksums), "r1")
	p := w.with(func(s fileio.Store) fileio.Store { return s })
	p.warehouse = rotten{w.warehouse}
	_, err := call(t.Context(), p.write, unitOf("r1", 0))
	require.ErrorContains(t, err, "one/shop/a, split 0")
	require.False(t, exists(t, w.staging, ledgerFile("r1", "splits", "000000")))
	require.Empty(t, w.dataFiles())
}

func TestChecksumsOfKeyTablesAreNotYet(t *testing.T) {
	w := newWorld(t)
	job := orders(checksums, keyed("id"))
	_, err := call(t.Context(), w.prepare, activities.PrepareInput{Job: job.json(t), Run: "r1"})
	require.NoError(t, err)
	_, err = call(t.Context(), w.plan, activities.PlanInput{TableRun: part("r1")})
	refused(t, err, activities.TypePlanRefused, "checksums is not available yet")
}
