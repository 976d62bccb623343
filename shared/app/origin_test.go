package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/must"
)

// TestOrigins checks the origins of pages that may call as a person and read responses, and the
// limits of such requests.
func TestOrigins(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	s := apitest.Start(t, func(c *app.Config) { c.Now, c.Stage = func() time.Time { return now }, "test" })
	must.Do(t, s.Accounts.AddAccount(t.Context(), collab.Account{ID: "web", Settings: collab.Settings{AllowedOrigins: []string{"https://app.example"}}}))
	keys, err := s.Accounts.RotateSigningKeys(t.Context(), "web")
	must.Do(t, err)
	person := collab.Person{UserID: "ann", Resources: []collab.TokenResource{{Type: "organization", ID: "o", AccessRole: "viewer"}}}
	token, err := credentials.Sign(keys[0], "test", "web", person, now, now.Add(time.Hour))
	must.Do(t, err)
	h := s.Handler()
	send := func(method, path, origin, bearer, body string) *http.Response {
		r := httptest.NewRequest(method, "http://api.example"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if bearer != "" {
			r.Header.Set("Authorization", "Bearer "+bearer)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
	const get, add, body = "/v2/commentannotations/get", "/v2/organizations/add", `{"data": {"organizationId": "o"}}`
	for _, test := range []struct {
		name, method, path, origin, bearer, body string
		status                                   int
		allowed                                  string
	}{
		{"allowed", "POST", get, "https://app.example", token, body, 404, "https://app.example"},
		{"not allowed", "POST", get, "https://evil.example", token, body, 403, "*"},
		{"another scheme", "POST", get, "http://app.example", token, body, 403, "*"},
		{"another port", "POST", get, "https://app.example:8443", token, body, 403, "*"},
		{"another case", "POST", get, "https://APP.example", token, body, 403, "*"},
		{"a domain below", "POST", get, "https://x.app.example", token, body, 403, "*"},
		{"none", "POST", get, "null", token, body, 403, "*"},
		{"no origin at all", "POST", get, "", token, body, 404, ""},
		{"the service's own", "POST", get, "http://api.example", token, body, 404, ""},
		{"expired", "POST", get, "https://app.example", "x.y.z", body, 401, "*"},
		{"a back end's operation", "POST", add, "https://app.example", token, body, 403, "https://app.example"},
		{"no operation", "POST", "/v2/none", "https://app.example", token, body, 404, "*"},
		{"another method", "GET", get, "https://app.example", token, "", 405, "https://app.example"},
		{"asked before", "OPTIONS", get, "https://evil.example", "", "", 204, "*"},
		{"asked before, for a back end's", "OPTIONS", add, "https://app.example", "", "", 401, "*"},
		{"largest", "POST", get, "", token, body + strings.Repeat(" ", rpc.MaxPersonBody-len(body)), 404, ""},
		{"too large", "POST", get, "https://app.example", token, body + strings.Repeat(" ", rpc.MaxPersonBody+1-len(body)), 413, "https://app.example"},
	} {
		now = now.Add(10 * time.Second)
		a := send(test.method, test.path, test.origin, test.bearer, test.body)
		allowed := strings.Join(a.Header["Access-Control-Allow-Origin"], ", ")
		exposed := a.Header.Get("Access-Control-Expose-Headers") != "" && a.Header.Get("Vary") == "Origin"
		if a.StatusCode != test.status || allowed != test.allowed || exposed != (allowed != "" && a.StatusCode != 204) ||
			a.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d, %v", test.name, a.StatusCode, a.Header)
		}
	}
	asked := send("OPTIONS", get, "https://app.example", "", "").Header
	for name, want := range map[string]string{"Methods": "POST", "Headers": "authorization,content-type,idempotency-key"} {
		if got := asked.Get("Access-Control-Allow-" + name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, kind := range []struct {
		path string
		most int
	}{{get, 10}, {"/v2/commentannotations/add", 20}, {"/v2/live/tickets/add", 20}} {
		now = now.Add(10 * time.Second)
		for range kind.most {
			if a := send("POST", kind.path, "", token, body); a.StatusCode == 429 {
				t.Errorf("%s is refused too early", kind.path)
			}
		}
		a := send("POST", kind.path, "https://app.example", token, body)
		if a.StatusCode != 429 || a.Header.Get("Retry-After") != "1" || !strings.Contains(a.Header.Get("Access-Control-Expose-Headers"), "retry-after") {
			t.Errorf("one too many: %d, %v", a.StatusCode, a.Header)
		}
		now = now.Add(time.Second)
		if a := send("POST", kind.path, "", token, body); a.StatusCode == 429 {
			t.Errorf("%s is refused a second after", kind.path)
		}
	}
}
