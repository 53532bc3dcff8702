package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func fileWith(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLoadJob_Overrides(t *testing.T) {
	t.Setenv("TRIBUTARY_TEMPORAL_ADDRESS", "temporal:7233")
	t.Setenv("TRIBUTARY_RUN_PARALLELISM", "7")
	t.Setenv("TRIBUTARY_RUN_MEMORY", "256MiB")
	t.Setenv("TRIBUTARY_RUN_RETENTION", "1h")
	t.Setenv("TRIBUTARY_RUN_VERIFY", "none")
	t.Setenv("TRIBUTARY_TARGET_WAREHOUSE", "file:///other")
	t.Setenv("TRIBUTARY_TARGET_OTHER_WRITERS", "false")
	t.Setenv("TRIBUTARY_SOURCE_LIMITS_CONNECTIONS", "2")
	t.Setenv("TRIBUTARY_JOB", "renamed")
	t.Setenv("TRIBUTARY_TARGET_STAGING", "")
	t.Setenv("TRIBUTARY_OWN_PASSWORD", "a secret of the user's")
	job, err := LoadJob(fileWith(t, "job.yaml", base))
	require.NoError(t, err)
	require.Equal(t, "renamed", job.Name)
	require.Equal(t, "temporal:7233", job.Temporal.Address)
	require.Equal(t, "default", job.Temporal.Namespace)
	require.Equal(t, 7, job.Run.Parallelism)
	require.Equal(t, Bytes(256<<20), job.Run.Memory)
	require.Equal(t, VerifyNone, job.Run.Verify)
	require.Equal(t, "file:///other", job.Target.Warehouse)
	require.Equal(t, 2, job.Source.Limits.Connections)

	// A job that is passed on is what it was: its reader's environment does not change it.
	parsed, err := ParseJob("job.yaml", []byte(base))
	require.NoError(t, err)
	require.Equal(t, "orders", parsed.Name)
}

func TestLoadJob_BadOverrides(t *testing.T) {
	for name, c := range map[string]struct{ value, want string }{
		"TRIBUTARY_RUN_PARALLELISM":      {"many", `run.parallelism: "many" is not a whole number in range`},
		"TRIBUTARY_RUN_MEMORY":           {"1MiB", "run.memory: 1MiB is less than 64MiB"},
		"TRIBUTARY_TARGET_WAREHOUSE":     {"here", `target.warehouse: "here" is not a place for a warehouse; write file:///path, s3://bucket/path, hdfs://host/path or an absolute path`},
		"TRIBUTARY_TARGET_OTHER_WRITERS": {"maybe", `target.other_writers: "maybe" is neither true nor false`},
		"TRIBUTARY_RUN_CONSISTENCY":      {"exact", "run.consistency: exact is not available yet; available: split, shard, instance"},
		"TRIBUTARY_TARGET_CATALOG_TYPE":  {"hives", `target.catalog.type: "hives" is not one of filesystem, hive; did you mean "hive"?`},
		"TRIBUTARY_RUN_PARALELISM":       {"3", "overrides no key; did you mean TRIBUTARY_RUN_PARALLELISM?"},
		"TRIBUTARY_TABLES":               {"[]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, c.value)
			_, err := LoadJob(fileWith(t, "job.yaml", base))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "environment "+name+": "+c.want)
		})
	}
}

func TestLoadWorker_Defaults(t *testing.T) {
	w, err := LoadWorker(nil, "")
	require.NoError(t, err)
	require.Equal(t, &Worker{
		Temporal: Temporal{Address: "127.0.0.1:7233", Namespace: "default", TaskQueue: "tributary"}, Listen: "127.0.0.1:9464", Memory: 1 << 30,
		LogLevel: LogInfo, LogFormat: LogText,
	}, w)
	example, err := LoadWorker(nil, "../examples/worker.yaml")
	require.NoError(t, err)
	require.Equal(t, w, example, "the example shows the defaults")
}

func TestLoadWorker_Order(t *testing.T) {
	file := fileWith(t, "worker.yaml", "temporal: {address: \"file:1\", namespace: file}\nmemory: 128MiB\nslots: 3\n")
	t.Setenv("TRIBUTARY_TEMPORAL_ADDRESS", "env:2")
	t.Setenv("TRIBUTARY_TEMPORAL_NAMESPACE", "env")
	t.Setenv("TRIBUTARY_LOG_LEVEL", "debug")
	flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	AddWorkerFlags(flags)
	require.NoError(t, flags.Parse([]string{"--temporal-address=flag:3", "--log-format", "json"}))
	w, err := LoadWorker(flags, file)
	require.NoError(t, err)
	require.Equal(t, &Worker{
		Temporal: Temporal{Address: "flag:3", Namespace: "env", TaskQueue: "tributary"}, Listen: "127.0.0.1:9464", Memory: 128 << 20, Slots: 3,
		LogLevel: LogDebug, LogFormat: LogJSON,
	}, w)
	require.Contains(t, flags.FlagUsages(), "(default 127.0.0.1:9464)")
}

func TestLoadWorker_Problems(t *testing.T) {
	file := fileWith(t, "worker.yaml", "temporal: {adress: x}\nlisten: nowhere\nsource: {}\n")
	t.Setenv("TRIBUTARY_SLOTS", "-1")
	flags := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	AddWorkerFlags(flags)
	require.NoError(t, flags.Parse([]string{"--log-level=loud"}))
	_, err := LoadWorker(flags, file)
	require.EqualError(t, err, strings.Join([]string{
		`environment TRIBUTARY_SLOTS: slots: -1 is not between 0 and 1000`,
		`flag --log-level: log_level: "loud" is not one of info, debug, warn, error`,
		file + `:1:12: temporal.adress: unknown key; did you mean "address"?`,
		file + `:2:9: listen: "nowhere" is not host:port; such as 127.0.0.1:9464`,
		file + `:3:1: source: unknown key; known: temporal, listen, memory, slots, spill, log_level, log_format`,
	}, "\n"))
	_, err = LoadWorker(nil, filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = LoadWorker(nil, fileWith(t, "w.yaml", "a: [\n"))
	require.ErrorContains(t, err, "malformed YAML")
}

func TestLoadStarter(t *testing.T) {
	job, err := ParseJob("job.yaml", []byte(base+"temporal: {address: \"job:1\", namespace: shop}\n"))
	require.NoError(t, err)
	s, err := LoadStarter(nil, job)
	require.NoError(t, err)
	require.Equal(t, &Starter{Temporal: Temporal{Address: "job:1", Namespace: "shop", TaskQueue: "tributary"}}, s)

	flags := pflag.NewFlagSet("starter", pflag.ContinueOnError)
	AddStarterFlags(flags)
	require.NoError(t, flags.Parse([]string{"--temporal-task-queue=other"}))
	t.Setenv("TRIBUTARY_TEMPORAL_NAMESPACE", "env")
	s, err = LoadStarter(flags, job)
	require.NoError(t, err)
	require.Equal(t, &Starter{Temporal: Temporal{Address: "job:1", Namespace: "env", TaskQueue: "other"}}, s)

	s, err = LoadStarter(nil, nil)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:7233", s.Temporal.Address)
}
