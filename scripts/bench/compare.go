package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// parse returns the name of the benchmark that a line of go test is about, without the number of processors, and those of its figures that
// do not depend on the machine.
func parse(line string) (name string, values map[string]float64, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return "", nil, false
	}
	name = strings.TrimPrefix(fields[0], "Benchmark")
	if i := strings.LastIndex(name, "-"); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			name = name[:i]
		}
	}
	values = map[string]float64{}
	for i := 2; i+1 < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return "", nil, false
		}
		if comparable(fields[i+1]) {
			values[fields[i+1]] = value
		}
	}
	return name, values, true
}

// comparable reports whether figures of a unit mean the same on another machine.
func comparable(unit string) bool {
	return unit == "allocs/op" || unit == "depth" || strings.Contains(unit, "calls") || strings.Contains(unit, "-units") ||
		strings.HasSuffix(unit, "ratio")
}

// notable is the change of a figure that is marked: less is noise.
const notable = 0.10

// compare prints the figures beside those that were saved.
func compare(out io.Writer, saved, now figures) {
	fmt.Fprintln(out, "\n== compared with the saved figures")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "saved\tnow\tchange\t \tunit\t\t")
	for _, name := range slices.Sorted(maps.Keys(now)) {
		for _, unit := range slices.Sorted(maps.Keys(now[name])) {
			value := now[name][unit]
			before, known := saved[name][unit]
			if !known {
				fmt.Fprintf(w, "-\t%s\tnew\t \t%s\t  %s\n", show(value), unit, name)
				continue
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t  %s\n", show(before), show(value), change(before, value), mark(before, value), unit, name)
		}
	}
	_ = w.Flush() // to where the lines before went
}

func show(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func change(before, now float64) string {
	if before == now {
		return "0 %"
	}
	if before == 0 {
		return "from 0"
	}
	return fmt.Sprintf("%+.0f %%", 100*(now-before)/before)
}

// mark is what tells a reader to look: less is better in every unit that is compared.
func mark(before, now float64) string {
	switch {
	case now > before*(1+notable):
		return "worse"
	case now < before*(1-notable):
		return "better"
	}
	return " "
}
