package console

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/app/operate"
	"collabdata/shared/queue"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"
	"collabdata/shared/webhook"
)

type world struct {
	*Console
	t *testing.T
}

// newWorld returns a table with an account, a document, and threads with markup in all texts.
func newWorld(t *testing.T) *world {
	t.Helper()
	cfg, sqs := storetest.Config(t), localstacktest.Config(localstacktest.MiniStack(t))
	urls, err := queue.Create(t.Context(), sqs, fmt.Sprintf("console-%d-", time.Now().UnixNano()))
	must.Do(t, err)
	log := slog.New(slog.DiscardHandler)
	w := &world{t: t, Console: New(Config{
		Header:  []Link{{"/demo", "Demo"}},
		Explain: func(_ context.Context, err error) string { return operate.Cause(err) },
		Operator: operate.New(operate.Config{
			App:      app.Config{DynamoDB: cfg, SQS: sqs, EventsURL: urls["events"], Table: storetest.New(t).Name(), Log: log},
			CheckURL: webhook.NewGuard(nil).CheckURL,
		}),
	})}
	w.call("", "/operator/accounts/add", `{"accountId": "acct", "name": "Acme <b>"}`)
	w.call("acct", "/v2/commentannotations/add", `{"organizationId": "org", "createOrganization": true, "documentId": "doc", "createDocument": true,
		"commentAnnotations": [{"annotationId": "thread", "commentData": [{"commentId": 1, "triggerNotification": true, "from": {"userId": "ann", "name": "Ann <i>"},
			"commentText": "{{bob}}: <script>alert(1)</script>", "taggedUserContacts": [{"userId": "bob", "contact": {"userId": "bob", "name": "Bob & Co"}}]}]}]}`)
	w.call("acct", "/v2/webhooks/add", `{"webhookId": "hook", "url": "https://hooks.example/<x>"}`)
	w.call("acct", "/v2/organizations/folders/add", `{"organizationId": "org", "folders": [{"folderId": "f", "folderName": "Folder"}]}`)
	w.call("acct", "/v2/users/add", `{"organizationId": "org", "users": [{"userId": "bob", "name": "Bob"}]}`)
	return w
}

func (w *world) call(account, path, data string) *rpc.Result {
	w.t.Helper()
	res, err := w.Operator.Call(w.t.Context(), account, path, json.RawMessage(data))
	if err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
	return res
}

type served struct {
	*httptest.ResponseRecorder
	text string
}

func serve(h http.Handler, r *http.Request) served {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return served{w, html.UnescapeString(w.Body.String())}
}

func get(h http.Handler, path string) served {
	return serve(h, httptest.NewRequest(http.MethodGet, path, nil))
}

// TestPages checks the content and links of a page of each kind.
func TestPages(t *testing.T) {
	w := newWorld(t)
	const org = "accountId=acct&organizationId=org"
	for _, test := range []struct {
		address string
		status  int
		want    []string
	}{
		{"", 200, []string{"Acme <b>", `href="/console/account?accountId=acct"`, `href="/demo"`, "operator/accounts/add"}},
		{"/account?accountId=acct", 200, []string{
			"write units", "Mails per day", `href="/console/organization?accountId=acct&organizationId=org"`, `/console/key?accountId=acct&apiKey=key-`,
			`href="/console/webhook?accountId=acct&webhookId=hook"`, `href="/console/operator/settings/update?accountId=acct"`,
		}},
		{"/organization?" + org, 200, []string{
			`/console/document?accountId=acct&documentId=doc&organizationId=org`, `/console/folder?accountId=acct&folderId=f&organizationId=org`,
			`/console/user?accountId=acct&organizationId=org&userId=bob`, "/console/v2/organizations/delete?" + org,
		}},
		{"/key?accountId=acct&apiKey=k", 200, []string{"/console/operator/tokens/rotate?accountId=acct&apiKey=k"}},
		{"/folder?" + org + "&folderId=f", 200, []string{"Folder f"}},
		{"/document?" + org + "&documentId=doc", 200, []string{`/console/thread?accountId=acct&annotationId=thread&documentId=doc&organizationId=org`}},
		{"/thread?" + org + "&documentId=doc&annotationId=thread", 200, []string{
			"Bob & Co: <script>alert(1)</script>", "Ann <i> (ann)", "Notified", `/console/event?accountId=acct&eventId=`, `/console/user?accountId=acct&organizationId=org&userId=ann`,
		}},
		{"/user?" + org + "&userId=bob", 200, []string{"Bob", "Notifications config", "Auth permissions"}},
		{"/webhook?accountId=acct&webhookId=hook", 200, []string{"Webhook hook"}},
		{"/find?id=doc&" + org, 200, []string{"document", `/console/document?accountId=acct&documentId=doc&organizationId=org`}},
		{"/find?id=nothing", 200, []string{"Nothing found."}},
		{"/operator/pending/get", 200, []string{"job", "event"}},
		{"/operator/keys/add?accountId=acct", 200, []string{`method="post"`, `name="accountId" value="acct"`}},
		{"/v2/organizations/get?accountId=acct&pageSize=1", 200, []string{"Organization name"}},
		{"/account?accountId=none", 404, []string{`account "none" does not exist`}},
		{"/organization?accountId=none&organizationId=org", 404, []string{`account "none" does not exist`}},
		{"/event?accountId=acct&eventId=none", 404, []string{`event "none" does not exist`}},
		{"/nowhere", 404, []string{"no page at /console/nowhere"}},
		{"/files/style.css", 200, nil},
		{"/files/page.html", 404, nil},
	} {
		a := get(w, Path+test.address)
		if a.Code != test.status {
			t.Errorf("%s: %d %s", test.address, a.Code, a.text)
		}
		for _, want := range test.want {
			if !strings.Contains(a.text, want) {
				t.Errorf("%s does not say %s:\n%s", test.address, want, a.text)
			}
		}
		if raw := a.Body.String(); strings.Contains(raw, "<script>") || strings.Contains(raw, "Acme <b>") || strings.Contains(raw, "Ann <i>") {
			t.Errorf("%s has markup of a caller:\n%s", test.address, raw)
		}
	}
}

// TestChanges calls an operation through its form: the page asks for confirmation, reports success
// or an error, and keeps the input.
func TestChanges(t *testing.T) {
	w := newWorld(t)
	post := func(path string, values url.Values) served {
		r := httptest.NewRequest(http.MethodPost, Path+path, strings.NewReader(values.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return serve(w, r)
	}
	update := url.Values{"form": {w.form}, "accountId": {"acct"}, "mailsPerDay": {"7"}, "allEvents": {"true"}}
	const path = "/operator/settings/update"
	if a := post(path, update); a.Code != 200 || !strings.Contains(a.text, `name="confirmed" value="yes"`) || !strings.Contains(a.text, `value="7"`) {
		t.Errorf("it does not ask: %d %s", a.Code, a.text)
	}
	update.Set("confirmed", "yes")
	if a := post(path, update); a.Code != 200 || !strings.Contains(a.text, "were updated") {
		t.Errorf("it does not say that it is done: %d %s", a.Code, a.text)
	}
	update.Set("mailsPerDay", "-5")
	if a := post(path, update); a.Code != 400 || !strings.Contains(a.text, "mailsPerDay must be") || !strings.Contains(a.text, `value="-5"`) {
		t.Errorf("it does not refuse: %d %s", a.Code, a.text)
	}
	update.Set("form", "other")
	if a := post(path, update); a.Code != 403 {
		t.Errorf("a form of another page: %d %s", a.Code, a.text)
	}
	add := url.Values{
		"form": {w.form}, "accountId": {"acct"}, "confirmed": {"yes"}, "organizations": {`[{"organizationId": "north"}]`},
	}
	if a := post("/v2/organizations/add", add); a.Code != 200 || !strings.Contains(a.text, "Added Successfully") {
		t.Errorf("an operation of the API: %d %s", a.Code, a.text)
	}
	if got := w.call("", "/operator/settings/get", `{"accountId": "acct"}`); !strings.Contains(string(got.Data), `"mailsPerDay":7,`) {
		t.Errorf("the settings are %s", got.Data)
	}
}

// TestSession checks that only the first browser with the printed address has access, and no page
// of another site.
func TestSession(t *testing.T) {
	w := newWorld(t)
	s := NewSession(w.Console, "8790")
	ask := func(target, host, site string, cookies ...*http.Cookie) served {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Host = host
		if r.Header.Set("Sec-Fetch-Site", site); site == "" {
			r.Header.Del("Sec-Fetch-Site")
		}
		for _, c := range cookies {
			r.AddCookie(c)
		}
		return serve(s, r)
	}
	const here = "127.0.0.1:8790"
	if a := ask(Path, here, ""); a.Code != 403 || strings.Contains(a.text, "Acme") {
		t.Errorf("without a session: %d", a.Code)
	}
	begun := ask(strings.TrimPrefix(s.Address(), "http://"+here), here, "none")
	cookies := begun.Result().Cookies()
	if begun.Code != 303 || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("the address answers %d with %v", begun.Code, cookies)
	}
	for _, test := range []struct {
		name, target, host, site string
		cookies                  []*http.Cookie
		status                   int
	}{
		{"the browser", Path, here, "same-origin", cookies, 200},
		{"by name", Path, "localhost:8790", "none", cookies, 200},
		{"another name", Path, "evil.example:8790", "", cookies, 403},
		{"another site", Path, here, "cross-site", cookies, 403},
		{"another server here", Path, here, "same-site", cookies, 403},
		{"the address again", strings.TrimPrefix(s.Address(), "http://"+here), here, "none", nil, 403},
		{"a file", Path + "/files/style.css", here, "same-origin", nil, 200},
	} {
		a := ask(test.target, test.host, test.site, test.cookies...)
		if a.Code != test.status || (test.status != 200) && strings.Contains(a.text, "Acme") {
			t.Errorf("%s: %d %s", test.name, a.Code, a.text)
		}
	}
}
