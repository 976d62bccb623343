package proxy_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"collabdata/shared/client"
	"collabdata/shared/client/proxy"
	"collabdata/shared/client/proxy/proxytest"
)

// staff are those who may be mentioned in acme.
var staff = []proxy.User{
	{
		ID:    "ann",
		Name:  "Ann",
		Email: "ann@example.com",
	}, {ID: "bob", Name: "Bob", Email: "bob@example.com"}, {ID: "cleo", Name: "Cleo", Email: "cleo@example.com"},
}

// who is the application that proxytest.Run describes.
func who(r *http.Request) (*proxy.Caller, error) {
	cookie, err := r.Cookie("user")
	if err != nil {
		return nil, nil
	}
	may := func(users ...string) func(context.Context, string) (bool, error) {
		return func(_ context.Context, document string) (bool, error) {
			return document == "plan" && slices.Contains(users, cookie.Value), nil
		}
	}
	c := &proxy.Caller{OrganizationID: "acme", CanRead: may("ann", "bob", "cleo", "eve"), CanWrite: may("ann", "bob", "eve")}
	if i := slices.IndexFunc(staff, func(u proxy.User) bool { return u.ID == cookie.Value }); i >= 0 {
		c.User = staff[i]
		return c, nil
	}
	if cookie.Value == "eve" {
		c.User, c.OrganizationID = proxy.User{ID: "eve"}, "other"
		return c, nil
	}
	return nil, nil
}

// unlimited lets a test ask as fast as it can.
var unlimited = proxy.Limits{Looks: -1, Writes: -1, Mentions: -1}

func people(_ context.Context, c *proxy.Caller, _ string, ids []string) ([]proxy.User, error) {
	if c.OrganizationID != "acme" {
		return nil, nil
	}
	return slices.DeleteFunc(slices.Clone(staff), func(u proxy.User) bool { return ids != nil && !slices.Contains(ids, u.ID) }), nil
}

func documentName(_ context.Context, c *proxy.Caller, document string) (string, error) {
	return "The " + document + " of " + c.OrganizationID, nil
}

// TestRequests sends honest requests and lies, over HTTP, to an application before a real service. Whom one may mention is what the service
// knows, or what the application says, which names its documents, too.
func TestRequests(t *testing.T) {
	for _, test := range []struct {
		name   string
		config proxy.Config
		named  string // what the document is called in the end
	}{
		{"users of the service", proxy.Config{}, ""},
		{"people of the application", proxy.Config{People: people, DocumentName: documentName}, "The plan of acme"},
	} {
		t.Run(test.name, func(t *testing.T) {
			service := proxytest.Serve(t)
			test.config.Who, test.config.Limits = who, unlimited
			test.config.Client = client.New(client.Config{BaseURL: service, APIKey: proxytest.Key, AuthToken: proxytest.Token})
			server := httptest.NewServer(proxy.New(test.config))
			t.Cleanup(server.Close)
			proxytest.Run(t, server.URL, service)
			if named := proxytest.DocumentName(t, service); named != test.named {
				t.Errorf("the document is called %q, want %q", named, test.named)
			}
		})
	}
}

// service answers every call with the same status, after a while.
type service struct {
	status int
	code   client.Code // RESOURCE_EXHAUSTED where it is left out
	after  time.Duration
	calls  int
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.calls++
	body := `{"result":{"data":[]}}`
	if s.status != http.StatusOK {
		body = fmt.Sprintf(`{"error":{"status":%q,"message":"later"}}`, cmp.Or(s.code, client.CodeResourceExhausted))
	}
	select {
	case <-time.After(s.after):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: s.status, Header: http.Header{"Retry-After": {"60"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// application is a handler before a service, with default limits where there are none given, and how a person sends it a request.
func application(s *service, limits proxy.Limits) func(as, request, body string) *httptest.ResponseRecorder {
	h := proxy.New(proxy.Config{
		Client: client.New(client.Config{BaseURL: "http://service.test", HTTP: &http.Client{Transport: s}}), Who: who, People: people, Limits: limits,
	})
	return func(as, request, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/collab/"+request, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Cookie", "user="+as)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

// TestLimits holds what one person may ask for, when there is more for them, and that it takes nothing from anybody else.
func TestLimits(t *testing.T) {
	const (
		look    = `{"documentId":"plan"}`
		read    = `{"notificationIds":["n"]}`
		mention = `{"documentId":"plan","annotationId":"a","requestId":"r","text":"{{bob}} {{cleo}}"}`
	)
	for _, test := range []struct {
		name, request, body string
		limits              proxy.Limits
		most                int           // requests at once
		next                time.Duration // until one more
	}{
		{"looks", "threads", look, proxy.Limits{}, 10, time.Second},
		{"writes", "read-inbox", read, proxy.Limits{}, 20, 500 * time.Millisecond},
		{"mentions", "add-comment", mention, proxy.Limits{Writes: -1}, 100, 36 * time.Second},
		{"own limits", "threads", look, proxy.Limits{Looks: 2}, 2, 5 * time.Second},
		{"fewer mentions than a comment has", "add-comment", mention, proxy.Limits{Mentions: 1}, 1, time.Hour},
		{"no limits", "threads", look, unlimited, 1000, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ask := application(&service{status: http.StatusOK}, test.limits)
				refused := func(as string) bool { return ask(as, test.request, test.body).Code == http.StatusTooManyRequests }
				for i := range test.most {
					if refused("ann") {
						t.Fatalf("request %d is refused", i+1)
					}
				}
				if test.next == 0 {
					return
				}
				late := ask("ann", test.request, test.body)
				if want := strconv.Itoa(int(math.Ceil(test.next.Seconds()))); late.Code != http.StatusTooManyRequests || late.Header().Get("Retry-After") != want {
					t.Errorf("one more is answered with %d, Retry-After %q, want %s: %s", late.Code, late.Header().Get("Retry-After"), want, late.Body)
				}
				if refused("eve") {
					t.Error("what Ann did is taken from Eve")
				}
				time.Sleep(test.next - time.Millisecond)
				if !refused("ann") {
					t.Errorf("one more is accepted before %v", test.next)
				}
				time.Sleep(time.Millisecond)
				if refused("ann") {
					t.Errorf("one more is refused after %v", test.next)
				}
				if !refused("ann") {
					t.Error("and another one is accepted, too")
				}
			})
		})
	}
}

// TestNoConnection holds when a page that gets no connection is to ask for one again.
func TestNoConnection(t *testing.T) {
	for code, want := range map[client.Code]string{
		client.CodeFailedPrecondition: `{"retryAfter":3600,"url":""}`,
		client.CodePermissionDenied:   `{"retryAfter":300,"url":""}`,
		client.CodeResourceExhausted:  `{"retryAfter":300,"url":""}`,
		client.CodeUnauthenticated:    `{"error":{"message":"internal error","status":"INTERNAL"}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			ask := application(&service{status: code.HTTPStatus(), code: code}, proxy.Limits{})
			var got, wanted any
			err := errors.Join(json.Unmarshal(ask("ann", "connect", `{"inbox":true}`).Body.Bytes(), &got), json.Unmarshal([]byte(want), &wanted))
			if diff := gocmp.Diff(wanted, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", code, err, diff)
			}
		})
	}
}

// TestManyPeople holds that a handler does not keep everybody who ever asked.
func TestManyPeople(t *testing.T) {
	s := &service{status: http.StatusOK}
	h := proxy.New(proxy.Config{
		Client: client.New(client.Config{BaseURL: "http://service.test", HTTP: &http.Client{Transport: s}}),
		Who: func(r *http.Request) (*proxy.Caller, error) {
			return &proxy.Caller{User: proxy.User{ID: r.Header.Get("Cookie")}, OrganizationID: "acme"}, nil
		},
	})
	ask := func(as string) {
		r := httptest.NewRequest(http.MethodPost, "/collab/inbox", strings.NewReader("{}"))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Cookie", as)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	memory := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	id := strings.Repeat("x", 200)
	before := memory()
	for i := range 50_000 {
		ask(fmt.Sprint(id, i))
	}
	if kept := memory() - before; kept > 10<<20 {
		t.Errorf("%d bytes are kept of 50,000 people", kept)
	}
	runtime.KeepAlive(h)
}

// TestDeadline holds that a browser waits for at most ten seconds, whatever the service does, and learns when to ask again.
func TestDeadline(t *testing.T) {
	for _, test := range []struct {
		name    string
		service service
		status  int
		after   string        // Retry-After
		within  time.Duration // until the answer
	}{
		{"a service that is slow", service{status: http.StatusOK, after: time.Minute}, http.StatusGatewayTimeout, "", 10 * time.Second},
		{"a service that refuses", service{status: http.StatusTooManyRequests}, http.StatusTooManyRequests, "60", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				got := application(&test.service, proxy.Limits{})("ann", "threads", `{"documentId":"plan"}`)
				if took := time.Since(start); got.Code != test.status || got.Header().Get("Retry-After") != test.after || took != test.within {
					t.Errorf("after %v it answers %d with Retry-After %q: %s", took, got.Code, got.Header().Get("Retry-After"), got.Body)
				}
				if test.service.calls != 1 {
					t.Errorf("the service was asked %d times", test.service.calls)
				}
			})
		})
	}
}
