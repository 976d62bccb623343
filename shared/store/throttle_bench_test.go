package store_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/store"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/storetest"
)

// BenchmarkThrottledImport imports annotations of a comment each into one document, whose partition takes 200 write units a second, 50
// annotations. %-of-limit is what was written of what the partition takes in that time and what it held at the start; ms-neighbour is the
// 99th percentile of writes of one process to another organization meanwhile.
func BenchmarkThrottledImport(b *testing.B) {
	const (
		limit = 200.0 // write units a second
		units = 4.0   // of an annotation in the document's partition
		runs  = 10 * time.Second
	)
	proxy := localstacktest.StartAWSLike(b)
	proxy.Set(b, "wcu", fmt.Sprint(limit))
	for _, c := range []struct{ processes, clients, writes int }{{1, 1, 1}, {1, 16, 1}, {16, 1, 1}, {1, 16, 32}, {64, 1, 1}} {
		b.Run(fmt.Sprintf("processes=%d/clients=%d/at-once=%d", c.processes, c.clients, c.writes), func(b *testing.B) {
			plain := storetest.New(b)
			tables := make([]*store.Table, c.processes)
			for i := range tables {
				cfg := storetest.Config(b)
				cfg.BaseEndpoint = &proxy.URL
				tables[i] = store.New(cfg, plain.Name(), time.Now, rand.Reader)
			}
			for b.Loop() {
				proxy.Reset(b)
				var (
					wg           sync.WaitGroup
					seq, refused atomic.Int64
					mu           sync.Mutex
					longest      time.Duration
				)
				start := time.Now()
				var neighbour []time.Duration
				wg.Go(func() {
					for time.Since(start) < runs {
						began := time.Now()
						if err := tables[0].Put(b.Context(), store.NewItem(keys.Annotation(collab.OrganizationRef{Account: "other", Organization: "org"}.Document("doc"), "ann"))); err != nil {
							b.Error(err)
						}
						neighbour = append(neighbour, time.Since(began))
						time.Sleep(50 * time.Millisecond)
					}
				})
				for _, t := range tables {
					for range c.clients * c.writes {
						wg.Go(func() {
							for time.Since(start) < runs {
								began := time.Now()
								ctx, cancel := context.WithTimeout(b.Context(), 29*time.Second)
								_, err := t.Write(ctx, annotation(t, fmt.Sprintf("ann%d", seq.Add(1)))...)
								cancel()
								if err != nil {
									refused.Add(1)
								}
								mu.Lock()
								longest = max(longest, time.Since(began))
								mu.Unlock()
							}
						})
					}
				}
				wg.Wait()
				took := time.Since(start).Seconds()
				writes := proxy.Stats(b).Ops["TransactWriteItems"]
				done := float64(writes.N - writes.Throttles)
				b.ReportMetric(100*done*units/(limit*(took+1)), "%-of-limit")
				b.ReportMetric(float64(writes.N)/done, "calls/success")
				b.ReportMetric(float64(refused.Load()), "refused")
				b.ReportMetric(longest.Seconds(), "s-longest")
				slices.Sort(neighbour)
				b.ReportMetric(neighbour[len(neighbour)*99/100].Seconds()*1000, "ms-neighbour")
			}
		})
	}
}

// annotation is the head of an annotation and its comment.
func annotation(t *store.Table, id string) []store.Write {
	head := store.NewItem(keys.Annotation(collab.OrganizationRef{Account: "acct", Organization: "org"}.Document("doc"), id))
	head[keys.Org], head[keys.OrgUpd] = store.Text("A#acct#O#org#T#"+id[len(id)-1:]), store.Text(id)
	comment := store.NewItem(keys.Comment(collab.OrganizationRef{Account: "acct", Organization: "org"}.Document("doc"), id, 1))
	comment["txt"] = store.Text(strings.Repeat("x", 100))
	return []store.Write{store.Create(head), store.Create(comment)}
}
