package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/budget"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/internal/testenv"
	"github.com/tributary-lake/tributary/lake/row"
	"github.com/tributary-lake/tributary/lake/schema"
	"github.com/tributary-lake/tributary/source"
)

// plantedEnv opens sources whose reader does something to the rows and says nothing of it.
type plantedEnv struct {
	activities.Env
	fault func(rows []int) []int
	flip  bool
}

func (e *plantedEnv) Open(ctx context.Context, job json.RawMessage, table string) (*activities.Session, error) {
	s, err := e.Env.Open(ctx, job, table)
	if err != nil {
		return nil, err
	}
	s.Source = &plantedSource{Source: s.Source, env: e}
	if s.Moments != nil {
		s.Moments = &plantedMoments{Moments: s.Moments, env: e}
	}
	return s, nil
}

type plantedSource struct {
	activities.Source
	env *plantedEnv
}

type emitter = func(*row.Batch) (*row.Batch, error)

func (s *plantedSource) Read(ctx context.Context, r source.Read, emit func(full *row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	return s.env.read(r, emit, func(emit emitter) (source.ReadStats, error) { return s.Source.Read(ctx, r, emit) })
}

type plantedMoments struct {
	activities.Moments
	env *plantedEnv
}

func (m *plantedMoments) OpenMoment(ctx context.Context, instance string, shards []source.Shard, readers int) (activities.Moment, error) {
	opened, err := m.Moments.OpenMoment(ctx, instance, shards, readers)
	return &plantedMoment{Moment: opened, env: m.env}, err
}

type plantedMoment struct {
	activities.Moment
	env *plantedEnv
}

func (m *plantedMoment) Read(ctx context.Context, reader int, r source.Read, emit func(full *row.Batch) (*row.Batch, error)) (source.ReadStats, error) {
	return m.env.read(r, emit, func(emit emitter) (source.ReadStats, error) { return m.Moment.Read(ctx, reader, r, emit) })
}

// read hands on other rows than are read, and counts those.
func (e *plantedEnv) read(r source.Read, emit emitter, read func(emitter) (source.ReadStats, error)) (source.ReadStats, error) {
	if e.fault == nil || r.Shard.Table != "v_2" {
		return read(emit)
	}
	var types []schema.Type
	for _, o := range r.Outputs {
		types = append(types, o.Type)
	}
	given := int64(0)
	stats, err := read(func(b *row.Batch) (*row.Batch, error) {
		other := row.NewBatch(types)
		var rows []int
		for i := range b.Rows {
			rows = append(rows, i)
		}
		for _, i := range e.fault(rows) {
			for c := range b.Columns {
				other.Columns[c].Append(b.Columns[c].Value(i))
			}
			other.Rows++
		}
		if e.flip {
			other.Columns[1].Data[0] ^= 1
		}
		given += int64(other.Rows)
		b.Reset()
		_, err := emit(other)
		return b, err
	})
	stats.Rows = given
	return stats, err
}

// The server's own sum finds what a reader did to a row, names shard and split with both sums, and nothing is committed: for
// every mode, kind of table and consistency. Without a fault every one of them agrees.
func TestVerifySourceFindsWhatAReaderDid(t *testing.T) {
	t.Setenv("ADMIN_PASSWORD", "tributary")
	for _, f := range testenv.Flavors() {
		t.Run(string(f), func(t *testing.T) { verifySourceFinds(t, testenv.Shared(t, f)) })
	}
}

func verifySourceFinds(t *testing.T, m *testenv.MySQL) {
	t.Helper()
	database := m.NewDatabase(t)
	for _, shard := range []string{"v_1", "v_2"} {
		m.Exec(t, "USE "+database, "CREATE TABLE "+shard+" (id INT PRIMARY KEY, name VARCHAR(20), f FLOAT, day DATE)")
		for i := range 9 {
			m.Exec(t, fmt.Sprintf("INSERT INTO %s.%s VALUES (%d, 'name %[3]d', %[3]d / 7, '2024-02-29')", database, shard, i+1))
		}
	}
	same := func(rows []int) []int { return rows }
	kinds := map[string]string{
		"full-refresh": `"mode": "full-refresh", "target": {"database": "ods"}`,
		"append":       `"mode": "append", "target": {"database": "ods"}`,
		"partitioned":  `"target": {"database": "ods", "partition": ["day"]}`,
		"key":          `"primary_key": ["_table", "id"], "target": {"database": "ods", "bucket": 2}`,
	}
	for kind, table := range kinds {
		for _, consistency := range []string{"split", "shard"} {
			if m.Flavor() != testenv.FlavorMariaDB && kind != "full-refresh" && kind != "key" {
				continue // what the kinds do to rows is not the server's
			}
			warehouse := t.TempDir()
			job := json.RawMessage(fmt.Sprintf(`{"job": "v",
				"source": {"instances": [{"name": "a", "host": %q, "port": %d, "user": "tributary", "password": "${env:ADMIN_PASSWORD}", "databases": %q}]},
				"tables": [{"name": "v", "match": "v_*", "provenance": {"table": "_table"}, "split": {"rows": 5}, %s}],
				"run": {"verify": "source", "consistency": %q}, "target": {"warehouse": %q}}`, m.Host(), m.Port(), database, table, consistency, warehouse))
			for name, fault := range map[string]*plantedEnv{
				"changed byte": {fault: same, flip: true},
				"dropped row":  {fault: func(rows []int) []int { return rows[1:] }},
				"doubled row":  {fault: func(rows []int) []int { return append(rows, rows[0]) }},
				"one for another": {fault: func(rows []int) []int {
					rows[1] = rows[0]
					return rows
				}},
			} {
				t.Run(kind+"/"+consistency+"/"+name, func(t *testing.T) {
					fault.Env = NewEnv(&config.Masker{})
					_, err := writeAll(t, fault, job, strings.ReplaceAll(name, " ", "-"))
					require.ErrorIs(t, err, activities.ErrMismatch)
					require.ErrorContains(t, err, "shard a/"+database+"/v_2, split ")
					require.Regexp(t, `the server has \d+ rows with sum [0-9a-f]{16} in the snapshot that was read, read were \d+ rows with sum `, err.Error())
					_, err = os.Stat(filepath.Join(warehouse, "ods.db", "v", "snapshot"))
					require.ErrorIs(t, err, os.ErrNotExist)
				})
			}
			t.Run(kind+"/"+consistency, func(t *testing.T) {
				result, err := runJob(t, job, "good")
				require.NoError(t, err)
				require.EqualValues(t, 18, result.Written)
				require.Contains(t, fmt.Sprint(result.Notes), "reads every split twice")
			})
		}
	}
}

// writeAll plans a run and writes its units until one fails.
func writeAll(t *testing.T, env activities.Env, job json.RawMessage, run string) (int, error) {
	t.Helper()
	prepared, err := (&activities.Preparer{Env: env}).Prepare(t.Context(), activities.PrepareInput{Job: job, Run: run})
	require.NoError(t, err)
	part := prepared.Tables[0].TableRun
	planned, err := (&activities.Planner{Env: env, Settler: &activities.Settler{Env: env}}).Plan(t.Context(), activities.PlanInput{TableRun: part})
	require.NoError(t, err)
	writer := &activities.Writer{Env: env, Producer: "tributary/test", Memory: budget.New(1<<30, nil)}
	for unit := range planned.Units {
		if _, err := writer.Write(t.Context(), activities.WriteInput{TableRun: part, Unit: unit}); err != nil {
			return unit, err
		}
	}
	return planned.Units, nil
}

// A table whose engine has no snapshots cannot be compared with what its server says: the plan refuses it.
func TestVerifySourceNeedsSnapshots(t *testing.T) {
	t.Setenv("READER_PASSWORD", "reader")
	m := testenv.Shared(t, testenv.FlavorMariaDB)
	database := m.NewDatabase(t)
	m.Exec(t, "USE "+database, "CREATE TABLE d_1 (id INT PRIMARY KEY) ENGINE=MyISAM", "INSERT INTO d_1 VALUES (1)")
	job := driftJob(m, database, t.TempDir(), `"mode": "append"`)
	_, err := runJob(t, job, "counts")
	require.NoError(t, err)
	job = json.RawMessage(strings.Replace(string(job), `"tables"`, `"run": {"verify": "source"}, "tables"`, 1))
	_, err = runJob(t, job, "source")
	require.ErrorIs(t, err, activities.ErrPlanRefused)
	require.ErrorContains(t, err, database+".d_1 (MyISAM)")
	require.ErrorContains(t, err, "verify: checksums")
}
