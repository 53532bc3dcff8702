package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tributary-lake/tributary/activities"
	"github.com/tributary-lake/tributary/source"
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
