package threads

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/storetest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// added is what clients that added comments for a while met.
type added struct {
	took    []time.Duration // by comment, ascending
	perSec  float64
	aborted int
}

// addComments has clients add comments to threads for a while, one after the other each, with an event or without.
func addComments(b *testing.B, w *writing, clients int, thread func(client int) string, event bool) added {
	const lasts = 5 * time.Second
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		out   added
		start = time.Now()
	)
	for client := range clients {
		wg.Go(func() {
			for n := 0; time.Since(start) < lasts; n++ {
				began := time.Now()
				add := collab.NewComments{Comments: []collab.Comment{commentBy("ann", 0, began.UnixMilli())}}
				if event {
					add.Event = func(*collab.Annotation, []collab.Comment) *collab.Event {
						return &collab.Event{ID: fmt.Sprintf("e%d-%d", client, n), Account: "acct", Type: collab.CommentAdded}
					}
				}
				_, err := w.AddComments(b.Context(), newRequest(0), w.doc, thread(client), add)
				mu.Lock()
				switch {
				case err == nil:
					out.took = append(out.took, time.Since(began))
				case collab.CodeOf(err) == collab.Aborted:
					out.aborted++
				default:
					b.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(out.took)
	out.perSec = float64(len(out.took)) / time.Since(start).Seconds()
	return out
}

func (a *added) report(b *testing.B) {
	b.ReportMetric(a.perSec, "adds/s")
	b.ReportMetric(a.took[len(a.took)*99/100].Seconds()*1000, "ms-p99")
	b.ReportMetric(float64(a.aborted), "aborted")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOneThread adds comments to one annotation, with the latency, the conflicts and the limits of AWS.
func BenchmarkOneThread(b *testing.B) {
	proxy := localstacktest.StartAWSLike(b)
	for _, event := range []bool{false, true} {
		for _, clients := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("event=%v/clients=%d", event, clients), func(b *testing.B) {
				cfg := storetest.Config(b)
				cfg.BaseEndpoint = aws.String(proxy.URL)
				w := newWriting(b, store.New(cfg, storetest.New(b).Name(), time.Now, rand.Reader))
				one := func(int) string { return "a" }
				for b.Loop() {
					proxy.Reset(b)
					a := addComments(b, w, clients, one, event)
					a.report(b)
					var calls, conflicts, throttles int
					var read, written float64
					for _, op := range proxy.Stats(b).Ops {
						calls, conflicts, throttles = calls+op.N, conflicts+op.Conflicts, throttles+op.Throttles
						read, written = read+op.ReadUnits, written+op.WriteUnits
					}
					n := float64(len(a.took))
					b.ReportMetric(float64(calls)/n, "calls/add")
					b.ReportMetric(written/n, "write-units/add")
					b.ReportMetric(read/n, "read-units/add")
					b.ReportMetric(float64(conflicts)/n, "conflicts/add")
					b.ReportMetric(float64(throttles)/n, "throttles/add")
				}
			})
		}
	}
}

// BenchmarkOneThreadLocally compares clients that add comments to one annotation with as many that each have their own, without a proxy.
func BenchmarkOneThreadLocally(b *testing.B) {
	const clients = 16
	for _, threads := range []int{1, clients} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			w := newWriting(b, storetest.New(b))
			name := func(client int) string { return fmt.Sprint("a", client%threads) }
			for i := range threads {
				w.must(w.AddAnnotation(b.Context(), newRequest(0), w.doc, thread(name(i), "ann", 1), collab.NewAnnotation{}))
			}
			for b.Loop() {
				a := addComments(b, w, clients, name, false)
				a.report(b)
			}
		})
	}
}
