package main

import (
	"errors"
	"runtime"
	"time"
)

// meter measures what happens on this machine while something runs.
type meter struct {
	self, worker, temporal int // process numbers
	databases              []int
}

// cost is what something took.
type cost struct {
	Wall time.Duration
	// Command is the CPU time of what was run: the clients, or the starter.
	Command time.Duration
	// Worker, Databases and Temporal are CPU times of the servers meanwhile.
	Worker, Databases, Temporal time.Duration
	// Foreign is the share of the machine that other programs used meanwhile, from 0 to 1.
	Foreign float64
	// WorkerPeak is the most bytes of memory that the worker had meanwhile.
	WorkerPeak int64
}

// measure runs f, which returns the CPU time of its own commands.
func (m meter) measure(f func() (time.Duration, error)) (cost, error) {
	if err := resetPeak(m.worker); err != nil {
		return cost{}, err
	}
	before, err := m.read()
	if err != nil {
		return cost{}, err
	}
	began := time.Now()
	used, err := f()
	wall := time.Since(began)
	if err != nil {
		return cost{}, err
	}
	after, err := m.read()
	if err != nil {
		return cost{}, err
	}
	peak, err := peakOf(m.worker)
	if err != nil {
		return cost{}, err
	}
	c := cost{
		Wall: wall, Command: used, WorkerPeak: peak,
		Worker: after.worker - before.worker, Databases: after.databases - before.databases, Temporal: after.temporal - before.temporal,
	}
	own := c.Command + c.Worker + c.Databases + c.Temporal + after.self - before.self
	all := time.Duration(runtime.NumCPU()) * wall
	c.Foreign = max(0, float64(after.machine-before.machine-own)/float64(all))
	return c, nil
}

// reading is the CPU time used until now.
type reading struct{ machine, self, worker, temporal, databases time.Duration }

func (m meter) read() (reading, error) {
	var r reading
	var errs [4]error
	r.machine, errs[0] = busyTime()
	r.worker, errs[1] = cpuOf(m.worker)
	r.temporal, errs[2] = cpuOf(m.temporal)
	r.self, errs[3] = cpuOf(m.self)
	for _, pid := range m.databases {
		used, err := cpuOf(pid)
		if err != nil {
			return r, err
		}
		r.databases += used
	}
	return r, errors.Join(errs[:]...)
}
