// Bench runs the benchmarks package by package, shows each figure as it comes, and compares those that do not depend on the machine with
// the ones that were saved:
//
//	make bench
//	make bench ARGS='-run Service'   those whose names match
//	make bench ARGS=-save            and save the figures
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const (
	reference = "scripts/bench/reference.json"
	all       = "." // the pattern of every benchmark
)

// meaning says what the figures are, each by its unit; … stands for what changes from one benchmark to the next.
const meaning = `What the figures mean
  ns/op, B/op, allocs/op              time, heap and allocations of one operation
  calls, calls/…, sqs-calls           requests to the database, and to the queues, of one operation
  depth                               how many of these follow one another
  read-units…, write-units…           capacity of the table that one operation uses
  x-raw-calls                         time of a request, divided by that of the calls to the database that it made
  …-ratio                             divided by the same without the disturbance, or of the smallest program
  adds/s, events/s, posts/s, deliveries/s   how many were done in a second
  relay-s                             how long the relay ran at most
  p50-ms…, p99-ms…, ms-p50, ms-p99    of 100 operations 50, or 99, took at most so long; without: the same without the disturbance
  ms-neighbour                        of 100 operations of another organization meanwhile 99 took at most so long
  s-longest                           what the slowest operation took
  inbox-s, webhook-s, read-s          of another account under attack: how long a notification and a webhook took, and a read
  rounds, endpoints, answers-…        of an attack: looks at the other account, webhook endpoints, answers by HTTP status
  %-of-limit                          what was written of what the partition takes
  refused, aborted                    requests that the database refused, operations that failed so
  conflicts/add, throttles/add        refusals by the database for one operation
  posts-to-down, most-in-flight, pending   posts to an endpoint that is down, messages on their way, deliveries that wait
  places-out                          by how many places the first posts are out of order at most
  MB-heap, heap-MB, MB-resident       the most memory that was in use
  ms-paint…, ms-key…, ms-busy…        of 300 threads on a page: from the answer to the paint, of a key typed meanwhile; how long the page's thread worked
  …-MB, …-ms                          of a function's program: its size, and its start
Only ratios, calls, units of capacity and allocations are compared: the rest depends on the machine.
`

func main() {
	pattern := flag.String("run", all, "which benchmarks, a regular expression")
	save := flag.Bool("save", false, "save the figures, in the place of those that were compared with")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *pattern, *save, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, pattern string, save bool, out io.Writer) error {
	saved := figures{}
	text, err := os.ReadFile(reference)
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	io.WriteString(out, meaning+"\n")
	listed, err := exec.CommandContext(ctx, "go", "list", "./...").Output()
	if err != nil {
		return err
	}
	now := figures{}
	var failed error // a package's failure does not lose the figures of the others
	for _, p := range strings.Fields(string(listed)) {
		if !strings.HasPrefix(p, "collabdata/infra") {
			if err := now.measure(ctx, p, pattern, out); err != nil {
				fmt.Fprintln(out, err)
				failed = errors.Join(failed, err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	if len(now) == 0 && failed == nil {
		return fmt.Errorf("no benchmark matches %q", pattern)
	}
	compare(out, saved, now)
	if !save {
		return failed
	}
	if pattern == all && failed == nil {
		saved = figures{} // nothing stays of a benchmark that is gone
	}
	maps.Copy(saved, now)
	if text, err = json.MarshalIndent(saved, "", "  "); err != nil {
		return err
	}
	return errors.Join(failed, os.WriteFile(reference, append(text, '\n'), 0o644))
}

// figures are the values of benchmarks by name and unit, those alone that do not depend on the machine.
type figures map[string]map[string]float64

// measure runs the benchmarks of a package, where it has any, and adds their figures.
func (f figures) measure(ctx context.Context, pkg, pattern string, out io.Writer) error {
	listed, err := exec.CommandContext(ctx, "go", "test", "-vet=off", "-list", "^Benchmark", pkg).Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", pkg, err, listed)
	}
	if !strings.Contains(string(listed), "Benchmark") {
		return nil
	}
	start := time.Now()
	fmt.Fprintf(out, "== %s\n", pkg)
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", pattern, "-benchmem", "-vet=off", "-timeout", "4h", pkg)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	short := strings.TrimPrefix(pkg, "collabdata/")
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		if name, values, ok := parse(lines.Text()); ok {
			f[short+"."+name] = values
		}
		if text := lines.Text(); strings.HasPrefix(text, "Benchmark") || strings.Contains(text, "FAIL") || strings.HasPrefix(text, " ") {
			fmt.Fprintln(out, text)
		}
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		return fmt.Errorf("%s: %w", pkg, err)
	}
	fmt.Fprintf(out, "   it took %.0f s\n", time.Since(start).Seconds())
	return nil
}
