// Package proxytest holds a proxy to its protocol, in whatever language it is written: requests.json, sent over HTTP to an application that
// calls a real service.
package proxytest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/app"
	"collabdata/shared/client"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/testing/localstacktest"
)

// requests are what a browser sends, in this order, and what it gets.
//
//go:embed requests.json
var requests []byte

// Credentials of the account that Serve makes.
const (
	Key   = "proxy-key"
	Token = "proxy-token"
)

// Serve serves a service to an application of the test, and returns its URL. It knows the users of acme.
func Serve(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("proxy-%d", time.Now().UnixNano())
	sqs := localstacktest.Config(localstacktest.MiniStack(t))
	urls, err := queue.Create(t.Context(), sqs, name+"-")
	if err != nil {
		t.Fatal(err)
	}
	s := app.New(app.Config{
		DynamoDB: localstacktest.Config(localstacktest.DynamoDB(t)), SQS: sqs, Table: name, EventsURL: urls[keys.EventsQueue],
		LiveURL: "ws://127.0.0.1/live", Log: slog.New(slog.DiscardHandler),
	})
	if err := localstack.CreateTable(t.Context(), localstacktest.Config(localstacktest.DynamoDB(t)), name); err != nil {
		t.Fatal(err)
	}
	token := collab.Token{Hash: collab.HashToken(Token)}
	if err := s.Accounts.EnsureAccount(t.Context(), collab.Account{ID: "proxy"}, Key, []collab.Token{token}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	users := client.UsersAddRequest{OrganizationID: "acme", CreateOrganization: true}
	for _, name := range []string{"Ann", "Bob", "Cleo"} {
		id := strings.ToLower(name)
		users.Users = append(users.Users, client.NewUser{UserID: id, Name: name, Email: id + "@example.com"})
	}
	c := client.New(client.Config{BaseURL: server.URL, APIKey: Key, AuthToken: Token})
	if _, err := c.Users.Add(t.Context(), &users); err != nil {
		t.Fatal(err)
	}
	return server.URL
}

// DocumentName returns what the document of the requests is called in a service.
func DocumentName(t *testing.T, service string) string {
	t.Helper()
	c := client.New(client.Config{BaseURL: service, APIKey: Key, AuthToken: Token})
	for d, err := range c.Organizations.GetDocuments(t.Context(), &client.OrganizationsGetDocumentsRequest{OrganizationID: "acme"}) {
		if err != nil {
			t.Fatal(err)
		}
		return d.DocumentName
	}
	return ""
}

// exchange is a request of a browser, and what must come back.
type exchange struct {
	What    string            `json:"what"`    // the sentence that it holds
	As      string            `json:"as"`      // whose cookie it carries; "" for nobody's
	Request string            `json:"request"` // the last element of the path
	Service string            `json:"service"` // in place of who and request: the path of an operation that the application's server calls
	Method  string            `json:"method"`  // POST where it is left out
	Headers map[string]string `json:"headers"` // beside those of a page of the application; "" takes one away
	Body    json.RawMessage   `json:"body"`    // with $name for what was kept; a string is sent as it is
	Status  int               `json:"status"`  // 200 where it is left out
	Want    any               `json:"want"`    // members that the answer has; arrays as a whole
	Without []string          `json:"without"` // texts that are nowhere in the answer
	Keep    map[string]string `json:"keep"`    // by name, the path of a value in the answer
}

// Run sends the requests to an application that serves a proxy at the URL. Its people are known by the cookie user: ann, bob and cleo of
// the organization acme, with addresses at example.com and their names in capitals, eve of the organization other. In the document plan of
// their organization ann, bob and eve may write, cleo may read; nobody may do anything in others. Nobody may be mentioned but ann, bob and
// cleo, in acme. The handler has no limits. The service is what Serve returned.
func Run(t *testing.T, url, service string) {
	var list []exchange
	if err := json.Unmarshal(requests, &list); err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{}
	for _, e := range list {
		t.Run(e.What, func(t *testing.T) { e.run(t, url, service, kept) })
	}
}

func (e *exchange) run(t *testing.T, url, service string, kept map[string]string) {
	body := string(e.Body)
	if e.Service != "" {
		c := client.New(client.Config{BaseURL: service, APIKey: Key, AuthToken: Token})
		answer, err := c.Send(t.Context(), http.MethodPost, e.Service, nil, []byte(`{"data":`+fill(body, kept)+`}`))
		if err != nil || answer.Status != http.StatusOK {
			t.Fatalf("%v %+v", err, answer)
		}
		return
	}
	if text := ""; json.Unmarshal(e.Body, &text) == nil {
		body = text
	}
	if body == "LARGE" {
		body = `{"documentId":"plan","requestId":"l","text":"` + strings.Repeat("x", 1<<20) + `"}`
	}
	body = fill(body, kept)
	method := e.Method
	if method == "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url+"/collab/"+e.Request, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin", "Origin": url, "Cookie": "user=" + e.As} {
		r.Header.Set(name, value)
	}
	for name, value := range e.Headers {
		if r.Header.Set(name, value); value == "" {
			r.Header.Del(name)
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var got any
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Fatalf("the answer with status %d is not JSON: %v", res.StatusCode, err)
	}
	text, _ := json.Marshal(got)
	if e.Status == 0 {
		e.Status = http.StatusOK
	}
	if res.StatusCode != e.Status {
		t.Fatalf("the answer is %d %s, want %d", res.StatusCode, text, e.Status)
	}
	if kind := res.Header.Get("Content-Type"); kind != "application/json" || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the answer has the headers %v", res.Header)
	}
	if wrong := differs("", e.Want, got, kept); wrong != "" {
		t.Errorf("%s in %s", wrong, text)
	}
	for _, secret := range append(e.Without, Key, Token, "@example.com") {
		if strings.Contains(string(text), secret) {
			t.Errorf("the answer shows %q: %s", secret, text)
		}
	}
	for name, path := range e.Keep {
		value := got
		for step := range strings.SplitSeq(path, ".") {
			switch v := value.(type) {
			case map[string]any:
				value = v[step]
			case []any:
				value = v[len(v)-1] // the latest
			}
		}
		b, err := json.Marshal(value)
		if err != nil || value == nil {
			t.Fatalf("the answer has no %s: %s", path, text)
		}
		kept[name] = strings.Trim(string(b), `"`)
	}
}

// fill puts what was kept in its places: "$name" is a string, "#name" with its quotes a number.
func fill(text string, kept map[string]string) string {
	for name, value := range kept {
		text = strings.NewReplacer("$"+name, value, `"#`+name+`"`, value).Replace(text)
	}
	return text
}

// differs returns what a value lacks of the wanted one, "" for nothing.
func differs(at string, want, got any, kept map[string]string) string {
	switch w := want.(type) {
	case nil:
		return ""
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, want an object", at, got)
		}
		for name, value := range w {
			if wrong := differs(at+"."+name, value, g[name], kept); wrong != "" {
				return wrong
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %v, want %d values", at, got, len(w))
		}
		for i := range w {
			if wrong := differs(fmt.Sprintf("%s[%d]", at, i), w[i], g[i], kept); wrong != "" {
				return wrong
			}
		}
	case string:
		if w = fill(w, kept); w != got {
			return fmt.Sprintf("%s is %v, want %s", at, got, w)
		}
	default:
		if want != got {
			return fmt.Sprintf("%s is %v, want %v", at, got, want)
		}
	}
	return ""
}
