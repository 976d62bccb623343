package app_test

import (
	"collabdata/shared/store/outbox"
	"collabdata/shared/testing/storetest"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
)

// TestErasedToken checks that a token loses access when its person is removed from the
// organization, or their personal data is deleted, in any order. Only the back end restores access:
// neither the token nor an import of an old comment does.
func TestErasedToken(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string][]string{
		"users/delete":      {"users/delete"},
		"users/data/delete": {"users/data/delete"},
		"both":              {"users/delete", "users/data/delete"},
		"the other way":     {"users/data/delete", "users/delete"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now().Truncate(time.Second)
			s := apitest.Start(t, func(c *app.Config) {
				c.Now, c.Stage = func() time.Time { return now }, "test"
				c.Sleep = func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil }
			})
			signing, err := s.Accounts.RotateSigningKeys(t.Context(), "acme")
			must.Do(t, err)
			h := s.Handler()
			call := func(path, data string, header ...string) (code int, body string) {
				now = now.Add(11 * time.Second) // resets personal limits
				r := httptest.NewRequest(http.MethodPost, "/v2/"+path, strings.NewReader(`{"data": {`+data+`}}`))
				r.Header.Set("Content-Type", "application/json")
				for i := 0; i < len(header); i += 2 {
					r.Header.Set(header[i], header[i+1])
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Code, w.Body.String()
			}
			const of = `"organizationId": "acme", `
			succeed := func(path, data string) (body string) {
				t.Helper()
				code, body := call(path, data, credentials.KeyHeader, "key", credentials.TokenHeader, "token")
				if code >= 300 || strings.Contains(body, `"success":false`) {
					t.Fatal(path, code, body)
				}
				return body
			}
			succeed("organizations/documents/add", of+`"createOrganization": true, "documents": [{"documentId": "plan"}]`)
			succeed("users/add", of+`"users": [{"userId": "ann"}, {"userId": "eve"}]`)
			succeed("users/add", of+`"documentId": "plan", "users": [{"userId": "eve"}]`)
			succeed("commentannotations/add", of+`"documentId": "plan", "commentAnnotations": [{"annotationId": "a", "commentData": [{"commentText": "x", "from": {"userId": "ann"}}]}]`)
			person := collab.Person{UserID: "eve", Resources: []collab.TokenResource{{Type: collab.ResourceOrganization, ID: "acme", AccessRole: collab.RoleEditor}}}
			token, err := credentials.Sign(signing[0], "test", "acme", person, now, now.Add(collab.MaxTokenLife))
			must.Do(t, err)
			eve := func(path, data string) int {
				code, _ := call(path, data, "Authorization", "Bearer "+token)
				return code
			}
			requests := [][2]string{
				{"commentannotations/get", of + `"documentId": "plan"`},
				{"users/get", of + `"documentId": "plan"`},
				{"commentannotations/add", of + `"documentId": "plan", "commentAnnotations": [{"commentData": [{"commentText": "x"}]}]`},
				{"commentannotations/comments/add", of + `"documentId": "plan", "annotationId": "a", "commentData": [{"commentText": "x"}]`},
				{"notifications/config/set", of + `"config": {"inbox": "NONE"}`},
				{"notifications/update", of + `"readUntil": 1`},
			}
			opens := func(want int) {
				t.Helper()
				for _, r := range requests {
					if code := eve(r[0], r[1]); code != want {
						t.Errorf("%s answers %d, not %d", r[0], code, want)
					}
				}
			}
			opens(http.StatusOK)
			for _, path := range deleted {
				if path == "users/delete" {
					// the user must not remain
					call(path, of+`"userIds": ["eve"]`, credentials.KeyHeader, "key", credentials.TokenHeader, "token")
					continue
				}
				var answer struct{ Result struct{ JobID string } }
				must.Do(t, json.Unmarshal([]byte(succeed(path, `"userIds": ["eve"], "organizationIds": ["acme"]`)), &answer))
				runJob(t, s, &now, answer.Result.JobID)
			}
			opens(http.StatusNotFound)
			succeed("commentannotations/add", of+`"documentId": "plan", "commentAnnotations": [{"createdAt": 1, "commentData": [{"commentText": "x", "from": {"userId": "eve"}}]}]`)
			succeed("commentannotations/comments/add", of+`"documentId": "plan", "annotationId": "a", "commentData": [{"commentText": "x", "lastUpdated": 1, "from": {"userId": "eve"}}]`)
			opens(http.StatusNotFound)
			succeed("commentannotations/comments/add", of+`"documentId": "plan", "annotationId": "a", "commentData": [{"commentText": "x", "from": {"userId": "eve"}}]`)
			opens(http.StatusOK)
		})
	}
}

// runJob runs a job of the account acme to its end.
func runJob(t *testing.T, s *app.Service, now *time.Time, id string) {
	t.Helper()
	for next := collab.Millis(1); next != 0; {
		*now = now.Add(2 * time.Minute)
		var err error
		next, err = storetest.Run(t.Context(), s.Deletion.Outbox.Store, outbox.JobTask("acme", id), s.Deletion.RunJob)
		must.Do(t, err)
	}
	if status, err := s.Outbox.JobStatus(t.Context(), "acme", id); err != nil || status.State != collab.JobDone {
		t.Fatalf("%+v, %v", status, err)
	}
}
