package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]map[string]float64{
		"BenchmarkService/add/clients=1-2 \t 20\t 1446566 ns/op\t 1.231 x-raw-calls\t 61452 B/op\t 754 allocs/op": {"x-raw-calls": 1.231, "allocs/op": 754},
		"BenchmarkDown-16 1 5 ns/op 3 p99-ms 1.5 p99-ratio":                                                       {"p99-ratio": 1.5},
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
		figures{"a.X": {"allocs/op": 100, "calls/op": 2, "x-raw-calls": 2}},
		figures{"a.X": {"allocs/op": 105, "calls/op": 3, "x-raw-calls": 1}, "a.Y": {"allocs/op": 0}})
	const want = `
== compared with the saved figures
  saved  now  change                 unit  
    100  105    +5 %            allocs/op  a.X
      2    3   +50 %   worse     calls/op  a.X
      2    1   -50 %  better  x-raw-calls  a.X
      -    0     new            allocs/op  a.Y
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(- want, + got):\n%s", diff)
	}
}
