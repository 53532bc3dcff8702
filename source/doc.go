// Package source holds what the run knows of where rows come from: shards, their columns already mapped to lake types,
// the merged schema of a logical table, and splits. It is pure and knows no driver; source/mysql fills and reads it.
//
// These types are written into the plan file as JSON, so fields are only ever added.
package source
