package lake

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/message"
)

// javaCommitter runs examples/java-committer as its README does, on a release of Paimon.
func javaCommitter(t *testing.T, release string, args ...string) (string, error) {
	t.Helper()
	classPath, err := testenv.PaimonClassPath(t.Context(), release)
	require.NoError(t, err)
	built := testenv.BuildMaven(t, "java-committer", "../../examples/java-committer")
	args = append([]string{"-cp", filepath.Join(built, "java-committer.jar") + ":" + classPath, "example.Committer"}, args...)
	out, err := exec.CommandContext(t.Context(), "java", args...).CombinedOutput()
	return string(out), err
}

func TestJavaCommitterExample(t *testing.T) {
	for _, release := range []string{"1.0.1", testenv.DefaultRelease} {
		t.Run(release, func(t *testing.T) {
			r, warehouse := testenv.RefereeOf(t, release), t.TempDir()
			s := tableSort{}
			r.Create(t, warehouse, messagesTable, s.spec())
			table := openLakeTable(t, warehouse)
			rows := entries(0, 20, "first")
			messages := table.write(rows)
			good := table.keep(r.SerializerVersion(t), messages)

			out, err := javaCommitter(t, release, warehouse, messagesTable, "job", "1", good)
			require.NoError(t, err, out)
			require.Equal(t, "committed", lastLine(out))
			requireRows(t, r, warehouse, s.lines(rows...))
			out, err = javaCommitter(t, release, warehouse, messagesTable, "job", "1", good)
			require.NoError(t, err, out)
			require.Equal(t, "was committed before", lastLine(out))

			newer := table.keep(12, messages) // a version that neither release knows
			out, err = javaCommitter(t, release, warehouse, messagesTable, "job", "2", newer)
			require.Error(t, err)
			require.Contains(t, out, "serializer version 12 (Paimon 2.0, written by tributary/test), this Paimon has")

			snapshots := r.Describe(t, warehouse, messagesTable, 0).Snapshots
			require.Len(t, snapshots, 1)
			require.Equal(t, "job", snapshots[0].CommitUser)
			require.EqualValues(t, 1, snapshots[0].CommitIdentifier)
		})
	}
}

func TestJavaCommitterRefusesDamagedFiles(t *testing.T) {
	warehouse := t.TempDir()
	s := tableSort{}
	testenv.Referee(t).Create(t, warehouse, messagesTable, s.spec())
	table := openLakeTable(t, warehouse)
	good, err := os.ReadFile(table.keep(message.DefaultVersion, table.write(entries(0, 3, "first"))))
	require.NoError(t, err)
	flipped := append([]byte{}, good...)
	flipped[len(flipped)/2] ^= 1
	schema := append([]byte{}, good[:len(good)-4]...)
	// The schema id follows the magic, the producer, the line and the version.
	at := len("TRBCMSG1") + 2 + len("tributary/test") + 2 + len("1.4") + 4
	binary.BigEndian.PutUint64(schema[at:], 3)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"magic":  {append([]byte("X"), good[1:]...), "does not begin with TRBCMSG1"},
		"bytes":  {flipped, "damaged or cut off"},
		"short":  {good[:len(good)-9], "damaged or cut off"},
		"length": {sealed(good[:len(good)-9]), "are left"},
		"long":   {sealed(append(append([]byte{}, good[:len(good)-4]...), 0)), "1 bytes behind the last message"},
		"cut":    {sealed(good[:at]), "ends before its content does"},
		"schema": {sealed(schema), "written with schema 3, the table has 0"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "messages")
			require.NoError(t, os.WriteFile(path, c.data, 0o600))
			out, err := javaCommitter(t, testenv.DefaultRelease, warehouse, messagesTable, "job", "1", path)
			require.Error(t, err)
			require.Contains(t, out, c.want)
		})
	}
	require.NoDirExists(t, filepath.Join(warehouse, "m.db/t/snapshot"))
}

// sealed puts the right checksum behind the content.
func sealed(content []byte) []byte {
	return binary.BigEndian.AppendUint32(append([]byte{}, content...), crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1]
}
