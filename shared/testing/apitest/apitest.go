// Package apitest says how the interface behaves, in scripts that run alike against the handlers of a process and against a deployment.
//
// # Scripts
//
// A script is a file scripts/<route of the endpoint>/<what it shows>.txtar. Rules of all endpoints stand in scripts/general, those that
// only hold with API Gateway in scripts/gateway, those that only hold without it in scripts/direct. A script is a sequence of requests
// and answers, after a comment that says what it shows:
//
//	Comments are answered in the order of their ids.
//
//	-- seed --
//	{"organizations": [{"id": "acme"}], "documents": [{"organizationId": "acme", "documentId": "plan"}]}
//	-- one annotation with a generated id --
//	{"data": {"organizationId": "acme", "documentId": "plan", "commentAnnotations": [{}]}}
//	-- 200 --
//	{"result": {"status": "success", "message": "${:text}", "data": {"${ann:id}": {
//	  "success": true, "annotationId": "${ann}", "commentIds": [], "message": "${:text}"}}}}
//	-- no such organization --
//	POST /v2/commentannotations/get
//	{"data": {"organizationId": "elsewhere"}}
//	-- 404 --
//	{"error": {"status": "NOT_FOUND", "message": "${:text}"}}
//
// The section `seed`, which may be left out, holds a Seed: what must be there and no operation makes. Every script runs in a fresh
// account, so the ids it chooses are its own, and all scripts run at the same time.
//
// A section with a title holds a request. Without a request line it is a POST to the script's endpoint. Lines `Name: value` after the
// request line set headers, `!Name` leaves out one that is sent otherwise: the credentials of the account, and Content-Type:
// application/json. The body begins at the first line that begins with `{`, or after the first empty one, and is sent unchanged, less
// the line's end after it.
//
// A request whose title begins with `eventually: ` is sent again, for two minutes, until it is answered as expected: what it asks for is
// on its way.
//
// The section after it has the expected HTTP status for its title and holds headers the answer must have, in the same form, and its
// whole body. Members of objects may come in any order; numbers must be written alike; nothing more and nothing less may be there.
//
// # Variables
//
// `${name}` in a path, header or body stands for a variable's text. Where it is a whole JSON string, "${name}", it stands for the value,
// which may be a number; as the key of a member it is text. In an expected answer `${name:kind}` takes what is there, which must be of
// the kind, for the variable from there on; `${:kind}` takes it for none. It may be a part of a string or a key. Of several keys with
// kinds in one object the first stands for the first member that is not named otherwise, and so on. The kinds:
//
//	id        a generated id
//	text      a string that is not empty
//	integer   an integer
//	time      a time in ISO 8601, UTC, with milliseconds
//	any       any JSON value; only as a whole string
//
// Variables that are there from the start: `${account}`, `${key}` and `${token}`, the id and the credentials of the account; `${otherKey}` and
// `${otherToken}`, those of a second one.
package apitest

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/api/operator"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/testing/must"
)

//go:embed scripts
var scripts embed.FS

// Target is what the scripts run against.
type Target struct {
	BaseURL string       // what the paths of the interface are appended to, without a slash at the end
	Client  *http.Client // nil for http.DefaultClient
	Seeder  Seeder       // writes into the table of the service at BaseURL
	Gateway bool         // API Gateway is in front of the handlers

	Operator http.Handler // serves the operator's operations on that table
}

// Run runs every script, and those of the rules of all endpoints, as a parallel subtest named by its path, in the order of the contract,
// and with them the requests of contract.txtar.
func Run(t *testing.T, target Target) {
	list, err := all()
	must.Do(t, err)
	rules, err := rulesOfAll(list)
	must.Do(t, err)
	list = slices.Concat(list, rules)
	skipped := general("gateway")
	if target.Gateway {
		skipped = general("direct")
	}
	for _, s := range list {
		if s.folder == skipped {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, target)
		})
	}
	t.Run("contract", func(t *testing.T) {
		t.Parallel()
		RunContract(t, target)
	})
}

// all returns every script. Callers append to a clone.
var all = sync.OnceValues(func() ([]*script, error) { return load(scripts) })

// general returns the folder of scripts that belong to no endpoint.
func general(name string) string { return "/" + name }

// folders returns the folders that may hold scripts, in the order in which they run.
func folders() []string {
	list := []string{general("general"), general("gateway"), general("direct")}
	for _, e := range api.Endpoints() {
		if !e.Public { // a page has no JSON
			list = append(list, e.Path)
		}
	}
	for _, e := range operator.Endpoints() {
		list = append(list, e.Path)
	}
	return list
}

// load reads all scripts below the folder scripts, in the order in which they run.
func load(files fs.FS) ([]*script, error) {
	order := folders()
	var list []*script
	err := fs.WalkDir(files, "scripts", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, ok := strings.CutSuffix(strings.TrimPrefix(file, "scripts/"), ".txtar")
		folder := "/" + path.Dir(name)
		if !ok || !slices.Contains(order, folder) {
			return fmt.Errorf("%s is not a script in the folder of an endpoint, general, gateway or direct", file)
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		s, err := parse(text, folder)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		s.name, s.folder = name, folder
		list = append(list, s)
		return nil
	})
	slices.SortStableFunc(list, func(a, b *script) int {
		return slices.Index(order, a.folder) - slices.Index(order, b.folder)
	})
	return list, err
}

// run runs the script in two fresh accounts. After an answer that is not as expected it goes on, as long as no variable is missing.
func (s *script) run(t *testing.T, target Target) {
	vars := variables{}
	s.begin(t, target, vars)
	for _, step := range s.steps {
		problems, err := step.await(t.Context(), target, vars)
		if err != nil {
			t.Fatalf("%s: %v", step.title, err)
		}
		if problems != "" {
			t.Errorf("%s: %s", step.title, problems)
		}
	}
}

// begin makes the script's accounts, sets the variables of their credentials, and returns the id of the first one.
func (s *script) begin(t *testing.T, target Target, vars variables) (account string) {
	t.Helper()
	account = s.account(t, target.Seeder, s.seed.Account, vars, "key", "token")
	vars["account"] = textValue(account)
	s.account(t, target.Seeder, s.seed.Other, vars, "otherKey", "otherToken")
	if s.seed.Examples {
		startExamples(t, target, vars)
	}
	return account
}

// account makes an account, sets the variables of its credentials, and returns its id.
func (s *script) account(t *testing.T, seeder Seeder, seed Account, vars variables, key, token string) (id string) {
	t.Helper()
	id = "test-" + rand.Text()
	vars[key], vars[token] = textValue("key-"+rand.Text()), textValue(rand.Text())
	must.Do(t, seed.write(t.Context(), seeder, id))
	tokens := []collab.Token{{Hash: collab.HashToken(vars[token].text), CreatedAt: time.Now().UnixMilli()}}
	must.Do(t, seeder.Accounts.AddAPIKey(t.Context(), vars[key].text, id, tokens))
	return id
}

// patience is how long a step waits for what is on its way: a deployment on a busy machine lags behind.
func (t Target) patience() time.Duration {
	if t.Gateway {
		return 2 * time.Minute
	}
	return 20 * time.Second
}

// await runs the step. A step that waits runs again after a growing pause, which leaves the processor to the work that it waits for.
func (s *step) await(ctx context.Context, target Target, vars variables) (problems string, err error) {
	end := time.Now().Add(target.patience())
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		before := maps.Clone(vars)
		problems, err = s.run(ctx, target, vars)
		if !s.wait || err != nil || problems == "" || time.Now().After(end) {
			return problems, err
		}
		clear(vars)
		maps.Copy(vars, before)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return problems, context.Cause(ctx)
		}
	}
}

// run sends the request and returns what is wrong with the answer. The error is of the script, or of the connection.
func (s *step) run(ctx context.Context, target Target, vars variables) (problems string, err error) {
	req, sent, err := s.request(ctx, target.BaseURL, vars)
	if err != nil {
		return "", err
	}
	res, err := target.send(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	d, err := described()
	if err != nil {
		return "", err
	}
	wrong := s.answer.check(res, body, vars)
	if !ofOperator(req) && req.Header.Get("Authorization") == "" { // the reference describes what back ends send and are answered
		wrong = append(wrong, d.check(req, sent, res, body)...)
	}
	if len(wrong) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s\nthe answer is %d %s", strings.Join(wrong, "\n"), res.StatusCode, body), nil
}

// operators starts the paths of the operator's operations, which no gateway serves.
const operators = "/operator/"

func ofOperator(req *http.Request) bool { return strings.HasPrefix(req.URL.Path, operators) }

// send sends a request to the service, or to the operator's operations.
func (target Target) send(req *http.Request) (*http.Response, error) {
	if ofOperator(req) {
		w := httptest.NewRecorder()
		target.Operator.ServeHTTP(w, req)
		return w.Result(), nil
	}
	if target.Client != nil {
		return target.Client.Do(req)
	}
	return http.DefaultClient.Do(req)
}

// request returns the request, and its body.
func (s *step) request(ctx context.Context, base string, vars variables) (req *http.Request, body string, err error) {
	path, err := vars.expand(s.path)
	if err != nil {
		return nil, "", err
	}
	body, err = vars.expandJSON(s.body)
	if err != nil {
		return nil, "", err
	}
	if strings.HasPrefix(path, operators) {
		base = "http://operator"
	}
	req, err = http.NewRequestWithContext(ctx, s.method, base+path, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(credentials.KeyHeader, vars["key"].text)
	req.Header.Set(credentials.TokenHeader, vars["token"].text)
	for _, h := range s.header {
		if h.absent {
			req.Header.Del(h.name)
			continue
		}
		value, err := vars.expand(h.value)
		if err != nil {
			return nil, "", err
		}
		if h.name == "Authorization" { // without others, unless they follow
			req.Header.Del(credentials.KeyHeader)
			req.Header.Del(credentials.TokenHeader)
		}
		req.Header.Set(h.name, value)
	}
	return req, body, nil
}

// check compares an answer with the expected one and sets the variables of that.
func (a *answer) check(res *http.Response, body []byte, vars variables) []string {
	var wrong []string
	if res.StatusCode != a.status {
		wrong = append(wrong, fmt.Sprintf("the status is %d, want %d", res.StatusCode, a.status))
	}
	if res.Header.Get(collab.RequestIDHeader) == "" {
		wrong = append(wrong, "the answer has no "+collab.RequestIDHeader)
	}
	for _, h := range a.header {
		values, sent := res.Header[http.CanonicalHeaderKey(h.name)]
		if h.absent {
			if sent {
				wrong = append(wrong, fmt.Sprintf("the header %s is %q, want none", h.name, values))
			}
			continue
		}
		got := textValue(strings.Join(values, ", "))
		wrong = append(wrong, vars.match("the header "+h.name, textValue(h.value), got)...)
	}
	got, err := parseJSON(body)
	if err != nil {
		return append(wrong, fmt.Sprintf("the body is not JSON: %v", err))
	}
	return append(wrong, vars.match("", a.body, got)...)
}

// compact returns v as JSON.
func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(text)
}
