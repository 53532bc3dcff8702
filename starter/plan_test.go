package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/activities/dryrun"
	"github.com/tributary-lake/tributary/activities/explanation"
	"github.com/tributary-lake/tributary/source"
	"github.com/tributary-lake/tributary/workflows"
)

// A plan tells what it would alter, whom it would leave out, and how shards differ.
func TestPrintPlanOfDriftedShards(t *testing.T) {
	var out bytes.Buffer
	c := &cli{stdout: &out}
	odd := source.Shard{Instance: "a", Database: "shop", Table: "odd"}
	first := source.Shard{Instance: "a", Database: "shop", Table: "t0"}
	c.printPlan(&activities.Explanation{
		Table: "orders", Target: "file:///lake ods.orders", ShardCount: 9, LeftOutCount: 3,
		Alter: []string{`change type of column "id" to BIGINT`},
		LeftOut: []source.LeftOut{{Shard: odd, Rows: 5, Drifts: []source.Drift{{
			Kind: source.DriftType, Shard: odd, Column: "id", Found: "text", Reference: first, Expected: "int",
		}}}},
		Drift: []source.DriftGroup{{Drift: source.Drift{
			Kind: source.DriftMissing, Shard: odd, Column: "v", Reference: first, Expected: "int", Outcome: "is NULL in its rows", Loss: "no default is filled in",
		}, More: 2}},
	})
	for _, line := range []string{
		"would alter the target: change type of column \"id\" to BIGINT\n",
		"WOULD LEAVE OUT 3 of 12 shards, none of their rows would be read:\n",
		"  a/shop/odd (about 5 rows): column \"id\" is text in a/shop/odd, but int in a/shop/t0\n",
		"  … and 2 more\n",
		"drift: a/shop/odd (and 2 more shards) lacks column \"v\", which is int in a/shop/t0: is NULL in its rows; no default is filled in\n",
	} {
		require.Contains(t, out.String(), line)
	}
}

func samplePlan() *activities.Explanation {
	return &activities.Explanation{
		Table: "orders", Target: "file:///lake ods.orders", Create: true, Consistency: "split", ShardCount: 50, Rows: 1234567, Bytes: 3 << 30,
		Splits: 80, Units: 60, SplitRows: dryrun.SplitRows{Min: 10, Median: 25000, Max: 26000}, Buckets: "none (append table)",
		Partition: []string{"day"}, Columns: []explanation.Column{{Name: "id", Type: "BIGINT NOT NULL", Source: "bigint(20) not null"}},
		Shards: []explanation.Shard{
			{Shard: "a/shop/o_1", Rows: 1000000, Bytes: 1 << 20, Splits: 2, SplitRows: dryrun.SplitRows{Min: 1, Median: 5, Max: 9}, Key: "id"},
			{Shard: "a/shop/o_2", Key: "whole shard"},
		},
		Memory:   dryrun.Memory{Need: 2 << 30, Has: 1 << 30, How: "4 units"},
		Sample:   &dryrun.Result{Shards: 2, Rows: 2000, Findings: []dryrun.Finding{{Column: "born", Refused: true, Problem: "is | odd", Count: 3, Shards: 1, Example: "a/shop/o_1", Key: "id = 7", Value: "0000-00-00"}}},
		Estimate: &dryrun.Estimate{LakeBytes: 1 << 30, Seconds: 75.3, How: "by rows"},
		Refused:  []string{"column born: is odd"}, Losses: []string{"a note"},
	}
}

// The page says in one table what a person asks first, and lists the rest below.
func TestPlanPage(t *testing.T) {
	var out bytes.Buffer
	c := &cli{stdout: &out}
	c.printPlan(samplePlan())
	for _, text := range []string{
		"table orders → file:///lake ods.orders: will be created\n", "A RUN WOULD BE REFUSED, OR FAIL\ncolumn born: is odd\n",
		"50, with about 1,234,567 rows in 3.0 GiB", "80 in 60 units of work; rows of a split: 10 at least, 25,000 in the middle, 26,000 at most",
		"needs 2.0 GiB, MORE THAN run.memory, which is 1.0 GiB (4 units)", "about 1.0 GiB in the lake, in about 1m15s of reading and writing", "from a sample: by rows",
		"2,000 rows of 2 of 50 shards: not every value arrives as it is: 1 findings below", "1 / 5 / 9", "… and 48 more shards; --json lists 2\n",
		"ENDS THE RUN", "id = 7", "note: a note\n",
	} {
		require.Contains(t, out.String(), text)
	}
	out.Reset()
	c.planPage(samplePlan(), true).Print()
	for _, text := range []string{
		"## table orders → file:///lake ods.orders: will be created\n\n", "### columns\n\n| column | type | from |\n| --- | --- | --- |\n| id | BIGINT NOT NULL | bigint(20) not null |",
		"- column born: is odd\n", "- note: a note\n", "| a/shop/o_1 | 1,000,000 |",
	} {
		require.Contains(t, out.String(), text)
	}
}

// A refusal of any table ends the command with 3; why is in the plan, and is not said twice.
func TestRefusedPlans(t *testing.T) {
	require.NoError(t, refusedPlans([]activities.Explanation{{Table: "a"}}))
	err := refusedPlans([]activities.Explanation{{Table: "a", Refused: []string{"x", "y"}}, {Table: "b"}, {Table: "c", Refused: []string{"z"}}})
	var exit *exitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.code)
	require.EqualError(t, err, "a run would be refused, or fail: see the plan of a, c")
}

// The end of a run tells the cut of each instance, and of a long list its first lines.
func TestPrintSummary(t *testing.T) {
	var out bytes.Buffer
	c := &cli{stdout: &out}
	at := source.Position{GTID: "0-1-4711", File: "binlog.000003", Offset: 8150}
	last := source.Position{GTID: "0-1-4715", File: "binlog.000003", Offset: 9150}
	c.printSummary(&workflows.Summary{Run: "r1", Status: workflows.StatusFailed, Tables: []activities.TableResult{
		{Table: "orders", Cut: []source.Cut{
			{Instance: "a", Moments: 1, Methods: []source.MomentMethod{source.MomentFlush}, Position: at},
			{Instance: "b", Moments: 3, Methods: []source.MomentMethod{source.MomentFlush, source.MomentPosition}, Position: at, Last: &last},
			{Instance: "c", Moments: 1, Methods: []source.MomentMethod{source.MomentLockTables}, Position: source.Position{Unknown: "the server has no binary log"}},
		}},
		{Table: "keys", Error: "rows have the same primary key:" + strings.Repeat("\n  a/shop/o_1 and a/shop/o_2", 85)},
	}})
	for _, line := range []string{
		"orders: instance a as of GTID 0-1-4711, binlog.000003:8150 (by flush)\n",
		"orders: instance b as of GTID 0-1-4711, binlog.000003:8150 to GTID 0-1-4715, binlog.000003:9150, at 3 moments (by flush, position)\n",
		"orders: instance c as of a position that is not known: the server has no binary log (by lock_tables)\n",
		"  … and 75 more lines; --json has all\n",
	} {
		require.Contains(t, out.String(), line)
	}
	require.Equal(t, 10, strings.Count(out.String(), "a/shop/o_1 and"))
}

// A page is no wider than a terminal that says nothing of its width is taken to be.
func TestPlanPageIsNarrow(t *testing.T) {
	var out bytes.Buffer
	c := &cli{stdout: &out}
	x := samplePlan()
	x.Shards[0].Shard = "instance-with-a-name/" + strings.Repeat("shop_eu_", 8) + "/" + strings.Repeat("orders_", 8)
	x.Shards[0].Key = "tenant, id (" + strings.Repeat("the key is cut by its first column alone, ", 4) + ")"
	x.Columns[0].Source = "enum('" + strings.Repeat("value','", 40) + "') character set utf8mb4"
	x.Sample.Findings[0].Value = strings.Repeat("0000-00-00 ", 30)
	x.Memory.How = strings.Repeat("units of work that write at a time ", 8)
	c.printPlan(x)
	for _, line := range strings.Split(out.String(), "\n") {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 120, line)
	}
}
