package app_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"collabdata/shared/app"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/storetest"
)

// TestHotThread counts the calls to the table of a back end's comment in a thread with recent
// comments: the head, the comment, and four for the author's read marks and inbox.
func TestHotThread(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s := apitest.Start(t, func(c *app.Config) {
		c.DynamoDB.HTTPClient = storetest.Before(c.DynamoDB.HTTPClient, func(string, string) *http.Response {
			calls.Add(1)
			return nil
		})
	})
	h := s.Handler()
	apitest.Post(h, "/v2/commentannotations/add", `{"data": {"organizationId": "acme", "createOrganization": true, "documentId": "plan", "createDocument": true,
		"commentAnnotations": [{"annotationId": "a", "commentData": [{"commentText": "x", "from": {"userId": "ann"}}]}]}}`)
	least := int64(100)
	for i := range 5 {
		calls.Store(0)
		w := apitest.Post(h, "/v2/commentannotations/comments/add", fmt.Sprintf(`{"data": {"organizationId": "acme", "documentId": "plan", "annotationId": "a",
			"commentData": [{"commentText": "hello %d", "from": {"userId": "ann"}}]}}`, i))
		if w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
		least = min(least, calls.Load())
	}
	if least > 4 {
		t.Errorf("%d calls", least)
	}
}
