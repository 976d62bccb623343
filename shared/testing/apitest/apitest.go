// Package apitest tests the interface with scripts that run both against handlers in process and
// against a deployment.
//
// # Scripts
//
// A script is a file scripts/<route of the endpoint>/<subject>.txtar. Rules of all endpoints are in
// scripts/general, rules of API Gateway in scripts/gateway, and rules without it in scripts/direct.
// A script is a comment about its subject and a sequence of requests and responses:
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
// The optional section `seed` holds a Seed: data that no operation adds. Every script runs in a new
// account, so it can choose any ids. Scripts run concurrently.
//
// A section with a title holds a request. Without a request line it is a POST to the script's
// endpoint. Lines `Name: value` after the request line set headers. `!Name` omits a default header:
// the credentials of the account, or Content-Type: application/json. The body starts at the first
// line with a leading `{`, or after the first empty line. It is sent unchanged, without the last
// line end.
//
// A request with the title prefix `eventually: ` is repeated for up to two minutes until the
// response is as expected.
//
// The next section has the expected HTTP status as its title. It contains required headers, in the
// same form, and the complete body. The order of members is ignored; numbers must be written
// identically.
//
// # Variables
//
// `${name}` in a path, header or body is replaced by a variable's text. A whole JSON string
// "${name}" is replaced by the value, which may be a number; a key is always text. In an expected
// response, `${name:kind}` matches a value of the kind and stores it in the variable; `${:kind}`
// matches without storing. It may be a part of a string or a key. In an object, keys with kinds
// match the remaining members in order. Kinds:
//
//	id        a generated id
//	text      a string that is not empty
//	integer   an integer
//	time      a time in ISO 8601, UTC, with milliseconds
//	any       any JSON value; only as a whole string
//
// Predefined variables: `${account}`, `${key}` and `${token}`, the id and credentials of the
// account; `${otherKey}` and `${otherToken}`, those of a second account.
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

// Target is the service under test.
type Target struct {
	BaseURL string       // prefix of the interface's paths, without a trailing slash
	Client  *http.Client // http.DefaultClient if nil
	Seeder  Seeder       // writes to the table of the service at BaseURL
	Gateway bool         // API Gateway is in front of the handlers

	Operator http.Handler // serves the operator's operations
}

// Run runs every script as a parallel subtest named by its path, in the order of the contract. It
// includes the rules of all endpoints and the requests of contract.txtar.
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

// general returns the folder of scripts without an endpoint.
func general(name string) string { return "/" + name }

// folders returns the folders of scripts in running order.
func folders() []string {
	list := []string{general("general"), general("gateway"), general("direct")}
	for _, e := range api.Endpoints() {
		if !e.Public { // an HTML page
			list = append(list, e.Path)
		}
	}
	for _, e := range operator.Endpoints() {
		list = append(list, e.Path)
	}
	return list
}

// load reads all scripts in running order.
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

// run runs the script in two new accounts. It continues after an unexpected response unless a
// variable is missing.
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

// begin creates the script's accounts and the variables of their credentials, and returns the first
// account's id.
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

// account creates an account and the variables of its credentials, and returns its id.
func (s *script) account(t *testing.T, seeder Seeder, seed Account, vars variables, key, token string) (id string) {
	t.Helper()
	id = "test-" + rand.Text()
	vars[key], vars[token] = textValue("key-"+rand.Text()), textValue(rand.Text())
	must.Do(t, seed.write(t.Context(), seeder, id))
	tokens := []collab.Token{{Hash: collab.HashToken(vars[token].text), CreatedAt: time.Now().UnixMilli()}}
	must.Do(t, seeder.Accounts.AddAPIKey(t.Context(), vars[key].text, id, tokens))
	return id
}

// patience returns the maximum time to repeat a step: a deployment on a busy machine is slow.
func (t Target) patience() time.Duration {
	if t.Gateway {
		return 2 * time.Minute
	}
	return 20 * time.Second
}

// await runs the step. It repeats a waiting step after growing pauses, which leave the processor to
// other work.
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

// run sends the request and returns the problems of the response. An error is due to the script or
// the connection.
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
	backEnd := !ofOperator(req) && req.Header.Get("Authorization") == ""
	wrong := s.answer.check(res, body, vars, defaultsOf(backEnd, req.URL.Path))
	if backEnd { // the reference describes no others
		wrong = append(wrong, d.check(req, sent, res, body)...)
	}
	if len(wrong) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s\nthe answer is %d %s", strings.Join(wrong, "\n"), res.StatusCode, body), nil
}

// operators is the path prefix of the operator's operations, which no gateway serves.
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
		if h.name == "Authorization" { // replaces all credentials, unless more follow
			req.Header.Del(credentials.KeyHeader)
			req.Header.Del(credentials.TokenHeader)
		}
		req.Header.Set(h.name, value)
	}
	return req, body, nil
}

// Defaults are the values of fields that most responses to back ends have, by version. An expected
// response need not name these fields.
var (
	defaultsV1 = map[string]string{
		"hasDraftComments": "false", "subscribedUsers": "{}", "unsubscribedUsers": "{}", "visibilityConfig": `{"type":"public"}`,
	}
	defaultsV2 = map[string]string{
		"hasDraftComments": "false", "subscribedUsers": "{}", "unsubscribedUsers": "{}", "visibilityConfig": `{"type":"public"}`,
		"commentCategories": "[]", "iam": "{}", "attachments": "[]", "taggedUserContacts": "[]",
		"recorders": "[]", "customList": "[]", "toOrganizationUserGroup": "[]", "reactionAnnotationIds": "[]",
	}
)

func defaultsOf(backEnd bool, path string) map[string]string {
	switch {
	case !backEnd:
		return nil
	case strings.HasPrefix(path, "/v1/"):
		return defaultsV1
	}
	return defaultsV2
}

// check compares a response with the expected one and sets its variables.
func (a *answer) check(res *http.Response, body []byte, vars variables, defaults map[string]string) []string {
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
	for name, text := range defaults {
		if !a.body.names(name) {
			got = got.without(name, text)
		}
	}
	return append(wrong, vars.match("", a.body, got)...)
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(text)
}
