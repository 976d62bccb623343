package main

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]map[string]float64{
		"BenchmarkService/add/clients=1-2 \t 20\t 1446566 ns/op\t 1.231 x-raw-calls\t 61452 B/op\t 754 allocs/op": {"x-raw-calls": 1.231, "allocs/op": 754},
		"BenchmarkDown-16 1 5 ns/op 3 p99-ms 1.5 p99-ratio":                                                       {"p99-ratio": 1.5},
		"BenchmarkOneThread/event=true/clients=4 1 0 ns/op 99 adds/s 3 calls/add 8.5 write-units/add":             {"calls/add": 3, "write-units/add": 8.5},
		"BenchmarkKeys 1 5 ns/op":                {},
		"ok  \tcollabdata/shared/app\t0.070s":    nil,
		"BenchmarkBroken-2 --- FAIL: some words": nil,
	} {
		name, values, ok := parse(line)
		if diff := cmp.Diff(want, values); diff != "" || ok != (want != nil) {
			t.Errorf("%s: %q %v\n%s", line, name, ok, diff)
		}
	}
	if name, _, _ := parse("BenchmarkService/add/clients=1-2 1 5 ns/op"); name != "Service/add/clients=1" {
		t.Errorf("the name is %q", name)
	}
}

func TestCompare(t *testing.T) {
	var out bytes.Buffer
	compare(&out,
		figures{"a.X": {"allocs/op": 100, "calls/add": 2, "x-raw-calls": 2}},
		figures{"a.X": {"allocs/op": 105, "calls/add": 3, "x-raw-calls": 1}, "a.Y": {"allocs/op": 0}})
	const want = `
== compared with the saved figures
  saved  now  change                 unit  
    100  105    +5 %            allocs/op  a.X
      2    3   +50 %   worse    calls/add  a.X
      2    1   -50 %  better  x-raw-calls  a.X
      -    0     new            allocs/op  a.Y
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}

// reported matches the unit of a figure that a benchmark reports, or the end or beginning of it.
var reported = regexp.MustCompile(`ReportMetric\(.*, (?:\w+\.name\+)?(?:fmt\.Sprintf\()?"([^"]+)"`)

// TestMeaning holds that each figure that a benchmark reports is explained.
func TestMeaning(t *testing.T) {
	var explained []string
	for line := range strings.Lines(meaning) {
		if units, ok := strings.CutPrefix(line, "  "); ok {
			units, _, _ = strings.Cut(units, "   ")
			explained = append(explained, strings.Split(units, ", ")...)
		}
	}
	is := func(unit string) bool {
		return slices.ContainsFunc(explained, func(u string) bool {
			begin, end, open := strings.Cut(u, "…")
			return u == unit || open && strings.HasPrefix(unit, begin) && strings.HasSuffix(unit, end)
		})
	}
	count := 0
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".local" || d.Name() == ".git" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		for _, m := range reported.FindAllStringSubmatch(string(text), -1) {
			count++
			if !is(m[1]) {
				t.Errorf("%s reports %q, which is not explained", name, m[1])
			}
		}
		return err
	})
	if err != nil || count < 30 {
		t.Errorf("%d figures were found, %v", count, err)
	}
}
