// Package app is where configuration becomes objects: it opens the source, the warehouse and the staging root that a job
// names, chooses drivers, and assembles a worker. Nothing else knows both configuration and drivers.
//
// It holds no logic of a run: that is in activities and workflows.
package app
