// Package tokentest checks a product's server that gets tokens for its pages.
package tokentest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"collabdata/shared/testing/must"
)

// Run sends the requests of a stranger and of Ann to the server of a product, and reads with her
// token. Organization "acme" of the service has the document "plan", which is hers. The service
// allows pages of the origin.
func Run(t *testing.T, product, service, origin string) {
	t.Helper()
	token := func(cookie, body string, want int) string {
		t.Helper()
		status, answer := post(t, product+"/collab-token", body, "Cookie", cookie)
		if status != want {
			t.Errorf("a page with the session %q sends %s, and gets %d %s, want %d", cookie, body, status, answer, want)
		}
		var person struct{ Token string }
		_ = json.Unmarshal([]byte(answer), &person)
		return person.Token
	}
	operator := []string{"x-service-api-key", "dev-key", "x-service-auth-token", "dev-token"}
	reads := func(path, data, part string, headers ...string) {
		t.Helper()
		if status, answer := post(t, service+path, `{"data": {"organizationId": "acme"`+data+`}}`, headers...); status != http.StatusOK || !strings.Contains(answer, part) {
			t.Errorf("%s answers %d %s, want %s", path, status, answer, part)
		}
	}

	token("", `{"documentId": "plan"}`, http.StatusUnauthorized)
	token("session=1; PHPSESSID=1", `{"documentId": "plan"}`, http.StatusUnauthorized)

	res, err := http.Get(product + "/")
	must.Do(t, err)
	res.Body.Close()
	if len(res.Cookies()) != 1 {
		t.Fatalf("the first page sets the cookies %v", res.Cookies())
	}
	ann := res.Cookies()[0].Name + "=" + res.Cookies()[0].Value
	page := token(ann, `{"documentId": "plan"}`, http.StatusOK)
	reads("/v2/commentannotations/get", `, "documentId": "plan"`, `"success"`, "Authorization", "Bearer "+page, "Origin", origin)
	reads("/v2/users/get", `, "documentId": "plan", "userIds": ["ann"]`, `"email":"ann@example.com"`, operator...)
	inbox := token(ann, `{}`, http.StatusOK)
	reads("/v2/notifications/get", "", `"success"`, "Authorization", "Bearer "+inbox, "Origin", origin)

	token(ann, `{"documentId": "somebody-elses"}`, http.StatusForbidden)
	token(ann, `{"documentId": ""}`, http.StatusForbidden)
	reads("/v2/organizations/documents/get", `, "documentIds": ["plan", "somebody-elses"]`, `"plan"`, operator...)
	if _, answer := post(t, service+"/v2/organizations/documents/get", `{"data": {"organizationId": "acme", "documentIds": ["somebody-elses"]}}`, operator...); strings.Contains(answer, `"id":"somebody-elses"`) {
		t.Errorf("a page added another's document: %s", answer)
	}
	token(ann, `no JSON`, http.StatusBadRequest)

	if status, answer := post(t, product+"/sign-out", `{}`, "Cookie", ann); status != http.StatusOK {
		t.Errorf("signing out answers %d %s", status, answer)
	}
	token(ann, `{"documentId": "plan"}`, http.StatusUnauthorized)
}

// post posts JSON with further headers when the server listens and the limits of requests allow it,
// and returns the response.
func post(t *testing.T, url, body string, headers ...string) (status int, answer string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		must.Do(t, err)
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil && time.Now().Before(deadline) {
			continue
		}
		must.Do(t, err)
		read, err := io.ReadAll(res.Body)
		res.Body.Close()
		must.Do(t, err)
		if res.StatusCode == http.StatusTooManyRequests && time.Now().Before(deadline) {
			seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
			<-time.After(time.Duration(seconds) * time.Second)
			continue
		}
		return res.StatusCode, string(read)
	}
}
