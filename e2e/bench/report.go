package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/tributary-lake/tributary/e2e/bench/peers"
)

// report writes the table of all results, and how they compare with earlier ones, if there are any.
func report(w io.Writer, shapes []shape, now, before []result) error {
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "table\twhat\trounds\tk rows/s min\tmedian\tmax\tof the floor, median\tCPU-s/M rows min\tmedian\tDB CPU-s/M\tpeak RSS MiB\twall s, median\tothers' CPU\t")
	for _, s := range shapes {
		for _, what := range append([]string{floorName, productName, javaName}, peers.Names()...) {
			if list := pick(now, s, what); len(list) > 0 {
				line(t, s, what, list)
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range shapes {
		if list := pick(now, s, productName); len(list) > 0 {
			last := list[len(list)-1]
			fmt.Fprintf(w, "%s: %d rows, %d splits, %d files, %.1f MB; the run itself %.2f s of %.2f s, starter %.2f and Temporal %.2f CPU-s\n",
				s.Name, last.Rows, last.Splits, last.Files, float64(last.Bytes)/1e6, last.Inner, last.Seconds, last.StarterCPU, last.TemporalCPU)
		}
	}
	keyed(w, now)
	for _, s := range shapes {
		if list := pick(now, s, productName); len(list) > 0 && len(before) > 0 {
			compare(w, list, before)
		}
	}
	return nil
}

func line(w io.Writer, s shape, what string, list []result) {
	rate, cpu := spreadBy(list, func(r result) float64 { return r.Rate / 1e3 }), spreadBy(list, func(r result) float64 { return r.CPUPerM })
	databases := spreadBy(list, func(r result) float64 { return r.DatabaseCPU / float64(r.Rows) * 1e6 })
	wall := spreadBy(list, func(r result) float64 { return r.Seconds })
	foreign := spreadBy(list, func(r result) float64 { return r.Foreign * 100 })
	ratio, peak := "", ""
	if what != floorName {
		ratio = fmt.Sprintf("%.2f", spreadBy(list, func(r result) float64 { return r.Ratio }).Median)
		peak = fmt.Sprintf("%.0f", spreadBy(list, func(r result) float64 { return r.PeakMB }).Max)
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%.0f\t%.0f\t%.0f\t%s\t%.2f\t%.2f\t%.2f\t%s\t%.2f\t%.0f %%\t\n",
		s.Name, what, len(list), rate.Min, rate.Median, rate.Max, ratio, cpu.Min, cpu.Median, databases.Median, peak, wall.Median, foreign.Median)
}

// keyed tells how the load of the key table compares with that of the append table of the same rows, and with Paimon's writer.
func keyed(w io.Writer, now []result) {
	rate := func(name, what string) float64 {
		return spreadBy(pick(now, shape{Name: name}, what), func(r result) float64 { return r.Rate }).Median
	}
	load := rate(keyedName, productName)
	if plain := rate(narrowName, productName); load > 0 && plain > 0 {
		fmt.Fprintf(w, "keyed: %.2f of the rate of the append table\n", load/plain)
	}
	if java := rate(keyedName, javaName); load > 0 && java > 0 {
		fmt.Fprintf(w, "keyed: %.1f times the rate of Paimon's writer in one thread\n", load/java)
	}
}

// compare shows the best of earlier results beside the best of these.
func compare(w io.Writer, list, before []result) {
	now, then := bestOf(list, list[0]), bestOf(before, list[0])
	if then.rate == 0 {
		fmt.Fprintf(w, "%s: nothing before with %d rows and these settings\n", list[0].Shape, list[0].Rows)
		return
	}
	fmt.Fprintf(w, "%s, best now against best before: %.0f k rows/s against %.0f (%+.1f %%), %.2f of the floor against %.2f, %.2f CPU-s/M against %.2f (%+.1f %%), peak %.0f MiB against %.0f\n",
		list[0].Shape, now.rate/1e3, then.rate/1e3, change(then.rate, now.rate), now.ratio, then.ratio,
		now.cpuPerM, then.cpuPerM, change(then.cpuPerM, now.cpuPerM), now.peakMB, then.peakMB)
}

func pick(list []result, s shape, what string) []result {
	var out []result
	for _, r := range list {
		if r.Shape == s.Name && r.What == what {
			out = append(out, r)
		}
	}
	return out
}

func spreadBy(list []result, of func(result) float64) spread {
	values := make([]float64, len(list))
	for i, r := range list {
		values[i] = of(r)
	}
	return spreadOf(values)
}
