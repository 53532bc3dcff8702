package testenv_test

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

const goldenTable = "golden.append_all_types"

// warehouse is a copy of the golden warehouse that the test may write to.
func warehouse(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "wh")
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/warehouse")))
	return dir
}

func goldenRows(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/append_all_types.jsonl")
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func TestRefereeReadsGoldenTable(t *testing.T) {
	wh := warehouse(t)
	referee := testenv.Referee(t)
	want := goldenRows(t)
	require.Equal(t, want, referee.Read(t, wh, goldenTable, 0))
	require.Equal(t, want, referee.Read(t, wh, goldenTable, 1))
	require.EqualValues(t, len(want), referee.Count(t, wh, goldenTable, 0).Rows)

	d := referee.Describe(t, wh, goldenTable, 0)
	require.Equal(t, "BUCKET_UNAWARE", d.BucketMode)
	require.Len(t, d.Schemas, 1)
	require.Len(t, d.Snapshots, 1)
	require.EqualValues(t, len(want), d.Snapshots[0].TotalRecordCount)
	require.Equal(t, "APPEND", d.Snapshots[0].CommitKind)
	require.Len(t, d.Files, 1)
	require.FileExists(t, filepath.Join(wh, "golden.db/append_all_types/bucket-0", d.Files[0].Name))
	require.Equal(t, "-9223372036854775808", *d.Files[0].Stats["f_big"].Min)
	require.Equal(t, "9223372036854775807", *d.Files[0].Stats["f_big"].Max)
}

func TestRefereeAnswersWithPaimonsError(t *testing.T) {
	_, err := testenv.Referee(t).Commit(t, warehouse(t), "golden.missing", "u", 1)
	require.ErrorContains(t, err, "TableNotExistException")
}

// messageFile lays the golden commit message out as Tributary stages it.
func messageFile(t *testing.T, schemaID uint64) []byte {
	t.Helper()
	golden, err := os.ReadFile("testdata/append-paimon-1.4.2-v11.bin")
	require.NoError(t, err)
	version, body := golden[:4], golden[4:]
	out := []byte("TRBCMSG1")
	for _, text := range []string{"test/1", "1.4"} {
		out = binary.BigEndian.AppendUint16(out, uint16(len(text)))
		out = append(out, text...)
	}
	out = append(out, version...)
	out = binary.BigEndian.AppendUint64(out, schemaID)
	out = binary.BigEndian.AppendUint32(out, 1)
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
	out = append(out, body...)
	return binary.BigEndian.AppendUint32(out, crc32.Checksum(out, crc32.MakeTable(crc32.Castagnoli)))
}

func TestRefereeCommitsMessageFiles(t *testing.T) {
	wh := warehouse(t)
	referee := testenv.Referee(t)
	file := filepath.Join(t.TempDir(), "message")
	require.NoError(t, os.WriteFile(file, messageFile(t, 0), 0o600))

	s, err := referee.Commit(t, wh, "m.append", "someone", 77, file)
	require.NoError(t, err)
	require.EqualValues(t, 1, s.ID)
	require.Equal(t, "someone", s.CommitUser)
	require.EqualValues(t, 77, s.CommitIdentifier)
	require.EqualValues(t, 2, s.TotalRecordCount)

	d := referee.Describe(t, wh, "m.append", 0)
	require.Len(t, d.Files, 1)
	require.Equal(t, "data-200cf442-4c38-4b5f-8194-d1bc887c916d-0.parquet", d.Files[0].Name)
	require.EqualValues(t, 964, d.Files[0].Size)
	require.Equal(t, "1.00", *d.Files[0].Stats["d"].Max)
	require.Equal(t, "2024-01-01T00:00:00.000001", *d.Files[0].Stats["ts"].Min)
	require.EqualValues(t, 1, *d.Files[0].Stats["ts"].Nulls)
}

func TestRefereeRefusesDamagedMessageFiles(t *testing.T) {
	good := messageFile(t, 0)
	flipped := append([]byte{}, good...)
	flipped[40] ^= 1
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"magic":  {append([]byte("X"), good[1:]...), "does not begin with TRBCMSG1"},
		"crc":    {flipped, "CRC-32C"},
		"short":  {good[:len(good)-9], "CRC-32C"},
		"schema": {messageFile(t, 3), "written for schema 3"},
	} {
		t.Run(name, func(t *testing.T) {
			wh := warehouse(t)
			file := filepath.Join(t.TempDir(), "message")
			require.NoError(t, os.WriteFile(file, c.data, 0o600))
			_, err := testenv.Referee(t).Commit(t, wh, "m.append", "someone", 1, file)
			require.ErrorContains(t, err, c.want)
			require.NoDirExists(t, filepath.Join(wh, "m.db/append/snapshot"))
		})
	}
}

func TestSecondRefereeIsAsked(t *testing.T) {
	script := filepath.Join(t.TempDir(), "other")
	expected, err := filepath.Abs("testdata/append_all_types.jsonl")
	require.NoError(t, err)
	text := "#!/bin/sh\n[ \"$1 $3 $4\" = 'read " + goldenTable + " --sort' ] && cat " + expected + "\n"
	require.NoError(t, os.WriteFile(script, []byte(text), 0o700))
	t.Setenv("TRIBUTARY_REFEREE", script)
	require.Equal(t, goldenRows(t), testenv.Referee(t).Read(t, warehouse(t), goldenTable, 0))
}

func TestRustReaderReadsGoldenTable(t *testing.T) {
	wh := warehouse(t)
	reader := testenv.RustReader(t)
	require.Equal(t, goldenRows(t), reader.Read(t, wh, goldenTable, 0))
	require.Equal(t, goldenRows(t), reader.Read(t, wh, goldenTable, 1))
}

func TestCheckFindsAFileUnlikeItsManifest(t *testing.T) {
	wh := warehouse(t)
	reader := testenv.RustReader(t)
	require.NoError(t, reader.Check(t, wh, goldenTable, 0))

	snapshot := filepath.Join(wh, "golden.db/append_all_types/snapshot/snapshot-1")
	text, err := os.ReadFile(snapshot)
	require.NoError(t, err)
	wrong := strings.Replace(string(text), `"totalRecordCount" : `, `"totalRecordCount" : 1`, 1)
	require.NoError(t, os.WriteFile(snapshot, []byte(wrong), 0o600))
	require.ErrorContains(t, reader.Check(t, wh, goldenTable, 0), "totalRecordCount is 1")

	files, err := filepath.Glob(filepath.Join(wh, "golden.db/append_all_types/bucket-0/*.parquet"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.Remove(files[0]))
	require.ErrorContains(t, reader.Check(t, wh, goldenTable, 0), "do not exist")
}
