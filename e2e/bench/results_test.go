package main

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFillComputesRates(t *testing.T) {
	c := cost{Wall: 2 * time.Second, Command: time.Second, Worker: 3 * time.Second, Databases: 4 * time.Second, WorkerPeak: 256 << 20, Foreign: 0.25}
	floor := result{What: floorName, Rows: 4_000_000}
	floor.fill(c)
	require.InDelta(t, 2e6, floor.Rate, 1e-6)
	require.InDelta(t, 0.25, floor.CPUPerM, 1e-9, "1 s of the clients for 4 million rows")
	require.Zero(t, floor.PeakMB, "the worker is idle meanwhile")

	product := result{What: productName, Rows: 4_000_000}
	product.fill(c)
	require.InDelta(t, 0.75, product.CPUPerM, 1e-9, "3 s of the worker for 4 million rows")
	require.InDelta(t, 256, product.PeakMB, 1e-9)
	require.InDelta(t, 1, product.StarterCPU, 1e-9)
}

func TestResultsAreKeptAndCompared(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := []result{
		{At: at, What: productName, Shape: "wide", Rows: 100, Parallelism: 4, Rate: 50, Ratio: 1.5, CPUPerM: 3, PeakMB: 200},
		{At: at, What: floorName, Shape: "wide", Rows: 100, Parallelism: 4, Rate: 9000, CPUPerM: 0.1},
		{At: at, What: productName, Shape: "wide", Rows: 999, Parallelism: 4, Rate: 9000, Ratio: 9, CPUPerM: 0.1, PeakMB: 1},
	}
	second := []result{{At: at, What: productName, Shape: "wide", Rows: 100, Parallelism: 4, Rate: 40, Ratio: 1.75, CPUPerM: 2, PeakMB: 300}}
	require.NoError(t, appendResults(file, first))
	require.NoError(t, appendResults(file, second))
	all, err := readResults(file)
	require.NoError(t, err)
	require.Equal(t, append(first, second...), all)

	like := result{What: productName, Shape: "wide", Rows: 100, Parallelism: 4}
	require.Equal(t, best{rate: 50, ratio: 1.75, cpuPerM: 2, peakMB: 200}, bestOf(all, like))
	like.Memory = "256MiB"
	require.Equal(t, best{}, bestOf(all, like), "other settings are another thing")
}

func TestReportShowsMedianAndComparison(t *testing.T) {
	s := shape{Name: "wide", Rows: 25}
	one := func(rate, ratio float64) result {
		return result{What: productName, Shape: "wide", Rows: 100, Rate: rate, Ratio: ratio, CPUPerM: 2, PeakMB: 250}
	}
	now := []result{one(300_000, 1.5), one(100_000, 1.1), one(200_000, 1.3)}
	var out bytes.Buffer
	require.NoError(t, report(&out, []shape{s}, now, []result{one(250_000, 1.6)}))
	require.Regexp(t, `wide +tributary +3 +100 +200 +300 +1\.30 +2\.00 +2\.00 `, out.String())
	require.Contains(t, out.String(), "300 k rows/s against 250 (+20.0 %), 1.50 of the floor against 1.60")

	out.Reset()
	require.NoError(t, report(&out, []shape{s}, now, []result{{What: productName, Shape: "wide", Rows: 7}}))
	require.Contains(t, out.String(), "nothing before")
}
