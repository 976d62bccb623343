package live_test

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"collabdata/shared/app/live"
	"collabdata/shared/collab"
)

// BenchmarkHints: 500 pages are connected to a document that is written 50 times a second for ten seconds. ms-p95 is from the answer of a
// write until a page hears of it or of a later one; hints/s is of one page; units/write what hints reads of the table for each write.
func BenchmarkHints(b *testing.B) {
	const (
		pages  = 500
		writes = 50 // a second
		runs   = 10 * time.Second
	)
	w := newWorld(b)
	_, usual := live.New(live.Config{})
	w.hints.Lap = usual.Lap
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	connected := make([]page, pages)
	for i := range connected {
		connected[i] = w.connect(b, "acme", "user"+strconv.Itoa(i), `"documentIds": ["plan"]`)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)

	ctx, stop := context.WithCancel(b.Context())
	usage := new(collab.Usage)
	var workers sync.WaitGroup
	workers.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond) // as the function's event source gathers a batch
			if err := w.hints.Take(collab.WithUsage(ctx, usage), w.written.take()); err != nil && ctx.Err() == nil {
				b.Error(err)
			}
		}
	})
	var mu sync.Mutex
	var written []time.Time
	heard := make([][]time.Time, pages)
	for i, p := range connected {
		workers.Go(func() {
			for {
				_, text, err := p.Read(ctx)
				if err != nil {
					return
				}
				if string(text) == plan {
					heard[i] = append(heard[i], time.Now())
				}
			}
		})
	}
	b.ResetTimer()
	for b.Loop() {
		var writers sync.WaitGroup
		tick := time.NewTicker(time.Second / writes)
		for end := time.Now().Add(runs); time.Now().Before(end); <-tick.C {
			writers.Go(func() {
				w.comment(b, "plan")
				mu.Lock()
				defer mu.Unlock()
				written = append(written, time.Now())
			})
		}
		tick.Stop()
		writers.Wait()
		time.Sleep(2 * time.Second) // what was written last is heard of
	}
	stop()
	workers.Wait()
	var late []time.Duration
	hints, lost := 0, 0
	for _, at := range heard {
		hints += len(at)
		for _, wrote := range written {
			i, _ := slices.BinarySearchFunc(at, wrote, time.Time.Compare)
			if i == len(at) {
				lost++
				continue
			}
			late = append(late, at[i].Sub(wrote))
		}
	}
	slices.Sort(late)
	seconds := float64(b.N) * runs.Seconds()
	read, _, calls := usage.Total()
	b.ReportMetric(float64(late[len(late)*95/100].Milliseconds()), "ms-p95")
	b.ReportMetric(float64(late[len(late)/2].Milliseconds()), "ms-p50")
	b.ReportMetric(float64(hints)/float64(pages)/seconds, "hints/s/page")
	b.ReportMetric(float64(len(written))/seconds, "writes/s")
	b.ReportMetric(float64(lost), "unheard")
	b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/float64(pages)/1024, "KB/page")
	b.ReportMetric(read/float64(len(written)), "units/write")
	b.ReportMetric(float64(calls)/float64(len(written)), "calls/write")
}
