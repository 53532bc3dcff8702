package app

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/lake/catalog"
	"github.com/tributary-lake/tributary/lake/fileio"
	"github.com/tributary-lake/tributary/source/mysql"
)

// Env opens what jobs name. Sources are shared by all activities of a job in this process, so that an instance's
// connection limit holds over them.
type Env struct {
	// Masker hides every secret that was resolved.
	Masker *config.Masker
	// Log is told when reading pauses and goes on; nil tells nobody. It is set before the first use.
	Log *slog.Logger

	stores *stores

	mu      sync.Mutex
	sources map[[sha256.Size]byte]*sharedSource
}

// NewEnv returns an environment that has opened nothing.
func NewEnv(masker *config.Masker) *Env {
	return &Env{Masker: masker, stores: newStores(masker), sources: map[[sha256.Size]byte]*sharedSource{}}
}

// Job parses and checks a job.
func (e *Env) Job(_ context.Context, data json.RawMessage) (*activities.Job, error) {
	job, err := parse(data)
	if err != nil {
		return nil, err
	}
	staging := root(job.Target.StagingRoot())
	out := &activities.Job{Name: job.Name, Staging: staging, Settings: activities.Settings{Parallelism: job.Run.Parallelism}}
	if out.Store, err = SettingsOf(job.Target).text(staging); err != nil {
		return nil, fmt.Errorf("settings of the staging root: %w", err)
	}
	for i := range job.Tables {
		out.Tables = append(out.Tables, spec(job, &job.Tables[i]))
	}
	return out, nil
}

func parse(data json.RawMessage) (*config.Job, error) {
	job, err := config.ParseJob("", data)
	if err != nil {
		return nil, fmt.Errorf("%w:\n%w", activities.ErrConfig, err)
	}
	return job, nil
}

// Staging opens a staging root. The settings are those that Job gave with it.
func (e *Env) Staging(ctx context.Context, uri, settings string) (fileio.Store, error) {
	s, err := parseSettings(uri, settings)
	if err != nil {
		return nil, fmt.Errorf("%w: staging root %s: %w", activities.ErrConfig, uri, err)
	}
	return e.openStore(ctx, "staging", uri, s)
}

func (e *Env) openStore(ctx context.Context, what, uri string, settings StoreSettings) (fileio.Store, error) {
	s, err := e.stores.open(ctx, uri, settings)
	if err != nil {
		return nil, fmt.Errorf("%w: %s root %s: %w", activities.ErrPlanRefused, what, uri, err)
	}
	return s, nil
}

// Open opens one table of a job. Nothing is connected to before it is used.
func (e *Env) Open(ctx context.Context, data json.RawMessage, table string) (*activities.Session, error) {
	job, err := parse(data)
	if err != nil {
		return nil, err
	}
	var t *config.Table
	for i := range job.Tables {
		if job.Tables[i].Name == table {
			t = &job.Tables[i]
		}
	}
	if t == nil {
		return nil, fmt.Errorf("%w: job %s has no table %s", activities.ErrConfig, job.Name, table)
	}
	warehouse, err := e.openStore(ctx, "warehouse", root(job.Target.Warehouse), SettingsOf(job.Target))
	if err != nil {
		return nil, err
	}
	shared, release := e.share(job)
	src := &tableSource{shared: shared, masker: e.Masker, job: job, table: t}
	s := &activities.Session{
		Spec: spec(job, t), Source: src, Sums: &tableSums{src},
		Warehouse: warehouse, Catalog: catalog.NewFilesystem(warehouse), Close: release,
	}
	if c := job.ConsistencyOf(t); c == config.ShardConsistency || c == config.InstanceConsistency {
		s.Moments = &tableMoments{src}
	}
	if t.Mode == config.Incremental {
		s.Windows = &tableWindows{src}
	}
	return s, nil
}

// sharedSource is a source that several sessions use; it is opened by the first that needs it and closed by the last.
type sharedSource struct {
	log   *slog.Logger
	users int

	mu   sync.Mutex
	open *mysql.Source
}

// share hands out the source of a job's instances and a function that gives it back.
func (e *Env) share(job *config.Job) (*sharedSource, func()) {
	text, _ := json.Marshal(job.Source) // marshalling a parsed job cannot fail
	key := sha256.Sum256(text)
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sources[key]
	if s == nil {
		s = &sharedSource{log: e.Log}
		e.sources[key] = s
	}
	s.users++
	var once sync.Once
	return s, func() {
		once.Do(func() {
			e.mu.Lock()
			s.users--
			last := s.users == 0
			if last {
				delete(e.sources, key)
			}
			e.mu.Unlock()
			if last {
				s.close()
			}
		})
	}
}

func (s *sharedSource) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		_ = s.open.Close() // nothing was written through it
		s.open = nil
	}
}

// get opens the source on first use. A failed try is not kept.
func (s *sharedSource) get(ctx context.Context, e *config.Masker, job *config.Job) (*mysql.Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		return s.open, nil
	}
	var configs []mysql.Config
	var errs []error
	for i := range job.Source.Instances {
		in := &job.Source.Instances[i]
		password, err := e.Resolve(ctx, in.Password)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: password of instance %s: %w", activities.ErrConfig, in.Name, err))
			continue
		}
		configs = append(configs, configOf(in, job.Source.Limits, password))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	open, err := mysql.Open(ctx, configs, mysql.Options{Log: s.log})
	if err != nil {
		return nil, err
	}
	s.open = open
	return open, nil
}

// configOf is an instance as the source knows it, read from its replica where the job says so.
func configOf(in *config.Instance, limits config.Limits, password string) mysql.Config {
	host, port := in.Server()
	return mysql.Config{
		Name: in.Name, Host: host, Port: port, User: in.User, Password: password,
		TLS:         mysql.TLS{Mode: mysql.TLSMode(in.TLS.Mode), CA: in.TLS.CA, Cert: in.TLS.Cert, Key: in.TLS.Key},
		Connections: limits.Connections, RowsPerSecond: limits.RowsPerSecond, BytesPerSecond: int64(limits.BytesPerSecond),
		MaxThreadsRunning: limits.MaxThreadsRunning, MaxReplicaLag: limits.MaxReplicaLag,
		Replica: mysql.Address{Host: in.Replica.Host, Port: in.Replica.Port},
	}
}
