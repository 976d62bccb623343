package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"

	"collabdata/infra/stack"
	"collabdata/localstack"
	"collabdata/shared/collab"
	"collabdata/shared/keys"
	"collabdata/shared/platform"
	"collabdata/shared/queue"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
)

// cli runs commands on its own table.
type cli struct {
	table  *store.Table
	global []string // flags
}

// newCLI returns commands that find the stand-ins through the SDK's variables.
func newCLI(t *testing.T) *cli {
	t.Helper()
	s, name, db := newStore(t)
	environment(t)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", db)
	return &cli{table: s.Table, global: []string{"--table", name}}
}

// newStore returns the accounts of a new table, the table's name, and the emulator's URL.
func newStore(t *testing.T) (s *accounts.Store, name, url string) {
	t.Helper()
	url = localstacktest.DynamoDB(t)
	name = "admin-" + rand.Text()
	s = accounts.New(store.New(localstacktest.Config(url), name, time.Now, rand.Reader))
	must.Do(t, localstack.CreateTable(t.Context(), localstacktest.Config(url), name))
	return s, name, url
}

// environment sets only the stand-ins' credentials.
func environment(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_REGION": localstack.Region, "AWS_ACCESS_KEY_ID": localstack.AccessKeyID, "AWS_SECRET_ACCESS_KEY": localstack.SecretAccessKey,
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "2",
		"AWS_ENDPOINT_URL_STS": localstacktest.MiniStack(t),
		"TABLE_NAME":           "", "EVENTS_QUEUE_URL": "", "ALLOWED_PRIVATE_CIDRS": "",
	} {
		t.Setenv(name, value)
	}
}

// run runs a command line, and returns its output and exit code.
func (c *cli) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append(slices.Clone(c.global), args...), terminal{}, nil, &out, &err)
	return out.String(), err.String(), code
}

// must runs a command line that must succeed, and returns the fields of its lines.
func (c *cli) must(t *testing.T, args ...string) [][]string {
	t.Helper()
	out, err, code := c.run(t, args...)
	if code != 0 {
		t.Fatalf("admin %q exits with %d: %s", args, code, err)
	}
	var lines [][]string
	for line := range strings.Lines(out) {
		lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return lines
}

// fails runs a command line that must fail with this text and without a result.
func (c *cli) fails(t *testing.T, text string, args ...string) {
	t.Helper()
	out, err, code := c.run(t, args...)
	if code == 0 || out != "" || !strings.Contains(err, text) {
		t.Errorf("admin %q exits with %d, prints %q and says %q, want %q", args, code, out, err, text)
	}
}

// TestOperations checks that operations of the operator and of the API are commands, with tables or
// JSON as results.
func TestOperations(t *testing.T) {
	c := newCLI(t)
	lines := c.must(t, "accounts", "add", "acme", "--name", "Acme")
	if len(lines) != 3 || lines[1][0] != "apiKey" || !strings.HasPrefix(lines[2][1], "token-") {
		t.Errorf("the credentials are %v", lines)
	}
	c.must(t, "organizations", "add", "acme", "--organizations", `[{"organizationId": "north", "organizationName": "North"}]`)
	c.must(t, "organizations", "documents", "add", "acme", "north", "--documents", `[{"documentId": "plan"}, {"documentId": "map"}]`)
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"organizations", "get", "acme"}, []string{"id | organizationName | disabled", "north | North | false"}},
		{[]string{"organizations", "get", "acme", "--organization-ids", "south,north"}, []string{"id | organizationName | disabled", "north | North | false"}},
		{[]string{"organizations", "documents", "delete", "acme", "north", "--document-ids", "map", "--yes"}, []string{
			"documentId | success | message", "map | true | Deleted Successfully",
		}},
		{[]string{"organizations", "access", "disablestate", "update", "acme", "--organization-ids", "north", "--disabled", "true", "--yes"}, []string{
			"organizationId | success | message", "north | true | Updated disable state for organization Successfully",
		}},
		{[]string{"commentannotations", "count", "get", "acme", "north", "--document-ids", "plan"}, []string{"documentId | total", "plan | 0"}},
		{[]string{"settings", "update", "acme", "--mails-per-day", "5", "--all-events", "true", "--write-units-per-second", "-1"}, nil},
	} {
		var lines []string
		for _, fields := range c.must(t, test.args...) {
			lines = append(lines, strings.Join(fields, " | "))
		}
		if diff := cmp.Diff(test.want, lines); test.want != nil && diff != "" {
			t.Errorf("%q: %s", test.args, diff)
		}
	}
	lines = c.must(t, "audit", "get", "acme", "--page-size", "1")
	if len(lines) != 2 || lines[1][1] != "operator" || !strings.HasPrefix(lines[1][2], "arn:aws:") || lines[1][3] != "/operator/settings/update" {
		t.Errorf("the newest act is %q", lines)
	}
	for _, test := range []struct {
		args []string
		want int // lines
	}{
		{[]string{"--since", "30d", "--actor", lines[1][2], "--page-size", "1"}, 2},
		{[]string{"--until", "30d"}, 0},
		{[]string{"--actor", "arn:aws:iam::123456789012:user/nobody"}, 0},
	} {
		if got := c.must(t, append([]string{"audit", "get", "acme"}, test.args...)...); len(got) != test.want {
			t.Errorf("the acts of %q are %q", test.args, got)
		}
	}
	if out, _, _ := c.run(t, "-o", "json", "settings", "get", "acme"); !strings.Contains(out, "\"mailsPerDay\": 5,\n") || !strings.Contains(out, "\"allEvents\": true") ||
		!strings.Contains(out, "\"writeUnitsPerSecond\": -1,\n") {
		t.Errorf("the settings are %s", out)
	}
	if out, _, _ := c.run(t, "-o", "json", "call", "acme", "/v2/organizations/get", `{}`); !strings.Contains(out, `"id": "north"`) {
		t.Errorf("a call prints %s", out)
	}
	c.must(t, "accounts", "add", "beta")
	_, said, _ := c.run(t, "accounts", "get", "--page-size", "1")
	_, token, more := strings.Cut(said, "--page-token ")
	if !more {
		t.Fatalf("a page says %s", said)
	}
	next := c.must(t, "accounts", "get", "--page-size", "1", "--page-token", strings.TrimSpace(token))
	if len(next) != 2 || next[1][0] == c.must(t, "accounts", "get", "--page-size", "1")[1][0] {
		t.Errorf("the next page is %v", next)
	}
}

func TestConfirm(t *testing.T) {
	c := newCLI(t)
	c.must(t, "accounts", "add", "acme")
	for _, test := range []struct {
		answer, disabled string
		code             int
	}{
		{"n\n", "false", 1}, {"\n", "false", 1}, {"", "false", 1}, {"what?\n", "false", 1}, {"Yes\n", "true", 0},
	} {
		var out, said bytes.Buffer
		args := append(slices.Clone(c.global), "accounts", "update", "acme", "--disabled", "true")
		code := run(t.Context(), args, terminal{in: true}, strings.NewReader(test.answer), &out, &said)
		if code != test.code || !strings.HasPrefix(said.String(), "Back ends of a disabled account are refused within 60 s") {
			t.Errorf("%q: %d %s", test.answer, code, &said)
		}
		if list := c.must(t, "accounts", "get"); list[1][2] != test.disabled {
			t.Errorf("after %q disabled is %s", test.answer, list[1][2])
		}
	}
	c.fails(t, "Give --yes to confirm", "accounts", "delete", "acme")
}

// TestCheck prints settings for an AWS account without a deployment.
func TestCheck(t *testing.T) {
	environment(t)
	t.Setenv("AWS_ENDPOINT_URL", localstacktest.MiniStack(t))
	c := &cli{}
	out, said, code := c.run(t, "check", "--stage", "test", "--mail-from", "no-reply@example.com")
	if code != 0 || !regexp.MustCompile(`^-c concurrency=[0-9]+ -c gatewayLogRole=create\n$`).MatchString(out) {
		t.Errorf("exits with %d and prints %s", code, out)
	}
	for _, part := range []string{"Lambda runs at most ", "API Gateway in us-east-1 uses a role of this stack", "SES "} {
		if !strings.Contains(said, part) {
			t.Errorf("says %s, want %q in it", said, part)
		}
	}
	if out, _, _ := c.run(t, "-o", "json", "check"); !strings.Contains(out, `"gatewayLogRole":"create"`) {
		t.Errorf("prints %s", out)
	}
	t.Setenv("AWS_REGION", "")
	c.fails(t, "no AWS region is chosen: set AWS_REGION", "check")
}

func TestVersion(t *testing.T) {
	if out, _, code := (&cli{}).run(t, "--version"); code != 0 || strings.TrimSpace(out) != platform.Version() {
		t.Errorf("%d %s", code, out)
	}
}

// TestStack reads the names of table and queues from a stack.
func TestStack(t *testing.T) {
	s, name, db := newStore(t)
	cloud := localstacktest.MiniStack(t)
	must.Do(t, s.AddAccount(t.Context(), collab.Account{ID: "acme"}))
	cfg := localstacktest.Config(cloud)
	prefix := fmt.Sprintf("stack-%d-", time.Now().UnixNano())
	urls, err := queue.Create(t.Context(), cfg, prefix)
	must.Do(t, err)
	stack := fmt.Sprintf("admin-%d", time.Now().UnixNano())
	makeStack(t, cfg, stack, map[string]string{
		"TableName": name, "EventsQueueUrl": urls[keys.EventsQueue],
	})
	environment(t)
	t.Setenv("AWS_ENDPOINT_URL", cloud)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", db)
	c := &cli{global: []string{"--stack", stack}}
	if list := c.must(t, "accounts", "get"); len(list) != 2 || list[1][0] != "acme" {
		t.Errorf("the accounts are %v", list)
	}
	c.global[1] = "nothing"
	c.fails(t, "stack nothing does not exist in region us-east-1: check --stack, AWS_PROFILE and AWS_REGION", "accounts", "get")
}

// makeStack creates a stack with outputs, and waits until they are readable.
func makeStack(t *testing.T, cfg aws.Config, name string, outputs map[string]string) {
	t.Helper()
	template := `{"Resources": {"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}, "Outputs": {`
	for output, value := range outputs {
		template += fmt.Sprintf(`%q: {"Value": %q},`, output, value)
	}
	template = strings.TrimSuffix(template, ",") + "}}"
	_, err := cloudformation.NewFromConfig(cfg).
		CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &template})
	must.Do(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		if got, err := stack.Outputs(ctx, cfg, name); err == nil && cmp.Equal(got, outputs) {
			return
		} else if ctx.Err() != nil {
			t.Fatalf("the outputs are %v, %v", got, err)
		}
	}
}

func TestErrors(t *testing.T) {
	c := newCLI(t)
	named := c.global
	c.global = nil
	c.fails(t, "no deployment: give --stack NAME, such as collabdata-prod, or --table NAME", "accounts", "get")
	c.global = []string{"--table", "nothing"}
	c.fails(t, "table nothing does not exist: check --table or --stack", "accounts", "get")
	c.global = named
	c.fails(t, `account "nobody" does not exist`, "organizations", "get", "nobody")
	c.fails(t, "--event-ids is required without --organization-id, --document-id and --annotation-id", "events", "get", "dev")
	c.fails(t, "--since must be a time", "webhooks", "deliveries", "replay", "dev", "w1", "--since", "yesterday")
	c.run(t, "accounts", "add", "dev")
	c.fails(t, "--since is required without --event-id", "webhooks", "deliveries", "replay", "dev", "w1")

	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:1")
	c.fails(t, "no server responds", "accounts", "get")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	c.fails(t, "no AWS credentials were found", "accounts", "get")
	t.Setenv("AWS_REGION", "")
	c.fails(t, "no AWS region is chosen: set AWS_REGION", "accounts", "get")
}

// TestConsole opens the printed address, and shows an account.
func TestConsole(t *testing.T) {
	c := newCLI(t)
	c.must(t, "accounts", "add", "acme")
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append(slices.Clone(c.global), "console", "--port", "0"), terminal{}, nil, io.Discard, write)
		write.Close()
	}()
	address := ""
	lines := bufio.NewScanner(read)
	for address == "" && lines.Scan() {
		address = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/console/begin\?token=[0-9A-Z]+`).FindString(lines.Text())
	}
	go io.Copy(io.Discard, read)
	jar, err := cookiejar.New(nil)
	must.Do(t, err)
	browser := &http.Client{Jar: jar}
	for _, test := range []struct {
		client *http.Client
		path   string
		status int
		text   string
	}{
		{browser, address, 200, "/console/account?accountId=acme"},
		{browser, strings.Replace(address, "/begin?", "/account?accountId=acme&", 1), 200, "Account acme"},
		{http.DefaultClient, address, 403, "start `admin console` again"},
	} {
		res, err := test.client.Get(test.path)
		must.Do(t, err)
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != test.status || !strings.Contains(string(text), test.text) {
			t.Errorf("%s: %d %s, %v", test.path, res.StatusCode, text, err)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("it ends with %d", code)
	}
}

// TestHelp checks that every command describes itself, its arguments and flags.
func TestHelp(t *testing.T) {
	c := &cli{}
	out, _, code := c.run(t, "--help")
	if code != 0 {
		t.Fatalf("exits with %d", code)
	}
	commands := regexp.MustCompile(`(?m)^  ([a-z-]+(?: [a-z-]+)+)  +[A-Z]`).FindAllStringSubmatch(out, -1)
	if len(commands) < 60 {
		t.Errorf("%d commands:\n%s", len(commands), out)
	}
	for _, command := range commands {
		out, _, code := c.run(t, append(strings.Fields(command[1]), "--help")...)
		if code != 0 || !strings.HasPrefix(out, "Usage: admin "+command[1]) {
			t.Errorf("%s: %d %s", command[1], code, out)
		}
	}
	if out, _, _ := c.run(t, "settings", "update", "--help"); !strings.Contains(out, "--default-access=organizationPrivate|public\n") {
		t.Errorf("the flag --default-access does not offer exactly the valid values: %s", out)
	}
}

// TestWrongWords checks that an error about an unknown word lists the known ones, and that invalid
// command lines exit with 2.
func TestWrongWords(t *testing.T) {
	c := newCLI(t)
	c.run(t, "accounts", "add", "acme")
	for _, test := range []struct {
		text string
		args []string
	}{
		{"unknown command frob: the commands are find, accounts,", []string{"frob"}},
		{"unknown command frob: the commands are get, add, update, delete", []string{"accounts", "frob"}},
		{"unknown flag --frob: the flags are --help, ", []string{"accounts", "get", "--frob"}},
		{"--kind must be one of", []string{"pending", "get", "--kind", "frob"}},
		{"--default-access must be one of organizationPrivate, public", []string{"settings", "update", "acme", "--default-access", "restricted"}},
		{"--all-events must be true or false", []string{"settings", "update", "acme", "--all-events", "frob"}},
		{"unknown operation /v2/frob", []string{"call", "acme", "/v2/frob", "{}"}},
		{"the data must be JSON", []string{"call", "acme", "/v2/organizations/get", "frob"}},
	} {
		if _, text, code := c.run(t, test.args...); code != 2 || !strings.Contains(text, test.text) {
			t.Errorf("%q exits with %d and says %s; want 2 and %s", test.args, code, text, test.text)
		}
	}
	if _, text, code := c.run(t, "accounts", "delete", "other", "--yes"); code != 1 {
		t.Errorf("an account that does not exist: %d %s", code, text)
	}
}
