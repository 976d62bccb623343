package notifications_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/mail/unsubscribe"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
)

// page sends a request to the unsubscribe page.
func (f *fixture) page(t *testing.T, method, token, contentType string, body io.Reader) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, unsubscribe.Path+"?token="+token, body)
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	if strings.Contains(w.Body.String(), token) && token != "" {
		t.Errorf("the page holds the token: %s", w.Body)
	}
	return w.Code, w.Body.String()
}

const form = "application/x-www-form-urlencoded"

// TestUnsubscribe checks that only an email's token unsubscribes its recipient, in every way of
// people and mail programs.
func TestUnsubscribe(t *testing.T) {
	f := newFixture(t)
	secret, err := f.Accounts.KeepMailSecret(t.Context(), "acme", bytes.Repeat([]byte{1}, unsubscribe.SecretBytes))
	must.Do(t, err)
	bob := unsubscribe.Recipient{Account: "acme", Organization: "org", User: "bob", Email: "bob@example.com", Sender: "Acme <b>"}
	token := bob.Token(secret)
	var oneClick bytes.Buffer
	m := multipart.NewWriter(&oneClick)
	must.Do(t, m.WriteField("List-Unsubscribe", "One-Click"))
	must.Do(t, m.Close())
	german := bob
	german.Locale = "de"
	other := bob
	other.User = "cid"
	for _, test := range []struct {
		name, method, token, contentType, body string
		code                                   int
		says                                   string
		off                                    bool // bob is then unsubscribed
	}{
		{"a look", "GET", token, "", "", 200, "You will get no more mails from Acme &lt;b&gt; about org at bob@example.com.", false},
		{"a program's look", "HEAD", token, "", "", 200, "", false},
		{"one click", "POST", token, form, "List-Unsubscribe=One-Click", 200, "You are unsubscribed", true},
		{"once more", "POST", token, form, "List-Unsubscribe=One-Click", 200, "You are unsubscribed", true},
		{"a look then", "GET", token, "", "", 200, "Unsubscribe?", true},
		{"undone", "POST", token, form, "action=subscribe", 200, "You are subscribed again", false},
		{"undone once more", "POST", token, form, "action=subscribe", 200, "You are subscribed again", false},
		{"the button", "POST", token, form, "action=unsubscribe", 200, "You are unsubscribed", true},
		{"undone again", "POST", token, form, "action=subscribe", 200, "You are subscribed again", false},
		{"one click as the other form", "POST", token, m.FormDataContentType(), oneClick.String(), 200, "You are unsubscribed", true},
		{"undone again", "POST", token, form, "action=subscribe", 200, "You are subscribed again", false},
		{"another form", "POST", token, form, "a=b", 400, "did not work", false},
		{"a form too large", "POST", token, form, "a=" + strings.Repeat("b", 5_000) + "&action=unsubscribe", 400, "did not work", false},
		{"no form", "POST", token, "application/json", `{"action":"unsubscribe"}`, 400, "did not work", false},
		{"in the address", "POST", token + "&action=unsubscribe", form, "", 400, "did not work", false},
		{"another method", "DELETE", token, form, "action=unsubscribe", 405, "did not work", false},
		{"a forged token", "POST", bob.Token(bytes.Repeat([]byte{2}, unsubscribe.SecretBytes)), form, "action=unsubscribe", 404, "not valid", false},
		{"an account without mail", "POST", unsubscribe.Recipient{Account: "other"}.Token(nil), form, "action=unsubscribe", 404, "not valid", false},
		{"no token", "GET", "", "", "", 404, "not valid", false},
		{"German", "GET", german.Token(secret), "", "", 200, "Sie erhalten dann an bob@example.com keine E-Mails mehr von Acme &lt;b&gt; zu org.", false},
		{"someone else's token", "POST", other.Token(secret), form, "action=unsubscribe", 200, "You are unsubscribed", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, page := f.page(t, test.method, test.token, test.contentType, strings.NewReader(test.body))
			if code != test.code || !strings.Contains(page, test.says) || test.says == "" && page != "" {
				t.Errorf("answered %d, want %d and %q:\n%s", code, test.code, test.says, page)
			}
			email := "BOB@example.com"
			off, err := f.Accounts.Unsubscribed(t.Context(), org, []collab.User{{UserID: "bob", Email: &email}, {UserID: "dan"}})
			if err != nil || off["bob"] != test.off || off["dan"] {
				t.Errorf("unsubscribed: %v, %v; want bob %t", off, err, test.off)
			}
		})
	}
}

// TestUnsubscribeFails checks that, if the table is unavailable, the page reports a failure and
// only the log has the cause.
func TestUnsubscribeFails(t *testing.T) {
	var down atomic.Bool
	f := newFixture(t, func(c *app.Config) {
		c.DynamoDB.HTTPClient = storetest.Before(c.DynamoDB.HTTPClient, func(operation, _ string) *http.Response {
			if down.Load() && !strings.Contains(operation, "Get") && operation != "Query" {
				return storetest.Answer(400, storetest.Failure("AccessDeniedException"))
			}
			return nil
		})
	})
	secret, err := f.Accounts.KeepMailSecret(t.Context(), "acme", bytes.Repeat([]byte{1}, unsubscribe.SecretBytes))
	must.Do(t, err)
	token := unsubscribe.Recipient{Account: "acme", Organization: "org", User: "bob"}.Token(secret)
	down.Store(true)
	f.log.Reset()
	if code, page := f.page(t, "POST", token, form, strings.NewReader("action=unsubscribe")); code != 503 || strings.Contains(page, "injected") {
		t.Errorf("answered %d: %s", code, page)
	}
	if log := f.log.String(); !strings.Contains(log, "injected") || strings.Contains(log, token) {
		t.Errorf("logged %s", log)
	}
}

// TestUnsubscribeReadOnly checks that, if writes are off, the page is shown and its button fails.
func TestUnsubscribeReadOnly(t *testing.T) {
	f := newFixture(t, func(c *app.Config) { c.ReadOnly = true })
	secret, err := f.Accounts.KeepMailSecret(t.Context(), "acme", bytes.Repeat([]byte{1}, unsubscribe.SecretBytes))
	must.Do(t, err)
	token := unsubscribe.Recipient{Account: "acme", Organization: "org", User: "bob", Email: "bob@example.com"}.Token(secret)
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodPost: http.StatusServiceUnavailable} {
		if code, _ := f.page(t, method, token, form, strings.NewReader("action=unsubscribe")); code != want {
			t.Errorf("%s is answered %d, want %d", method, code, want)
		}
	}
	if off, err := f.Accounts.Unsubscribed(t.Context(), org, []collab.User{{UserID: "bob"}}); err != nil || len(off) > 0 {
		t.Errorf("unsubscribed: %v, error %v", off, err)
	}
}
