package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/workflows"
)

// readmeSummary is the row of the README that shows what the demo prints: rows read and rows written.
var readmeSummary = regexp.MustCompile(`(?m)^ orders +committed +1 OVERWRITE +(\d+) +(\d+) `)

// The demonstration of the README ends as the README says, and Paimon's own library reads its rows.
func TestDemo(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	shown := readmeSummary.FindSubmatch(readme)
	require.NotNil(t, shown, "the README shows the demo's summary")
	rows, err := strconv.ParseInt(string(shown[1]), 10, 64)
	require.NoError(t, err)
	require.Equal(t, string(shown[1]), string(shown[2]), "the README's rows read and written")

	dir := t.TempDir()
	r := theStack(t).run(t, "demo", "--dir", dir, "--json")
	require.Zero(t, r.code, "%s%s", r.stdout, r.stderr)
	sum := summaryOf(t, r)
	require.Equal(t, workflows.StatusDone, sum.Status)
	require.Len(t, sum.Tables, 1)
	require.Equal(t, rows, sum.Tables[0].Read)
	require.Equal(t, rows, sum.Tables[0].Written)
	require.Equal(t, rows, testenv.Referee(t).Count(t, filepath.Join(dir, "warehouse"), "ods.orders", 1).Rows)
}
