package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseJob: whatever the input, there is no panic; what parses is the same after its canonical form is parsed.
func FuzzParseJob(f *testing.F) {
	files, err := filepath.Glob("../examples/*")
	require.NoError(f, err)
	for _, file := range append(files, "testdata/contract.yaml") {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	f.Add([]byte(base))
	for _, c := range faults() {
		f.Add([]byte(c.to))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		job, err := ParseJob("job.yaml", data)
		if err != nil {
			require.Nil(t, job)
			return
		}
		written, err := job.JSON()
		require.NoError(t, err)
		again, err := ParseJob("", written)
		require.NoError(t, err, "%s", written)
		require.Equal(t, job, again)
	})
}
