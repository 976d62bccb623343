//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"collabdata/shared/testing/leadingkeys"
	"collabdata/shared/testing/must"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// guard stands between the functions and the table, and refuses what a function's role allows for other partitions only: the condition
// dynamodb:LeadingKeys, at which the local cloud does not look. All else of IAM the local cloud enforces.
type guard struct {
	*httptest.Server

	mu      sync.Mutex
	refused func(string) // called with every call that is refused
	cloud   *url.URL
	roles   map[string][]statement // by access key
	calls   int                    // seen so far
}

func (g *guard) seen() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls
}

// statement is one of a policy that is about the table's items.
type statement struct {
	actions    []string
	partitions []string // patterns
}

// refusals returns the calls that are refused while do runs.
func (g *guard) refusals(do func()) []string {
	var calls []string
	tell := func(refused func(string)) (before func(string)) {
		g.mu.Lock()
		defer g.mu.Unlock()
		before, g.refused = g.refused, refused
		return before
	}
	before := tell(func(call string) { calls = append(calls, call) })
	defer func() { tell(before) }()
	do()
	return calls
}

func newGuard(t *testing.T, refused func(string)) *guard {
	g := &guard{refused: refused, roles: map[string][]statement{}}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	return g
}

// protect lets the guard forward to the cloud what the policies of the deployed functions allow.
func (g *guard) protect(t *testing.T, cfg aws.Config, cloud string, functions []lambdatypes.FunctionConfiguration) {
	t.Helper()
	roles := map[string][]statement{}
	for _, f := range functions {
		// The local cloud derives the access key of a function's role from both names.
		sum := sha256.Sum256([]byte(aws.ToString(f.FunctionArn) + ":" + aws.ToString(f.Role)))
		statements, err := readStatements(t.Context(), cfg, path.Base(aws.ToString(f.Role)))
		must.Do(t, err)
		roles[fmt.Sprintf("ASIA%X", sum[:8])] = statements
	}
	target, err := url.Parse(cloud)
	must.Do(t, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cloud, g.roles = target, roles
}

// readStatements returns what the inline policy of a role says about items of tables.
func readStatements(ctx context.Context, cfg aws.Config, role string) ([]statement, error) {
	got, err := iam.NewFromConfig(cfg).GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: &role, PolicyName: aws.String("rights")})
	if err != nil {
		return nil, err
	}
	document, err := url.QueryUnescape(aws.ToString(got.PolicyDocument))
	if err != nil {
		return nil, err
	}
	var policy struct {
		Statement []struct {
			Action    oneOrMore
			Condition map[string]map[string]oneOrMore
		}
	}
	if err := json.Unmarshal([]byte(document), &policy); err != nil {
		return nil, fmt.Errorf("the policy of %s: %w: %s", role, err, document)
	}
	var statements []statement
	for _, s := range policy.Statement {
		if keys := s.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]; keys != nil {
			statements = append(statements, statement{s.Action, keys})
		}
	}
	return statements, nil
}

// oneOrMore is a list of texts, of which one may stand alone.
type oneOrMore []string

func (l *oneOrMore) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		*l = make([]string, 1)
		return json.Unmarshal(text, &(*l)[0])
	}
	return json.Unmarshal(text, (*[]string)(l))
}

func (s statement) allows(partitions []string) bool {
	return !slices.ContainsFunc(partitions, func(key string) bool {
		return !slices.ContainsFunc(s.partitions, func(pattern string) bool {
			start, open := strings.CutSuffix(pattern, "*")
			return key == pattern || open && strings.HasPrefix(key, start)
		})
	})
}

func (g *guard) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	key := regexp.MustCompile(`Credential=([^/]+)/`).FindStringSubmatch(r.Header.Get("Authorization"))
	g.mu.Lock()
	cloud := g.cloud
	var statements []statement
	known := false
	if key != nil {
		statements, known = g.roles[key[1]]
	}
	g.calls++
	g.mu.Unlock()
	partitions, err := leadingkeys.Of(operation, body)
	if err == nil && !known {
		err = fmt.Errorf("credentials of no function: %q", key)
	}
	for action, keys := range partitions {
		allowed, elsewhere := false, false
		for _, s := range statements {
			if slices.Contains(s.actions, action) {
				allowed, elsewhere = allowed || s.allows(keys), true
			}
		}
		if err == nil && elsewhere && !allowed {
			err = fmt.Errorf("%s on %q", action, keys)
		}
	}
	if err != nil {
		g.mu.Lock()
		g.refused(fmt.Sprintf("%s: %v", operation, err))
		g.mu.Unlock()
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type": "com.amazon.coral.service#AccessDeniedException", "Message": %q}`, "dynamodb:LeadingKeys: "+fmt.Sprint(err))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	forward := httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(cloud)
		p.Out.Host = p.In.Host // which is signed
	}}
	forward.ServeHTTP(w, r)
}

func TestGuard(t *testing.T) {
	cloud := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer cloud.Close()
	var refused []string
	g := newGuard(t, func(call string) { refused = append(refused, call) })
	var err error
	if g.cloud, err = url.Parse(cloud.URL); err != nil {
		t.Fatal(err)
	}
	g.roles["ASIA1"] = []statement{
		{[]string{"dynamodb:GetItem", "dynamodb:Query", "dynamodb:BatchGetItem"}, []string{"A#*"}},
		{[]string{"dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem"}, []string{"A#*", "DUE#*", "ACCOUNTS"}},
	}
	for _, test := range []struct {
		operation, body string
		allowed         bool
	}{
		{"GetItem", `{"Key": {"pk": {"S": "A#a"}, "sk": {"S": "ORG#o"}}}`, true},
		{"GetItem", `{"Key": {"pk": {"S": "DUE#0"}}}`, false},
		{"GetItem", `{"Key": {"sk": {"S": "A#a"}}}`, false},
		{"PutItem", `{"Item": {"pk": {"S": "ACCOUNTS"}}}`, true},
		{"PutItem", `{"Item": {"pk": {"S": "ACCOUNTS#1"}}}`, false},
		{"PutItem", `{"Item": {"pk": {"S": "KEY#k"}}}`, false},
		{"UpdateItem", `{"Key": {"pk": {"S": "KEY#k"}}}`, true}, // for the cloud to refuse: no statement has the action
		{"Query", `{"KeyConditionExpression": "#0 = :0 AND #1 > :1", "ExpressionAttributeNames": {"#0": "pk", "#1": "sk"},
			"ExpressionAttributeValues": {":0": {"S": "A#a"}, ":1": {"S": "x"}}}`, true},
		{"Query", `{"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "DUE#1"}}}`, false},
		{"Query", `{"IndexName": "index-in", "KeyConditionExpression": "x = :p"}`, true},
		{"BatchGetItem", `{"RequestItems": {"t": {"Keys": [{"pk": {"S": "A#a"}}, {"pk": {"S": "A#b"}}]}}}`, true},
		{"BatchGetItem", `{"RequestItems": {"t": {"Keys": [{"pk": {"S": "A#a"}}, {"pk": {"S": "KEY#k"}}]}}}`, false},
		{"BatchWriteItem", `{"RequestItems": {"t": [{"PutRequest": {"Item": {"pk": {"S": "A#a"}}}}, {"DeleteRequest": {"Key": {"pk": {"S": "KEY#k"}}}}]}}`, false},
		{"TransactWriteItems", `{"TransactItems": [{"Put": {"Item": {"pk": {"S": "A#a"}}}}, {"Delete": {"Key": {"pk": {"S": "DUE#1"}}}}]}`, true},
		{"TransactWriteItems", `{"TransactItems": [{"Put": {"Item": {"pk": {"S": "A#a"}}}}, {"Delete": {"Key": {"pk": {"S": "KEY#k"}}}}]}`, false},
		{"Scan", `{}`, false},
	} {
		for key, allowed := range map[string]bool{"ASIA1": test.allowed, "ASIA2": false} {
			refused = nil
			req, err := http.NewRequestWithContext(t.Context(), "POST", g.URL, strings.NewReader(test.body))
			must.Do(t, err)
			req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+test.operation)
			req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/20260101/us-east-1/dynamodb/aws4_request")
			res, err := http.DefaultClient.Do(req)
			must.Do(t, err)
			res.Body.Close()
			if got := res.StatusCode == http.StatusOK; got != allowed || got == (len(refused) > 0) {
				t.Errorf("%s %s by %s: %d, refused %q", test.operation, test.body, key, res.StatusCode, refused)
			}
		}
	}
}
