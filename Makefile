# Tributary's tasks. `make` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=tools/go.mod
LINT := go tool -modfile=tools/golangci/go.mod golangci-lint
# The long legs of the tests, which fetch hundreds of megabytes more or make many millions of rows. Only test-all runs them.
LONG := github.com/tributary-lake/tributary/e2e/flink github.com/tributary-lake/tributary/e2e/planning
# The packages to test instead of all but the long legs. devstack, tools and the test-only modules have their own go.mod.
PKGS ?=
# Three packages at once, and four tests of one that allow it: they wait for servers and time-outs half of their time.
GOTEST := $(TOOL) gotestsum --format pkgname-and-test-fails -- -race -timeout 55m -p 3 -parallel 4
FUZZTIME ?= 5s
CHAOS ?= 10m
RELEASE ?= 0.1.0

help: ## list these tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/worker and bin/starter, without cgo
	CGO_ENABLED=0 go build -trimpath -o bin/ ./worker ./starter

demo: ## sync eight demo shards into a local Paimon table, with an embedded Temporal and its UI (first time: builds it, minutes)
	@echo "building the starter: a minute or two the first time, seconds when nothing has changed"
	go run ./starter demo

dev: ## keep Temporal (127.0.0.1:7233) and its UI (127.0.0.1:8233) up until interrupted
	@echo "building the starter: a minute or two the first time, seconds when nothing has changed"
	go run ./starter dev

setup: ## fetch the servers and readers that the tests use; `make test` does it by itself
	go run ./internal/testenv/cmd/testenv install

test: ## all tests but the long legs, with -race against real servers, fetching what they need
	pkgs="$(PKGS)"; [ -n "$$pkgs" ] || pkgs=$$(go list ./... | grep -vxF $(addprefix -e ,$(LONG))) || exit 1; $(GOTEST) $$pkgs
	$(MAKE) -C devstack test
	cd examples/composecheck && GOWORK=off go test ./...

test-all: test ## test, then the long legs: Apache Flink on our tables (220 MB more), MinIO (built from source), a thousand commits in HDFS, plans of large sources, tables of 100,000 rows for every key, fifty runs in chaos
	$(GOTEST) $(LONG)
	$(GOTEST) ./lake/fileio/s3 -minio -commits 1000
	$(GOTEST) ./lake/fileio/hdfs -run TestCommitRace -commits 1000
	$(GOTEST) ./source/mysql -run 'TestEveryKeyIsReadOnce/mariadb' -split-rows 100000
	$(GOTEST) ./e2e/chaos -for 0s -runs 50

race: test ## the same as test: -race is always on

sweep: ## break every single file operation, every packet of MySQL's and every activity of a run, in every way, and check the table (make test tries some)
	go test ./ledger/twophase -run EveryInterleaving -timeout 60m -v -deep
	go test ./activities -run Sweep -timeout 60m -v -every-point | grep -v ERROR
	go test ./internal/app -run Sweep -timeout 60m -v -every-point
	go test ./e2e/boundaries -timeout 60m -v -every-point

chaos: ## kill workers, Temporal and MySQL connections at random for CHAOS (10m), at least 50 runs, and compare every snapshot with MySQL (make test: two minutes)
	go test -race ./e2e/chaos -count 1 -v -timeout 0 -for $(CHAOS) -runs 50

# Go's fuzzer now and then fails with its own deadline. What really failed is kept as an input, and fails the second try too.
fuzz: ## every fuzz target for FUZZTIME (5s)
	@set -e; for d in $$(grep -rl --include=*_test.go 'func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -ho 'func Fuzz[A-Za-z0-9_]*' $$d/*_test.go | sed 's/func //' | sort -u); do \
	    echo "fuzz $$d $$f"; \
	    try() { go test $$d -run "^$$f$$" -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x; }; \
	    try > .fuzz.log 2>&1 || { cat .fuzz.log; try; }; done; done; rm -f .fuzz.log

bench: ## time and memory of large commits; uploads to S3 beside the SDK; then rows a second, CPU and peak memory beside the MariaDB client (BENCH='-rounds 2 -shapes wide')
	go run ./e2e/bench/commits
	cd e2e/bench/uploads && GOWORK=off go test -run '^$$' -bench . -benchtime 4x -count 2
	go run ./e2e/bench/scale
	go run ./e2e/bench $(BENCH)

bench-peers: ## the same tables moved by Spark and Flink too, in turns with ours (fetches 900 MB once; BENCH as above)
	go run ./e2e/bench -shapes narrow,wide,small -peers spark,flink $(BENCH)

# What a row costs in each stage, in processor time, which holds on a busy machine too.
STAGES = (go test ./source/mysql/wire -run '^$$' -bench '^BenchmarkDecode$$' -benchtime 20x -count 6 -benchmem \
  && go test ./lake/datafile -run '^$$' -bench '^BenchmarkWrite(Narrow|Wide)$$' -benchtime 250000x -count 6 -benchmem)

stages: ## micro-benchmarks of the row path beside the recorded ones, under a minute; judges nothing
	@now=$$(mktemp) && $(STAGES) > $$now && $(TOOL) benchstat -ignore cpu -filter '.unit:(cpu-ns/row OR B/row OR allocs/op)' \
	  recorded=e2e/bench/stages.txt now=$$now; status=$$?; rm -f $$now; exit $$status

record-stages: ## record the micro-benchmarks anew, on a quiet machine
	$(STAGES) > e2e/bench/stages.txt

golden: ## record histories of real runs for the replay test of later releases
	go test ./e2e -run HistoriesReplay -update-histories $(CURDIR)/workflows/testdata/replay/$(RELEASE)

lint: ## gofumpt, go vet, golangci-lint, workflowcheck
	@test -z "$$($(TOOL) gofumpt -l $$(git ls-files '*.go'))" || { $(TOOL) gofumpt -l $$(git ls-files '*.go'); echo "run: make fmt"; exit 1; }
	go vet ./...
	$(TOOL) workflowcheck ./workflows/...
	$(LINT) run

sbom: ## dist/*.cdx.json: every module in the programs, with licences, in CycloneDX
	@mkdir -p dist
	for p in worker starter; do go tool -modfile=tools/sbom/go.mod cyclonedx-gomod app -json -licenses -assert-licenses -main $$p -output dist/$$p.cdx.json . || exit 1; done

# Go's vulnerability database is a module too, so that it comes as all else does; its date is that of its version in tools/vulndb.
vuln: ## known vulnerabilities of the modules that the programs reach, by govulncheck and a database of its own
	@db=$$(mktemp -d) && trap "rm -rf $$db" EXIT && \
	  osv=$$(go mod download -json golang.org/x/vulndb@$$(awk '$$1 == "golang.org/x/vulndb" {print $$2}' tools/vulndb/go.mod) | awk -F'"' '$$2 == "Dir" {print $$4}')/data/osv && \
	  go tool -modfile=tools/vulndb/go.mod indexdb -vulns $$osv -out $$db && \
	  $(TOOL) govulncheck -db file://$$db ./worker ./starter

fmt: ## format the code
	$(TOOL) gofumpt -w $$(git ls-files '*.go')

.PHONY: help build demo dev setup test test-all race sweep chaos fuzz bench bench-peers stages record-stages golden lint sbom vuln fmt
