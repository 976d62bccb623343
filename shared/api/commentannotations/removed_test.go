package commentannotations_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/testing/storetest"
)

// TestRemovedMeanwhile checks that a person's comment does not undo a concurrent removal by a
// process with a slower clock.
func TestRemovedMeanwhile(t *testing.T) {
	for path, data := range map[string]string{
		"/v2/commentannotations/add":          `"commentAnnotations": [{"commentData": [{"commentText": "x"}]}]`,
		"/v2/commentannotations/comments/add": `"annotationId": "a", "commentData": [{"commentText": "x"}]`,
	} {
		t.Run(path, func(t *testing.T) {
			f := newFixture(t, collab.Settings{})
			c := f.Config()
			c.DynamoDB.HTTPClient, c.Now = http.DefaultClient, func() time.Time { return time.Now().Add(-3 * time.Second) }
			slower := &fixture{handler: handlerWith(app.New(c), collab.Settings{})}
			send := func(path, data string) {
				t.Helper()
				if w := slower.serve(t.Context(), path, data); w.Code != http.StatusOK {
					t.Error(path, w.Body)
				}
			}
			send("/v2/commentannotations/add", `"documentId": "doc", "commentAnnotations": [{"annotationId": "a", "commentData": [{"commentText": "x", "from": {"userId": "ann"}}]}]`)
			send("/v2/users/add", `"users": [{"userId": "bob"}, {"userId": "cid"}]`)
			send("/v2/users/delete", `"userIds": ["cid"]`) // so that removals are read

			var once sync.Once
			c.Now = time.Now
			c.DynamoDB.HTTPClient = storetest.Client(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				answer, err := http.DefaultClient.Do(r)
				if strings.Contains(string(body), "#GONE") {
					once.Do(func() { send("/v2/users/delete", `"userIds": ["bob"]`) })
				}
				return answer, err
			})
			bob := (&fixture{Service: app.New(c)}).person("bob")
			if a := post(t, bob, path, data); a.code != http.StatusOK {
				t.Fatal(a.code, a.Error.Message)
			}
			if a := post(t, bob, "/v2/commentannotations/get", `"annotationIds": ["a"]`); a.code != http.StatusNotFound {
				t.Errorf("bob was taken out, and reads %d", a.code)
			}
		})
	}
}
