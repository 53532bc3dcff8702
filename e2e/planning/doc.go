// Package planning holds the long legs of planning: a thousand shards on two instances, and a shard of ten million rows.
// Making them takes minutes. What is promised of the time of a plan is checked here and nowhere else.
package planning
