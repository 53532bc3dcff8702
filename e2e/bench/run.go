package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-lake/tributary/internal/testenv"
)

// run does everything and returns the exit code: 0, 1 when a run was wrong or could not be made, 2 for bad usage, 130
// when it was interrupted.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err == nil {
		err = bench(ctx, o, stdout, stderr)
	}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "bench: interrupted, everything is ended")
		return 130
	}
	fmt.Fprintln(stderr, "bench: "+err.Error())
	return 1
}

func bench(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("CPU and memory are read from Linux's /proc, this is %s", runtime.GOOS)
	}
	var before []result
	if o.compareFile != "" { // first: a wrong name is better known now than in ten minutes
		if before, err = readResults(o.compareFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("-compare: %w", err)
		}
	}
	b := &sitting{options: o, stderr: stderr}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.open(ctx); err != nil {
		return err
	}
	wrong := b.measure(ctx)
	if len(b.results) > 0 {
		fmt.Fprintf(stdout, "%s; version %s\n", b.machine, b.version)
		if err := report(stdout, o.shapes, b.results, before); err != nil {
			return errors.Join(wrong, err)
		}
	}
	if o.jsonFile != "" {
		wrong = errors.Join(wrong, appendResults(o.jsonFile, b.results))
	}
	return wrong
}

// sitting is one use of the benchmark: what is running, and what was measured.
type sitting struct {
	options
	stderr io.Writer

	lock             *os.File
	dir              string // for warehouses, removed at the end
	client           string
	servers          []*testenv.MySQL
	temporal         *temporal
	programs         programs
	worker           *child // nil between shapes
	workerLog        string
	meter            meter
	product          product
	rivals           rivals
	machine, version string
	results          []result
}

// open builds and starts everything.
func (b *sitting) open(ctx context.Context) error {
	cache, err := testenv.CacheDir()
	if err != nil {
		return err
	}
	root, err := checkout()
	if err != nil {
		return err
	}
	home := filepath.Join(cache, "bench")
	if err := b.take(home); err != nil {
		return err
	}
	built, err := buildPrograms(ctx, root, cache, b.stderr)
	if err != nil {
		return err
	}
	if b.servers, err = startServers(ctx, home, b.shapes, b.stderr); err != nil {
		return err
	}
	// The servers have installed MariaDB where it was missing.
	if b.client, err = need("mariadb", "apt-get install mariadb-client"); err != nil {
		return err
	}
	if b.temporal, err = startTemporal(ctx, built.devserver, filepath.Join(home, "temporal.log")); err != nil {
		return err
	}
	b.programs, b.workerLog = built, filepath.Join(home, "worker.log")
	b.meter = meter{self: os.Getpid(), temporal: b.temporal.pid()}
	b.product = product{starter: built.starter, temporal: b.temporal.address, parallelism: b.parallelism, dir: b.dir}
	for _, s := range b.servers {
		b.meter.databases = append(b.meter.databases, s.PID())
		b.product.ports = append(b.product.ports, s.Port())
	}
	b.rivals.names = b.peers
	if err := b.rivals.install(ctx, b.shapes, b.servers); err != nil {
		return err
	}
	b.machine = fmt.Sprintf("%d × %s, %s", runtime.NumCPU(), processor(), b.servers[0].Version())
	out, err := complete(ctx, exec.Command(built.starter, "--version"))
	b.version = strings.TrimPrefix(strings.TrimSpace(string(out.stdout)), "starter version ")
	return err
}

// take makes sure that there is one benchmark at a time, and makes the folder for warehouses.
func (b *sitting) take(home string) error {
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	var err error
	if b.lock, err = os.OpenFile(filepath.Join(home, "lock"), os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return err
	}
	if err := syscall.Flock(int(b.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another benchmark runs on this machine and would spoil both: wait for its end (%s: %w)", b.lock.Name(), err)
	}
	b.dir = filepath.Join(home, "run")
	return errors.Join(os.RemoveAll(b.dir), os.MkdirAll(b.dir, 0o755)) // one that was killed may have left it
}

func (b *sitting) close() error {
	if b.worker != nil {
		endWorker(b.worker)
	}
	if b.temporal != nil {
		b.temporal.end()
	}
	errs := []error{closeServers(b.servers)}
	if b.dir != "" {
		errs = append(errs, os.RemoveAll(b.dir))
	}
	if b.lock != nil {
		errs = append(errs, b.lock.Close())
	}
	return errors.Join(errs...)
}

// measure runs the rounds of each shape in turn. Each has a new worker: the memory that one table took is not the other's.
func (b *sitting) measure(ctx context.Context) error {
	for _, s := range b.shapes {
		if _, err := readAll(ctx, b.client, b.product.ports, s); err != nil { // fills the page caches
			return err
		}
		var err error
		if b.worker, err = startWorker(ctx, b.programs.worker, b.temporal.address, b.memory, b.workerLog); err != nil {
			return err
		}
		b.meter.worker = b.worker.pid()
		for round := 1; round <= b.rounds; round++ {
			if err := b.pair(ctx, s, round); err != nil {
				return fmt.Errorf("%s, round %d: %w", s.Name, round, err)
			}
		}
		endWorker(b.worker)
		b.worker = nil
	}
	return nil
}

// pair runs floor, product and the other tools once. They change places from round to round, so that none always comes first.
func (b *sitting) pair(ctx context.Context, s shape, round int) error {
	var floor, product result
	steps := []func() error{
		func() (err error) { floor, err = b.floorRun(ctx, s, round); return err },
		func() (err error) { product, err = b.productRun(ctx, s, round); return err },
	}
	others := make([]result, len(b.peers))
	for i, name := range b.peers {
		if b.rivals.takePart(s) {
			steps = append(steps, func() (err error) { others[i], err = b.rivalRun(ctx, name, s, round); return err })
		}
	}
	var java result
	if s.Name == keyedName {
		steps = append(steps, func() (err error) { java, err = b.javaRun(ctx, s, round); return err })
	}
	for i := range steps {
		if err := steps[(i+round-1)%len(steps)](); err != nil {
			return err
		}
	}
	product.Ratio = product.Rate / floor.Rate
	b.results = append(b.results, floor, product)
	fmt.Fprintf(b.stderr, "bench: %s %d/%d: floor %.2f s, tributary %.2f s, %.2f of the floor's rate, %.2f CPU-s, peak %.0f MiB\n",
		s.Name, round, b.rounds, floor.Seconds, product.Seconds, product.Ratio, product.CPU, product.PeakMB)
	for _, r := range append(others, java) {
		if r.What != "" {
			r.Ratio = r.Rate / floor.Rate
			b.results = append(b.results, r)
			fmt.Fprintf(b.stderr, "bench: %s %d/%d: %s %.2f s, %.2f CPU-s, peak %.0f MiB; tributary is %.1f times as fast\n",
				s.Name, round, b.rounds, r.What, r.Seconds, r.CPU, r.PeakMB, product.Rate/r.Rate)
		}
	}
	return nil
}

func (b *sitting) result(what string, s shape, round int) result {
	return result{
		At: time.Now().UTC().Truncate(time.Second), Version: b.version, Machine: b.machine, What: what, Shape: s.Name, Round: round,
		Rows: s.Total(), Parallelism: b.parallelism, Memory: b.memory,
	}
}

func (b *sitting) floorRun(ctx context.Context, s shape, round int) (result, error) {
	r := b.result(floorName, s, round)
	c, err := b.meter.measure(func() (time.Duration, error) { return readAll(ctx, b.client, b.product.ports, s) })
	if err != nil {
		return r, err
	}
	r.fill(c)
	return r, nil
}

func (b *sitting) productRun(ctx context.Context, s shape, round int) (result, error) {
	r := b.result(productName, s, round)
	var out ran
	c, err := b.meter.measure(func() (time.Duration, error) {
		return recorded(ctx, b.perfDir, fmt.Sprintf("%s-%d", s.Name, round), b.worker.pid(), func() (time.Duration, error) {
			var err error
			out, err = b.product.run(ctx, s, round)
			return out.cpu, err
		})
	})
	if err != nil {
		return r, err
	}
	r.fill(c)
	r.Inner, r.Bytes, r.Files, r.Splits = out.inner.Seconds(), out.bytes, out.files, out.splits
	return r, b.product.clean(s, round)
}

// processor is the name of the machine's processor, as far as the kernel tells.
func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // without it the name is unknown, which is no reason to stop
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ":\t ")
		}
	}
	return "unknown processor"
}
