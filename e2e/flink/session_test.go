package flink

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// session is a Flink that runs one SQL statement after the other on a warehouse.
type session struct {
	in  io.Writer
	out *bufio.Reader
	log string // what the JVM says on stderr
}

// startSession starts a JVM that ends with the test.
func startSession(t *testing.T, warehouse string) *session {
	t.Helper()
	classPath := testenv.JavaProgram(t, "flink", ".")
	java := []string{
		"-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8",
		"--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
		"--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.time=ALL-UNNAMED",
		"-cp", classPath, "tributary.flink.Session", warehouse, "/dev/stdin",
	}
	cmd := exec.CommandContext(t.Context(), "java", java...)
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	s := &session{in: in, out: bufio.NewReader(out), log: filepath.Join(cmd.Dir, "log")}
	log, err := os.Create(s.log)
	require.NoError(t, err)
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	require.NoError(t, log.Close())      // the JVM has its own
	t.Cleanup(func() { _ = cmd.Wait() }) // its context is over: it was killed
	return s
}

// run runs a statement to its end and returns its rows, JSON objects as Session.java says.
func (s *session) run(t *testing.T, statement string) []string {
	t.Helper()
	_, err := io.WriteString(s.in, statement+";\n")
	require.NoError(t, err, "the JVM has ended: %s", s.stderr())
	var rows []string
	for {
		line, err := s.out.ReadString('\n')
		require.NoError(t, err, "the JVM has ended in %s: %s", statement, s.stderr())
		line = strings.TrimSuffix(line, "\n")
		if line == "ok" {
			return rows
		}
		if trace, failed := strings.CutPrefix(line, "failed "); failed {
			var text string
			require.NoError(t, json.Unmarshal([]byte(trace), &text))
			require.FailNow(t, statement, text)
		}
		rows = append(rows, line)
	}
}

func (s *session) stderr() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// column returns the only column of a statement's rows.
func (s *session) column(t *testing.T, statement string) []string {
	t.Helper()
	var all []string
	for _, line := range s.run(t, statement) {
		var values map[string]string
		require.NoError(t, json.Unmarshal([]byte(line), &values))
		require.Len(t, values, 1)
		for _, v := range values {
			all = append(all, v)
		}
	}
	return all
}
