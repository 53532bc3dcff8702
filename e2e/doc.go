// Package e2e runs the real programs against real servers: MySQL shards, Temporal, a warehouse on disk, with Paimon's
// own library as the judge of what lies in the lake. It has tests alone.
package e2e
