package delivery_test

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"collabdata/shared/delivery"
	"collabdata/shared/testing/localstacktest"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// BenchmarkBusyEndpoint has the lane of one endpoint worked on, for which 10,000 new deliveries wait. It reports how many are posted in a
// second: with the stand-in for the table as it is, and with the latency and the limits of AWS before it.
func BenchmarkBusyEndpoint(b *testing.B) {
	const n = 10_000
	for _, like := range []string{"emulator", "aws"} {
		for _, answers := range []time.Duration{0, 50 * time.Millisecond} {
			b.Run(fmt.Sprintf("table=%s/answers=%v", like, answers), func(b *testing.B) {
				for b.Loop() {
					w := newWorld(b)
					a := w.account()
					up := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(answers) }))
					a.webhook("hook", up.URL)
					a.deliveries([]endpoint{{a, "hook"}}, n)
					if like == "aws" {
						w.dynamo.BaseEndpoint = aws.String(localstacktest.StartAWSLike(b).URL)
					}
					roots := x509.NewCertPool()
					roots.AddCert(up.Certificate())
					p := w.start(func(o *delivery.Options) { o.Client.RootCAs = roots })
					began := time.Now()
					w.drain(p)
					took := time.Since(began)
					up.Close()
					b.ReportMetric(n/took.Seconds(), "posts/s")
					b.ReportMetric(0, "ns/op")
					if left := a.lane("hook"); left.Next != 0 {
						b.Errorf("there is more to do at %d", left.Next)
					}
				}
			})
		}
	}
}
