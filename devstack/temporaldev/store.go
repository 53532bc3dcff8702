package temporaldev

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	databaseFile = "temporal.db"
	// markerFile holds the version of the server that finished making the schema of the database beside it.
	markerFile = "temporal.db.schema"
)

// openStore makes the schema when there is none that this server version finished, and says how to reach the database.
// MaxConns stays 0, which means one connection: more give SQLITE_BUSY errors even with a write-ahead log.
func openStore(dir string) (*config.SQL, error) {
	store := &config.SQL{PluginName: sqliteplugin.PluginName}
	if dir == "" {
		store.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
		store.DatabaseName = "temporaldev-" + rand.Text() // two servers in one process must not share
		return store, nil                                 // the server makes the schema of such a database itself
	}
	// A killed process loses nothing with these two; only a power cut may lose the last moments. The default (a
	// rollback journal, synced at every commit) is several times slower.
	store.ConnectAttributes = map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "normal"}
	store.DatabaseName = filepath.Join(dir, databaseFile)
	if schemaComplete(dir) {
		return store, nil
	}
	if err := discardDatabase(dir); err != nil {
		return nil, err
	}
	if err := sqliteschema.SetupSchema(store); err != nil {
		return nil, fmt.Errorf("set up the database %s: %w", store.DatabaseName, err)
	}
	return store, writeMarker(dir)
}

// schemaComplete says whether the database in dir was made, to the end, by this version of the server. The schema is
// never migrated from one version to another.
func schemaComplete(dir string) bool {
	marker, err := os.ReadFile(filepath.Join(dir, markerFile))
	if err != nil || string(marker) != headers.ServerVersion {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, databaseFile))
	return err == nil
}

// discardDatabase removes the marker first: a process killed in here must not leave a marker beside half a database.
func discardDatabase(dir string) error {
	for _, name := range []string{markerFile, databaseFile, databaseFile + "-wal", databaseFile + "-shm"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("discard the unfinished or older database: %w", err)
		}
	}
	return nil
}

// writeMarker puts the marker in place with a rename, so that it is there whole or not at all.
func writeMarker(dir string) error {
	temp := filepath.Join(dir, markerFile+".tmp")
	if err := os.WriteFile(temp, []byte(headers.ServerVersion), 0o600); err != nil {
		return fmt.Errorf("write the schema marker: %w", err)
	}
	if err := os.Rename(temp, filepath.Join(dir, markerFile)); err != nil {
		return fmt.Errorf("write the schema marker: %w", err)
	}
	return nil
}

// createNamespace writes the namespace into the database before the server starts; one that exists is left alone.
func createNamespace(store *config.SQL, opts Options) error {
	ns, err := sqliteschema.NewNamespaceConfig(clusterName, opts.Namespace, false, opts.SearchAttributes)
	if err != nil {
		return fmt.Errorf("describe the namespace %s: %w", opts.Namespace, err)
	}
	ns.Detail.Config.Retention = durationpb.New(Retention)
	if err := sqliteschema.CreateNamespaces(store, ns); err != nil {
		return fmt.Errorf("create the namespace %s: %w", opts.Namespace, err)
	}
	return nil
}
