package erasure_test

import (
	"fmt"
	"runtime"
	"testing"

	"collabdata/shared/collab"
)

// BenchmarkErase forgets a person of 10,000 comments, of which others answered after half, beside as many of others: units and megabytes
// allocated in all, and the time of the job.
func BenchmarkErase(b *testing.B) {
	const threads, comments = 125, 80
	for b.Loop() {
		b.StopTimer()
		w := begin(b)
		doc := w.document("acme", "plan")
		for n := range 2 * threads {
			var list []collab.Comment
			for i := range comments {
				by := person
				if i == comments/2 || n%2 == 0 {
					by = "bob"
				}
				list = append(list, comment(int64(i+1), by, "what somebody said about something, in about a hundred bytes, so that a comment is no empty one"))
			}
			w.thread(doc, fmt.Sprintf("%05d", n), nil, list...)
		}
		job := w.erase([]string{person})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		usage := &collab.Usage{}
		b.StartTimer()
		w.context = collab.WithUsage(b.Context(), usage)
		w.run(job)
		b.StopTimer()
		runtime.ReadMemStats(&after)
		read, written, calls := usage.Total()
		b.ReportMetric(read, "read-units")
		b.ReportMetric(written, "write-units")
		b.ReportMetric(float64(calls), "calls")
		b.ReportMetric(float64(after.Sys)/1e6, "MB")
		b.StartTimer()
	}
}
