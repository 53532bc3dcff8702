package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/config"
	"github.com/tributary-lake/tributary/workflows"
)

// summary is the line of a good run, made by the product's own type, so that a renamed key shows here.
func summary(t *testing.T, change func(*workflows.Summary)) []byte {
	t.Helper()
	s := workflows.Summary{Run: "r", Status: workflows.StatusDone, Seconds: 1.5, Tables: []activities.TableResult{{
		Table: "narrow", Status: "committed", Snapshot: 1, Read: 4000, Written: 4000, Bytes: 100, Files: 2, Splits: 4,
	}}}
	if change != nil {
		change(&s)
	}
	data, err := json.Marshal(s)
	require.NoError(t, err)
	return data
}

func TestCheckSummary(t *testing.T) {
	r, err := checkSummary(summary(t, nil), 4000)
	require.NoError(t, err)
	require.Equal(t, ran{inner: 1500 * time.Millisecond, bytes: 100, files: 2, splits: 4}, r)

	for name, change := range map[string]func(*workflows.Summary){
		"failed":       func(s *workflows.Summary) { s.Status = workflows.StatusFailed },
		"cancelled":    func(s *workflows.Summary) { s.Status = workflows.StatusCancelled },
		"no table":     func(s *workflows.Summary) { s.Tables = nil },
		"no snapshot":  func(s *workflows.Summary) { s.Tables[0].Snapshot = 0 },
		"a row less":   func(s *workflows.Summary) { s.Tables[0].Read, s.Tables[0].Written = 3999, 3999 },
		"a row more":   func(s *workflows.Summary) { s.Tables[0].Written = 4001 },
		"not written":  func(s *workflows.Summary) { s.Tables[0].Written = 3999 },
		"one rejected": func(s *workflows.Summary) { s.Tables[0].Rejected = 1 },
	} {
		_, err := checkSummary(summary(t, change), 4000)
		require.Error(t, err, name)
	}
	_, err = checkSummary([]byte("run started"), 4000)
	require.Error(t, err)
}

// The job must be one that the product accepts: read it with the product's own reader.
func TestJobIsValid(t *testing.T) {
	p := product{ports: []int{20001, 20002}, parallelism: 3}
	data, err := json.Marshal(p.job(shape{Name: "wide", Rows: 1}, t.TempDir()))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "job.json")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	job, err := config.LoadJob(file)
	require.NoError(t, err)
	require.Equal(t, 3, job.Run.Parallelism)
	require.Equal(t, 20002, job.Source.Instances[1].Port)
	require.Equal(t, config.FullRefresh, job.Tables[0].Mode)
	require.Equal(t, config.Provenance{}, job.Tables[0].Provenance, "the floor has no such columns")
}

// A job names only servers that have a shard.
func TestServersOfShards(t *testing.T) {
	p := product{ports: []int{20001, 20002}, parallelism: 3}
	instances := func(s shape) int {
		return len(p.job(s, t.TempDir())["source"].(map[string]any)["instances"].([]any))
	}
	require.Equal(t, 1, instances(shape{Name: smallName, Rows: 1}))
	require.Equal(t, 2, instances(shape{Name: lineitemName}))
	for shard, server := range []int{0, 0, 0, 0, 1, 1, 1, 1} {
		require.Equal(t, server, serverOf(shape{Name: lineitemName}, shard))
	}
	for shard, server := range []int{0, 0, 1, 1} {
		require.Equal(t, server, serverOf(shape{Name: wideName, Rows: 1}, shard))
	}
}

func TestScriptsOfShardsHaveDifferentKeys(t *testing.T) {
	for _, s := range []shape{{Name: "narrow", Rows: 7}, {Name: "wide", Rows: 9}, {Name: "small", Rows: 9}} {
		seen := map[string]bool{}
		for shard := range s.Shards() {
			text := script(s, shard)
			require.NotContains(t, text, "@")
			require.Contains(t, text, "create or replace table "+s.Table()+" (")
			require.False(t, seen[text])
			seen[text] = true
		}
	}
	require.Contains(t, script(shape{Name: "narrow", Rows: 7}, 2), "select (seq-1)*4+3 as id from seq_1_to_7")
}

func TestParse(t *testing.T) {
	var said bytes.Buffer
	o, err := parse(nil, &said)
	require.NoError(t, err)
	require.Equal(t, 5, o.rounds)
	require.EqualValues(t, 4_000_000, o.shapes[0].Total())
	require.EqualValues(t, 1_000_000, o.shapes[1].Total())
	require.EqualValues(t, 200_000, o.shapes[2].Total())
	require.EqualValues(t, 6_001_215, o.shapes[3].Total(), "as TPC-H says")
	require.Equal(t, o.shapes[0].Table(), o.shapes[4].Table(), "a key table is made of the narrow ones")

	o, err = parse(strings.Fields("-shapes wide -wide-rows 10 -rounds 1"), &said)
	require.NoError(t, err)
	require.Equal(t, []shape{{Name: "wide", Rows: 10}}, o.shapes)
	require.Empty(t, said.String())

	for _, args := range []string{"-shapes deep", "-rounds 0", "-wide-rows 0", "-perf d -json f", "more", "-what"} {
		said.Reset()
		_, err := parse(strings.Fields(args), &said)
		require.ErrorIs(t, err, errUsage, args)
		require.NotEmpty(t, said.String(), args)
	}
}
