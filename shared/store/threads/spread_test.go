package threads

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/storetest"
	"collabdata/shared/table"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// hot is a transport that refuses the first call that writes a head by time, as AWS does where a partition takes no more.
type hot struct {
	next    aws.HTTPClient
	index   string // that is named
	refused atomic.Int64
}

func (h *hot) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	operation := r.Header.Get("X-Amz-Target")
	if strings.Contains(string(body), `"`+table.OrgUpd+`"`) && !strings.HasSuffix(operation, "Query") && h.refused.Add(1) == 1 {
		if strings.HasSuffix(operation, "TransactWriteItems") {
			failure := storetest.Failure("TransactionCanceledException")
			failure["CancellationReasons"] = []map[string]string{
				{"Code": "ThrottlingError", "Message": "Throughput exceeds the current capacity for one or more global secondary indexes."}, {"Code": "None"},
			}
			return storetest.Answer(400, failure), nil
		}
		failure := storetest.Failure("ThrottlingException")
		failure["throttlingReasons"] = []map[string]string{{
			"reason": "IndexWriteKeyRangeThroughputExceeded", "resource": "arn:aws:dynamodb:eu-west-1:123456789012:table/t/index/" + h.index,
		}}
		return storetest.Answer(400, failure), nil
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return h.next.Do(r)
}

// TestSpread refuses one write of each kind because an index is too hot: it is carried out nonetheless, and the organization is spread where
// that index may be the one by time.
func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		name  string
		index string
		write func(s *Store, doc collab.DocumentRef) error
		want  int
	}{
		{"add", table.IndexOrg, func(s *Store, doc collab.DocumentRef) error {
			return s.AddAnnotation(t.Context(), doc, newThread("b", "u", 1, 1), collab.NewAnnotation{Mark: requestIDs().Mark()})
		}, 5},
		{"comment", table.IndexOrg, func(s *Store, doc collab.DocumentRef) error {
			c := newComment(7, "u", 1)
			c.LastUpdated = 2_000
			_, err := s.AddComments(t.Context(), doc, "a", collab.NewComments{Comments: []collab.Comment{c}, IDs: requestIDs()})
			return err
		}, 5},
		{"comment, another index", table.IndexUpd, func(s *Store, doc collab.DocumentRef) error {
			c := newComment(7, "u", 1)
			c.LastUpdated = 2_000
			_, err := s.AddComments(t.Context(), doc, "a", collab.NewComments{Comments: []collab.Comment{c}, IDs: requestIDs()})
			return err
		}, 1},
		{"update of comments", table.IndexOrg, func(s *Store, doc collab.DocumentRef) error {
			_, err := s.UpdateComments(t.Context(), doc, "a", collab.CommentChange{
				IDs: []int64{1}, Mark: requestIDs().Mark(), Now: 2_000, Change: func(c *collab.Comment) error {
					c.Text, c.LastUpdated = ptr("new"), 2_000
					return nil
				},
			})
			return err
		}, 5},
		{"update", table.IndexOrg, func(s *Store, doc collab.DocumentRef) error {
			return s.UpdateAnnotations(t.Context(), doc, []string{"a"}, collab.AnnotationChange{
				Mark: requestIDs().Mark(), Now: 2_000,
				Head: func(_ int, a *collab.Annotation, _ bool) ([]*collab.Event, error) {
					a.LastUpdated = 2_000
					return nil, nil
				},
			})[0]
		}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain := storetest.New(t)
			doc := on(plain).mustOrganization(t, "org").Document("doc")
			on(plain).mustAdd(t, doc, newThread("a", "u", 1, 1))
			h := &hot{index: tt.index}
			s := on(storetest.Through(t, plain, func(next aws.HTTPClient) aws.HTTPClient {
				h.next = next
				return h
			}))
			s.HotShards = 5
			if err := tt.write(s, doc); err != nil {
				t.Fatal(err)
			}
			shards, err := directory.New(plain).Shards(t.Context(), doc.OrganizationRef)
			if err != nil || shards.Read != tt.want || h.refused.Load() < 2 {
				t.Errorf("%+v after %d tries, %v", shards, h.refused.Load(), err)
			}
		})
	}
}
