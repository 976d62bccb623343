package store

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/table"
)

// BenchmarkItems measures how heads and comments become items and back, without DynamoDB's own form.
func BenchmarkItems(b *testing.B) {
	doc := collab.OrganizationRef{Account: "acct", Organization: "organization"}.Document("document")
	th := newThread("01jd2m6z5x0000h3k9r7v2n8p4", "user-0001", 1, 500)
	th.Location, th.LocationID = collab.JSON(`{"id":"page-7","locationName":"Page 7"}`), "page-7"
	th.Context = collab.JSON(`{"a":1,"b":[1,2,3]}`)
	th.CreatedAt, th.LastUpdated, th.LastComment = 1_700_000_000_000, 1_700_000_000_000, 1_700_000_000_000_000
	head := headItem(doc, &th.Annotation)
	comment := commentItem(doc, th.ID, &th.Comments[0])
	changed := *th
	changed.StatusID = "DONE"
	for _, bench := range []struct {
		name string
		f    func() error
	}{
		{"encode head", func() error { headItem(doc, &th.Annotation); return nil }},
		{"decode head", func() error { _, err := readHead(head); return err }},
		{"encode comment", func() error { commentItem(doc, th.ID, &th.Comments[0]); return nil }},
		{"decode comment", func() error { _, err := readComment(comment); return err }},
		{"size of head", func() error { return checkSize(head, "") }},
		{"change of head", func() error {
			newExpression().difference(head, headItem(doc, &changed.Annotation))
			return nil
		}},
		{"entry of index", func() error { _, err := newEntry(head); return err }},
		{"position", func() error {
			_, err := json.Marshal(position{Document: "document", Value: 3, Key: table.Join("document", th.ID)})
			return err
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bench.f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStore measures whole calls, each with its calls to the emulator.
func BenchmarkStore(b *testing.B) {
	s := newStore(b)
	org := s.mustOrganization(b, "org")
	doc, other := org.Document("doc"), org.Document("other") // what is read, and what grows
	const page = 100
	for i := range page {
		s.mustAdd(b, doc, newThread(fmt.Sprintf("a%03d", i), "u", 2, 300))
	}
	s.mustAdd(b, other, newThread("a", "w", 1, 300))
	read := func(q collab.AnnotationQuery) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.Walk(ctx, org, q, nil, page, func(string, *collab.Thread) bool { return true })
			return err
		}
	}
	n := 0
	for _, bench := range []struct {
		name string
		f    func(ctx context.Context) error
	}{
		{"add annotation", func(ctx context.Context) error {
			n++
			return s.AddAnnotation(ctx, other, newThread(fmt.Sprint("z", n), "v", 1, 300), newIDs().Mark())
		}},
		{"add comment", func(ctx context.Context) error {
			c := newComment(0, "u", 300)
			c.LastUpdated = s.millis()
			_, err := s.AddComments(ctx, other, "a", collab.NewComments{Comments: []collab.Comment{c}, IDs: newIDs()})
			return err
		}},
		{"page of 100 by document", read(collab.AnnotationQuery{Documents: []string{"doc"}})},
		{"page of 100 by creator", read(collab.AnnotationQuery{Creators: []string{"u"}})},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			u := &collab.Usage{}
			ctx := collab.WithUsage(b.Context(), u)
			for b.Loop() {
				if err := bench.f(ctx); err != nil {
					b.Fatal(err)
				}
			}
			_, _, calls := u.Total()
			b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
		})
	}
}
