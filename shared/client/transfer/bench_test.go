package transfer_test

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"collabdata/shared/client/transfer"
	"collabdata/shared/testing/localstacktest"
)

// BenchmarkTransfer imports and exports threads of ten comments, a hundred a document, through a service in this process: on the emulator alone,
// as the local server has it, and behind awslike, which has the latency of AWS and counts units. peakMB is the heap of service and transfer.
func BenchmarkTransfer(b *testing.B) {
	const comments = 10
	for _, aws := range []bool{true, false} {
		threads := 10_000
		url := localstacktest.DynamoDB(b)
		var proxy localstacktest.AWSLike
		if aws {
			threads, proxy = 1_000, localstacktest.StartAWSLike(b)
			url = proxy.URL
		}
		b.Run(fmt.Sprintf("threads=%d/aws=%t", threads, aws), func(b *testing.B) {
			for b.Loop() {
				c := serveAt(b, url).account(b, "one")
				measure := func(name string, run func() error) {
					if aws {
						proxy.Mark(b)
					}
					start, peak := time.Now(), peakHeap()
					if err := run(); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(threads)/time.Since(start).Minutes(), name+"-threads/min")
					b.ReportMetric(float64(peak())/1e6, name+"-peakMB")
					if aws {
						m := proxy.Mark(b)
						b.ReportMetric(m.WriteUnits/float64(threads*comments), name+"-write-units/comment")
						b.ReportMetric(m.ReadUnits/float64(threads*comments), name+"-read-units/comment")
					}
				}
				measure("import", func() error {
					_, err := transfer.Import(b.Context(), c, threadsFile(threads, comments), transfer.ImportOptions{
						Refused: func(r transfer.Refusal) { b.Errorf("refused: %+v", r) },
					})
					return err
				})
				measure("export", func() error { return transfer.Export(b.Context(), c, "acme", io.Discard, transfer.ExportOptions{}) })
			}
		})
	}
}

// peakHeap watches the heap until the function that it returns is called, which says the most bytes that were in use.
func peakHeap() func() uint64 {
	end, most := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			select {
			case <-tick.C:
			case <-end:
				most <- peak
				return
			}
		}
	}()
	return func() uint64 {
		close(end)
		return <-most
	}
}

// threadsFile returns a file with threads, as it is made.
func threadsFile(threads, comments int) io.Reader {
	r, w := io.Pipe()
	go func() {
		out := bufio.NewWriter(w)
		fmt.Fprintln(out, `{"kind":"organization","organizationId":"acme"}`)
		for n := range threads {
			if n%3000 == 0 {
				for d := n / 100; d < min(n/100+30, (threads+99)/100); d++ {
					fmt.Fprintf(out, `{"kind":"document","documentId":"d%d"}`+"\n", d)
				}
			}
			fmt.Fprintf(out, `{"kind":"annotation","documentId":"d%d","annotationId":"a%06d","location":{"id":"l%d"},"createdAt":1700000000000,"lastUpdated":1700000001000}`+"\n", n/100, n, n%10)
			for c := range comments {
				fmt.Fprintf(
					out, `{"kind":"comment","documentId":"d%d","annotationId":"a%06d","commentId":%d,"commentText":"A comment of some length, as people write them.","from":{"userId":"u%d","name":"User %[4]d"},"createdAt":1700000000000}`+"\n",
					n/100, n, c+1, c,
				)
			}
		}
		w.CloseWithError(out.Flush())
	}()
	return r
}
