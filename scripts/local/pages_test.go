package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/testing/heaptest"
	"collabdata/shared/webhook"

	"github.com/google/go-cmp/cmp"
)

// handler returns the pages, with an email and a webhook named first, before a service that
// responds with 400.
func handler(t *testing.T, secret string) http.Handler {
	t.Helper()
	p := &pages{
		url: "http://127.0.0.1:8080",
		mails: func(*http.Request) ([]mail, error) {
			return []mail{{Number: 2, Subject: "Newer <b>"}, {Number: 1, Subject: "Older", html: "<p>Hi</p><script>alert(1)</script>"}}, nil
		},
		receiver: &receiver{now: time.Now, webhooks: func(_ context.Context, account string) ([]collab.Webhook, error) {
			if account != "dev" {
				return nil, nil
			}
			return []collab.Webhook{
				{ID: "first", URL: "http://127.0.0.1:8080/webhooks/first", Secrets: []collab.WebhookSecret{{Secret: secret}}},
			}, nil
		}},
		demo:    newDemo("http://127.0.0.1:8080"),
		readme:  "../../README.md",
		schema:  "../../shared/api/import-schema.json",
		console: http.NotFoundHandler(),
		openAPI: func() ([]byte, error) { return nil, errors.New("no description") },
	}
	h, err := p.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(
			w,
			`{"error":{"message":"m","status":"INVALID_ARGUMENT","details":[{"field":"data.a","message":"is required"},{"field":"data.b","message":"is no\u001b[31m field"}]}}`,
		)
	}))
	if err != nil {
		t.Fatal(err)
	}
	server := &rpc.Server{Now: time.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
	return hosts{"dev.example"}.guard(h, server.Fail)
}

func get(h http.Handler, path, host string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = host
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestPages checks the pages, their access, and their policies.
func TestPages(t *testing.T) {
	h := handler(t, "")
	for _, test := range []struct {
		path, host string
		status     int
		text       string
	}{
		{"/", "127.0.0.1:8080", 200, "dev-token-2"},
		{"/", "localhost:8080", 200, "make seed"},
		{"/", "[::1]:8080", 200, ""},
		{"/", "evil.example:8080", 403, "call it as localhost, or start it with HOST=evil.example"},
		{"/mail", "rebound.example", 403, ""},
		{"/mail", "dev.example:8080", 200, ""}, // in HOST
		{"/mail", "192.0.2.1:8080", 200, ""},
		{"/mail?q=OLDER", "localhost", 200, "Older"},
		{"/mail?q=none", "localhost", 200, "None of 2 emails matches"},
		{"/mail", "localhost", 200, "Newer &lt;b&gt;"},
		{"/mail/1", "localhost", 200, `src="/mail/1/html"`},
		{"/mail/1/html", "localhost", 200, "<script>"},
		{"/mail/3", "localhost", 404, ""},
		{"/mail/x", "localhost", 404, ""},
		{"/webhooks", "localhost", 200, "Nothing has arrived yet"},
		{"/webhooks/first", "localhost", 303, "/webhooks#first"},
		{"/page?as=bob", "localhost", 200, `<collab-inbox api="/" token="/page/bob/collab-token">`},
		{"/page?as=none", "localhost", 200, `src="/pages/elements.min.js"`},
		{"/docs", "localhost", 200, `data-token="dev-token"`},
		{"/openapi.json", "localhost", 500, "no description"},
		{"/import-schema.json", "localhost", 200, `"kind"`},
		{"/llms.txt", "localhost", 500, "no description"},
		{"/openapi-clients.json", "localhost", 500, "no description"},
		{"/postman.json", "localhost", 500, "no description"},
		{"/pages/style.css", "localhost", 200, "color-scheme"},
		{"/opened?organization=a&document=b'c", "localhost", 200, "&#34;documentId&#34;:&#34;b&#39;\\&#39;&#39;c&#34;"},
		{"/pages/home.html", "localhost", 404, "No page"},
		{"/pages/none.css", "localhost", 404, ""},
		{"/nothing", "localhost", 404, "No page at /nothing"},
		{"/v2/organizations/get", "localhost", 400, "INVALID_ARGUMENT"},
		{"/v2/organizations/get", "evil.example", 403, "PERMISSION_DENIED"},
	} {
		w := get(h, test.path, test.host)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.text) {
			t.Errorf("%s at %s: %d %.300s", test.path, test.host, w.Code, w.Body)
		}
		if refused := w.Code == http.StatusForbidden; refused != (w.Header().Get(collab.RequestIDHeader) != "") {
			t.Errorf("%s at %s: a request id: %t, want %t", test.path, test.host, !refused, refused)
		}
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code == http.StatusOK && strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") &&
			!strings.HasPrefix(policy, "default-src 'none'; ") {
			t.Errorf("%s has the policy %q", test.path, policy)
		}
	}
	if policy := get(h, "/mail/1/html", "localhost").Header().Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox") ||
		strings.Contains(policy, "script") {
		t.Errorf("the HTML of an email has the policy %q", policy)
	}
}

// TestReceiver checks that the receiver accepts only signed webhooks, shows both kinds, and keeps a
// limited number.
func TestReceiver(t *testing.T) {
	secret, err := webhook.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, secret)
	post := func(name, id string, at time.Time, body string) int {
		signature, err := signer.Sign(id, at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/webhooks/"+name, strings.NewReader(body))
		r.Host = "127.0.0.1:8080"
		r.Header.Set("webhook-id", id)
		r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		r.Header.Set("webhook-signature", signature)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	const body = `{"type":"comment.added","timestamp":"2026-03-01T12:00:00.250Z","data":{}}`
	if got := post("first", "m-1", time.Now(), body); got != http.StatusNoContent {
		t.Errorf("a signed webhook was answered %d", got)
	}
	if got := post("first", "m-2", time.Now().Add(-time.Hour), body); got != http.StatusUnauthorized {
		t.Errorf("an old one was answered %d", got)
	}
	if got := post("other", "m-3", time.Now(), body); got != http.StatusUnauthorized {
		t.Errorf("one that nobody asked for was answered %d", got)
	}
	if got := post("first", "m-4", time.Now(), strings.Repeat(" ", maxWebhook+1)); got != http.StatusBadRequest {
		t.Errorf("one that is too large was answered %d", got)
	}
	page := get(h, "/webhooks", "localhost").Body.String()
	for _, text := range []string{
		"verified", "comment.added", "webhook-id: m-1", `href="/console/event?accountId=dev&amp;eventId=m-1&amp;webhookId=first"`,
		"no secret of the webhook fits", "no webhook was added with this address",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
	for i := range 2 * maxEndpoints {
		post(fmt.Sprintf("n%d", i), "m", time.Now(), body)
	}
	for range 2 * maxArrived {
		post("first", "m", time.Now(), body)
	}
	page = get(h, "/webhooks", "localhost").Body.String()
	if names, all := strings.Count(page, "<h2"), strings.Count(page, "<details"); names != maxEndpoints || all != maxEndpoints-1+maxArrived {
		t.Errorf("kept are %d webhooks of %d names", all, names)
	}
}

// TestReceiverBounded checks that posts use limited memory (a nested body once took 1.6 GB), and
// that pages of other sites cannot post.
func TestReceiverBounded(t *testing.T) {
	h := handler(t, "")
	body := strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999)
	for origin, want := range map[string]int{"": http.StatusUnauthorized, "https://evil.example": http.StatusForbidden, "http://localhost:8080": http.StatusUnauthorized} {
		code := 0
		took := heaptest.Allocated(func() {
			r := httptest.NewRequest(http.MethodPost, "/webhooks/x", strings.NewReader(body))
			r.Host = "localhost:8080"
			r.Header.Set("Content-Type", "text/plain")
			r.Header.Set("Authorization", "Bearer x") // a personal token only allows operations
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			code = w.Code
		})
		if code != want || took > 1_000_000 {
			t.Errorf("a post of a page of %q was answered %d and took %d bytes, want %d", origin, code, took, want)
		}
	}
	if page := get(h, "/webhooks", "localhost").Body.Len(); page > 20_000 {
		t.Errorf("the page has %d bytes", page)
	}
}

// TestHosts checks the parsing of HOST.
func TestHosts(t *testing.T) {
	names, addresses := parseHosts(" 0.0.0.0, Dev.example,,::1")
	_, one := parseHosts("192.0.2.2")
	if diff := cmp.Diff([][]string{{"dev.example"}, {"0.0.0.0", "::1"}, {"127.0.0.1", "192.0.2.2"}}, [][]string{names, addresses, one}); diff != "" {
		t.Error(diff)
	}
}

// TestPort checks that the README (twice) and the OpenAPI document name the server's port.
func TestPort(t *testing.T) {
	for file, want := range map[string]int{"../../README.md": 2, "../../shared/api/openapi.json": 1} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "http://127.0.0.1:"+defaultPort); n != want {
			t.Errorf("%s names the server %d times, want %d", file, n, want)
		}
	}
}

// TestLog checks that a value in the log for terminals cannot color them.
func TestLog(t *testing.T) {
	var out bytes.Buffer
	log, err := newLog("short", &out, true)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("request", slog.String("path", "\x1b[31m"), slog.Any("cause", errors.New("\x1b[31m")))
	if text := out.String(); strings.Contains(text, "\x1b[31m") || strings.Count(text, "␛[31m") != 2 {
		t.Errorf("the log has the escape sequence of a value: %q", text)
	}
}

// TestQuote checks quoting with a shell.
func TestQuote(t *testing.T) {
	for _, text := range []string{"/plain/path-1.x", "/with space/é", "it's $HOME `x` \"y\" \\ *", "", "a\nb", "~root", "a;b"} {
		out, err := exec.Command("sh", "-c", "printf %s "+quote(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q is quoted as %s, which a shell reads as %q, %v", text, quote(text), out, err)
		}
	}
}
