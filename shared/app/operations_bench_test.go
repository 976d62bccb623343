package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/testing/localstacktest"
)

// BenchmarkOperations reports what each operation costs, with the latency of AWS: calls of DynamoDB and SQS, how many of them one after the
// other, units, and times. One client; the document has 200 annotations of two comments.
func BenchmarkOperations(b *testing.B) {
	proxy := localstacktest.StartAWSLike(b)
	const (
		document = `"organizationId": "org", "documentId": "doc"`
		comment  = `{"commentText": "hello", "from": {"userId": "ann"}}`
	)
	ids := func(from, n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("%q", fmt.Sprintf("a%09d", from+i))
		}
		return strings.Join(list, ", ")
	}
	// Annotations a000000002 to a000000201 are there, in turn at locations l0 to l9, in two of three statuses.
	seed := func(b *testing.B, s *bench) {
		list := make([]string, 200)
		for i := range list {
			list[i] = fmt.Sprintf(`{"annotationId": "a%09d", "location": {"id": "l%d"}, "status": {"id": %q},
				"commentData": [{"commentId": 1, "commentText": "hello", "from": {"userId": "u%d"}}, %s]}`,
				s.seq.Add(1), i%10, []string{"OPEN", "RESOLVED"}[i%2], i%10, comment)
		}
		for part := range slices.Chunk(list, 50) {
			s.post(b, "/v2/commentannotations/add", fmt.Sprintf(`{"data": {%s, "commentAnnotations": [%s]}}`, document, strings.Join(part, ",")))
		}
	}
	list := func(filter string) string { return fmt.Sprintf(`{"organizationId": "org", "pageSize": 20%s}`, filter) }
	for _, op := range []struct {
		name, path string
		data       func(n int) string // of request n
		keyed      bool               // with an Idempotency-Key
		events     bool               // every change is one
	}{
		{name: "annotation add", path: "commentannotations/add", data: func(n int) string {
			return fmt.Sprintf(`{%s, "commentAnnotations": [{"annotationId": "new%d", "commentData": [%s]}]}`, document, n, comment)
		}},
		{name: "annotation add, event", path: "commentannotations/add", events: true, data: func(n int) string {
			return fmt.Sprintf(`{%s, "commentAnnotations": [{"annotationId": "new%d", "commentData": [%s]}]}`, document, n, comment)
		}},
		{name: "annotation add, Idempotency-Key", path: "commentannotations/add", keyed: true, data: func(n int) string {
			return fmt.Sprintf(`{%s, "commentAnnotations": [{"annotationId": "new%d", "commentData": [%s]}]}`, document, n, comment)
		}},
		{name: "100 annotations add", path: "commentannotations/add", data: func(n int) string {
			all := make([]string, 100)
			for i := range all {
				all[i] = fmt.Sprintf(`{"annotationId": "new%d-%d", "commentData": [%s]}`, n, i, comment)
			}
			return fmt.Sprintf(`{%s, "commentAnnotations": [%s]}`, document, strings.Join(all, ","))
		}},
		{name: "get 20 by document", path: "commentannotations/get", data: func(int) string { return list(`, "documentId": "doc"`) }},
		{name: "get 20 by location", path: "commentannotations/get", data: func(int) string { return list(`, "locationIds": ["l1"]`) }},
		{name: "get 20 by creator", path: "commentannotations/get", data: func(int) string { return list(`, "userIds": ["u1"]`) }},
		{name: "get 20 by status", path: "commentannotations/get", data: func(int) string { return list(`, "statusId": "OPEN"`) }},
		{name: "get 20 by updatedAfter", path: "commentannotations/get", data: func(int) string { return list(`, "updatedAfter": 1`) }},
		{name: "get 20 ids in a document", path: "commentannotations/get", data: func(int) string {
			return fmt.Sprintf(`{%s, "annotationIds": [%s]}`, document, ids(2, 20))
		}},
		{name: "get 20 ids", path: "commentannotations/get", data: func(int) string {
			return fmt.Sprintf(`{"organizationId": "org", "annotationIds": [%s]}`, ids(2, 20))
		}},
		{name: "update 1", path: "commentannotations/update", data: func(n int) string {
			return fmt.Sprintf(`{%s, "annotationIds": [%s], "updatedData": {"context": {"n": %d}}}`, document, ids(2+n%200, 1), n)
		}},
		{name: "update 1, event", path: "commentannotations/update", events: true, data: func(n int) string {
			return fmt.Sprintf(`{%s, "annotationIds": [%s], "updatedData": {"context": {"n": %d}}}`, document, ids(2+n%200, 1), n)
		}},
		{name: "update 30", path: "commentannotations/update", data: func(n int) string {
			return fmt.Sprintf(`{%s, "annotationIds": [%s], "updatedData": {"context": {"n": %d}}}`, document, ids(2+n%100, 30), n)
		}},
		{name: "comments add", path: "commentannotations/comments/add", data: func(n int) string {
			return fmt.Sprintf(`{%s, "annotationId": %s, "commentData": [%s]}`, document, ids(2+n%200, 1), comment)
		}},
		{name: "comments add, event", path: "commentannotations/comments/add", events: true, data: func(n int) string {
			return fmt.Sprintf(`{%s, "annotationId": %s, "commentData": [%s]}`, document, ids(2+n%200, 1), comment)
		}},
		{name: "comments update", path: "commentannotations/comments/update", data: func(n int) string {
			return fmt.Sprintf(`{%s, "annotationId": %s, "commentIds": [1], "updatedData": {"commentText": "%d"}}`, document, ids(2+n%200, 1), n)
		}},
		{name: "notifications add to 5", path: "notifications/add", data: func(n int) string {
			users := `{"userId": "n1"}, {"userId": "n2"}, {"userId": "n3"}, {"userId": "n4"}, {"userId": "n5"}`
			return fmt.Sprintf(`{%s, "notificationId": "n%d", "actionUser": {"userId": "ann"}, "displayHeadlineMessageTemplate": "hello", "notifyAll": false,
				"notifyUsers": [%s]}`, document, n, users)
		}},
	} {
		b.Run(op.name, func(b *testing.B) {
			const warm, requests = 10, 60
			s := newBenchOn(b, proxy.URL, collab.Settings{AllEvents: op.events})
			seed(b, s)
			var took []time.Duration
			request := func(n int) {
				var header http.Header
				if op.keyed {
					header = http.Header{"Idempotency-Key": {fmt.Sprint(n)}}
				}
				began := time.Now()
				answer, err := s.client.Send(b.Context(), http.MethodPost, "/v2/"+op.path, header, []byte(`{"data": `+op.data(n)+`}`))
				took = append(took, time.Since(began))
				if err != nil || answer.Status != http.StatusOK {
					b.Fatalf("%v %+v", err, answer)
				}
			}
			for b.Loop() {
				for n := range warm {
					request(n)
				}
				proxy.Mark(b)
				took = nil
				var sum localstacktest.AWSLikeMark
				var depths []int
				for n := range requests {
					request(warm + n)
					m := proxy.Mark(b)
					depths = append(depths, m.Depth)
					sum.Dynamo, sum.SQS = sum.Dynamo+m.Dynamo, sum.SQS+m.SQS
					sum.ReadUnits, sum.WriteUnits = sum.ReadUnits+m.ReadUnits, sum.WriteUnits+m.WriteUnits
				}
				slices.Sort(took)
				slices.Sort(depths)
				b.ReportMetric(float64(sum.Dynamo)/requests, "calls")
				b.ReportMetric(float64(sum.SQS)/requests, "sqs-calls")
				b.ReportMetric(float64(depths[requests/2]), "depth")
				b.ReportMetric(sum.ReadUnits/requests, "read-units")
				b.ReportMetric(sum.WriteUnits/requests, "write-units")
				b.ReportMetric(took[requests/2].Seconds()*1000, "ms-p50")
				b.ReportMetric(took[requests*99/100].Seconds()*1000, "ms-p99")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
