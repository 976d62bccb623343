//go:build e2e

// Package e2e deploys the CDK app to LocalStack, and tests the interface of the whole service: API
// Gateway, the compiled functions, the table and the queues.
package e2e

import (
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/infra/stack"
	"collabdata/localstack"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/app/operate"
	"collabdata/shared/client"
	"collabdata/shared/collab"
	"collabdata/shared/store"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
	"collabdata/shared/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cloudformationtypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

const stackName = "collabdata-local"

// TestMain runs more tests at once than there are processors: requests to LocalStack mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestDeployment(t *testing.T) {
	d := newDeployment(t)
	t.Cleanup(func() { d.deploy(t, "destroy-local") })
	d.build(t)
	d.release(t)
	d.connect(t)
	d.addAccount(t)
	if a := d.send(t, "POST", getOrganizations, `{"data": {}}`); a.status != 200 {
		t.Fatalf("the release answers %d %s", a.status, a.body)
	}
	d.again(t)

	t.Run("gateway errors", d.gatewayErrors)
	r := d.subscribe(t)
	var dead string // the event of a dead letter
	t.Run("delivery", func(t *testing.T) { dead = d.delivery(t, r) })
	// LocalStack has no connections; tickets only need their address.
	d.set(t, d.function(t, "POST /v2/live/tickets/add"), "LIVE_URL", "https://live.execute-api.us-east-1.amazonaws.com/local")
	t.Run("scripts during relay", func(t *testing.T) {
		t.Run("events whose messages were lost are delivered", func(t *testing.T) {
			lost := d.loseMessage(t, dead)
			d.makeDue(t, dead)
			d.makeDue(t, lost)
			t.Parallel() // until relay's schedule starts it
			r.take(t, "dead", "lost")
			d.notified(t, "first", "dead", "lost")
			select {
			case p := <-r.posts:
				t.Errorf("posted once more: %s", p.body)
			default:
			}
		})
		t.Run("scripts", func(t *testing.T) {
			t.Parallel()
			apitest.Run(t, apitest.Target{
				BaseURL: d.baseURL, Seeder: apitest.Seeder{Accounts: d.accounts, Directory: d.directory}, Gateway: true,
				Operator: operate.New(operate.Config{
					App: app.Config{
						DynamoDB: d.aws, SQS: d.aws, Table: d.outputs["TableName"], EventsURL: d.outputs["EventsQueueUrl"],
						Log: slog.New(slog.DiscardHandler),
					},
					CheckURL: webhook.NewGuard(nil).CheckURL,
				}),
			})
		})
	})
	t.Run("template for CloudFormation alone", d.plain)
	t.Run("writes stopped", d.stopped)
	t.Run("destroy", d.destroy)
}

type deployment struct {
	root      string // of the repository
	unpacked  string // folder of the unpacked release
	platform  string // as uname prints it, such as Linux-x86_64
	cloud     string
	aws       aws.Config
	outputs   map[string]string // of the stack
	baseURL   string
	api       string // id of the REST API
	accounts  *accounts.Store
	directory *directory.Store
	key       string // credentials of the account e2e
	token     string
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	local, err := localstack.Dir()
	must.Do(t, err)
	uname, err := exec.Command("uname", "-sm").Output()
	must.Do(t, err)
	d := &deployment{
		root: filepath.Dir(local), unpacked: t.TempDir(), platform: strings.ReplaceAll(strings.TrimSpace(string(uname)), " ", "-"),
		cloud: "http://" + port.Addr().String(),
	}
	must.Do(t, port.Close())
	d.aws = localstacktest.Config(d.cloud)
	return d
}

// build runs `make release`, copies the result to a separate folder, and starts LocalStack.
func (d *deployment) build(t *testing.T) {
	t.Helper()
	d.run(t, "", os.Environ(), "make", "-C", d.root, "aws", "ARCHS="+localstack.Arch(), "PLATFORMS="+d.platform)
	must.Do(t, os.CopyFS(d.unpacked, os.DirFS(filepath.Join(d.root, ".local", "aws", d.platform))))
	must.Do(t, localstack.StartLocalStack(t.Context(), d.port(), os.Stderr))
}

// plain replaces the CDK's stack by that of the template for CloudFormation alone, with writes off.
// It runs the commands of the template's README, with no other program than the AWS CLI.
func (d *deployment) plain(t *testing.T) {
	aws, err := localstack.CheckTool(t.Context(), "aws", os.Stderr)
	must.Do(t, err)
	readme, err := os.ReadFile(filepath.Join(d.root, "infra", "plain", "README.md"))
	must.Do(t, err)
	_, commands, _ := strings.Cut(string(readme), "```sh\n")
	commands, _, found := strings.Cut(commands, "```\n")
	if !found {
		t.Fatal("the README of the template has no commands")
	}
	settings := map[string]string{"writes": "off"}
	for _, setting := range localstack.CloudSettings() {
		if name, value, ok := strings.Cut(setting, "="); ok {
			settings[name] = value
		}
	}
	context, err := json.Marshal(settings)
	must.Do(t, err)
	folder, bin := t.TempDir(), t.TempDir()
	d.run(t, d.root, append(os.Environ(), "CDK_CONTEXT_JSON="+string(context)),
		filepath.Join(d.root, ".local", "bin", "infra"), "-functions", filepath.Join(".local", "functions"), "-plain", folder)
	must.Do(t, os.Symlink(aws, filepath.Join(bin, "aws")))
	commands = "aws cloudformation delete-stack --stack-name collabdata-prod\n" +
		"aws cloudformation wait stack-delete-complete --stack-name collabdata-prod\n" +
		"aws s3 mb s3://BUCKET\n" + commands
	env := append(d.env(), "PATH="+bin, "AWS_DEFAULT_REGION="+localstack.Region) // as version 1 of the CLI names it
	d.run(t, folder, env, "/bin/sh", "-ec", strings.NewReplacer("collabdata-prod", stackName, "BUCKET", "release").Replace(commands))
	d.connect(t)
	d.addAccount(t)
}

// release deploys the release, without Go and Python.
func (d *deployment) release(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"node", "npm", "npx", "sh", "uname"} {
		program, err := exec.LookPath(name)
		must.Do(t, err)
		must.Do(t, os.Symlink(program, filepath.Join(bin, name)))
	}
	env := append(d.env(), "PATH="+bin)
	settings := localstack.CloudSettings()
	d.run(t, d.unpacked, env, filepath.Join(bin, "npm"), "ci", "--no-audit", "--no-fund")
	// Run in a folder without an app: cdk would run an app to find the account and region.
	d.run(t, filepath.Join(d.unpacked, "functions"), env, filepath.Join(bin, "npx"), "cdk", "bootstrap", "aws://000000000000/"+localstack.Region)
	d.run(t, d.unpacked, env, filepath.Join(bin, "npx"), append([]string{"cdk", "deploy", "--require-approval", "never"}, settings...)...)
}

// env returns the environment for programs that use the cloud.
func (d *deployment) env() []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL="+d.cloud, "AWS_REGION="+localstack.Region,
		"AWS_ACCESS_KEY_ID="+localstack.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+localstack.SecretAccessKey)
}

func (d *deployment) port() string { return d.cloud[strings.LastIndexByte(d.cloud, ':')+1:] }

// run runs a program. If the program fails, the test fails with its output.
func (d *deployment) run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	start := time.Now()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	t.Logf("%s %q: %.0f s", filepath.Base(name), args, time.Since(start).Seconds())
}

// deploy runs a command of scripts/deploy.
func (d *deployment) deploy(t *testing.T, args ...string) {
	t.Helper()
	d.run(t, "", append(os.Environ(), "AWS_ENDPOINT_URL=", "PORT="+d.port()), filepath.Join(d.root, ".local", "bin", "deploy"), args...)
}

// admin runs a command of the operator's program, and returns its result.
func (d *deployment) admin(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(d.unpacked, "admin"), append([]string{"--stack", stackName}, args...)...)
	cmd.Env = d.env()
	out, err := cmd.Output()
	if refused, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("admin %q: %s", args, refused.Stderr)
	}
	must.Do(t, err)
	return string(out)
}

// again checks that the sources produce the release's stack: `make deploy-local` updates nothing.
func (d *deployment) again(t *testing.T) {
	t.Helper()
	d.deploy(t, "local", "--built")
	name := stackName
	described, err := cloudformation.NewFromConfig(d.aws).DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
	must.Do(t, err)
	if status := described.Stacks[0].StackStatus; status != cloudformationtypes.StackStatusCreateComplete {
		t.Errorf("the sources have another stack than the release: it is %s", status)
	}
}

// connect finds the API and the table.
func (d *deployment) connect(t *testing.T) {
	t.Helper()
	var err error
	if d.outputs, err = stack.Outputs(t.Context(), d.aws, stackName); err != nil {
		t.Fatal(err)
	}
	host, stage, _ := strings.Cut(strings.TrimPrefix(d.outputs["BaseUrl"], "https://"), "/")
	d.api, _, _ = strings.Cut(host, ".")
	d.baseURL = d.cloud + "/_aws/execute-api/" + d.api + "/" + stage
	table := store.New(d.aws, d.outputs["TableName"], time.Now, rand.Reader)
	d.accounts, d.directory = accounts.New(table), directory.New(table)
}

// addAccount adds an account as an operator.
func (d *deployment) addAccount(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(d.admin(t, "accounts", "add", "e2e")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
		switch name {
		case "apiKey":
			d.key = value
		case "token":
			d.token = value
		}
	}
}

func (d *deployment) addToken(t *testing.T, key, token string) {
	t.Helper()
	tokens := []collab.Token{{Hash: collab.HashToken(token), CreatedAt: time.Now().UnixMilli()}}
	must.Do(t, d.accounts.AddAPIKey(t.Context(), key, "e2e", tokens))
}

// answer is a response of the API.
type answer struct {
	status     int
	code       string // error.status
	message    string // error.message
	retryAfter string
	body       string
}

// send sends a request with the account's credentials, and further headers as name and value; ""
// omits a header.
func (d *deployment) send(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	c := client.New(client.Config{BaseURL: d.baseURL, APIKey: d.key, AuthToken: d.token})
	sent, err := c.Send(t.Context(), method, path, header, []byte(body))
	must.Do(t, err)
	text := sent.Body
	a := answer{status: sent.Status, retryAfter: sent.Header.Get("Retry-After"), body: string(text)}
	var envelope struct {
		Error struct{ Message, Status string }
	}
	if err := json.Unmarshal(text, &envelope); err != nil {
		t.Errorf("%s %s: the answer is not JSON: %d %.200s", method, path, sent.Status, text)
	}
	a.code, a.message = envelope.Error.Status, envelope.Error.Message
	return a
}

// expect reports a response that is not the expected error in the envelope, with a text.
func (a answer) expect(t *testing.T, status int, code collab.Code) {
	t.Helper()
	if a.status != status || a.code != string(code) || a.message == "" {
		t.Errorf("%d %.300s, want %d %s", a.status, a.body, status, code)
	}
}

const getOrganizations = "/v2/organizations/get"

// gatewayErrors checks that the gateway's own responses use the service's envelope.
func (d *deployment) gatewayErrors(t *testing.T) {
	const body = `{"data": {}}`
	for _, test := range []struct {
		name, method, path string
		headers            []string
		status             int
		code               collab.Code
	}{
		{"no credentials", "POST", getOrganizations, []string{"x-service-api-key", "", "x-service-auth-token", ""}, 401, collab.Unauthenticated},
		{"no token", "POST", getOrganizations, []string{"x-service-auth-token", ""}, 401, collab.Unauthenticated},
		{"wrong token", "POST", getOrganizations, []string{"x-service-auth-token", "wrong"}, 403, collab.PermissionDenied},
		{"unknown path", "POST", "/v2/nothing", nil, 404, collab.NotFound},
		{"other version", "POST", "/v1/organizations/get", nil, 404, collab.NotFound},
		{"unknown path without credentials", "POST", "/v2/nothing", []string{"x-service-api-key", ""}, 404, collab.NotFound},
		{"wrong method", "GET", getOrganizations, nil, 404, collab.NotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			d.send(t, test.method, test.path, body, test.headers...).expect(t, test.status, test.code)
		})
	}
	t.Run("too large", func(t *testing.T) {
		d.send(t, "POST", getOrganizations, `{"data": {"organizationIds": ["`+strings.Repeat("x", 5_100_000)+`"]}}`).
			expect(t, 413, collab.InvalidArgument)
	})
	t.Run("quotes", func(t *testing.T) {
		const frame = len(`{"data":{"organizationIds":["`) + len(`"]}}`) + len(`""""""`)
		body := func(quotes int) string {
			return `{"data":{"organizationIds":["` + strings.Repeat(`\"`, quotes) + `"]}}`
		}
		// exceeds an id's length
		d.send(t, "POST", getOrganizations, body((rpc.MaxBody-frame)/4)).expect(t, 400, collab.InvalidArgument)
		d.send(t, "POST", getOrganizations, body((rpc.MaxBody-frame)/4+1)).expect(t, 413, collab.InvalidArgument)
	})
	t.Run("compressed", func(t *testing.T) {
		var packed strings.Builder
		w := gzip.NewWriter(&packed)
		_, err := w.Write([]byte(`{}`)) // has no data
		must.Do(t, errors.Join(err, w.Close()))
		d.send(t, "POST", getOrganizations, packed.String(), "Content-Encoding", "gzip").expect(t, 400, collab.InvalidArgument)
	})
	t.Run("credentials cannot be read", func(t *testing.T) {
		key, token := rand.Text(), rand.Text() // not in any cache
		d.addToken(t, key, token)
		f := d.function(t, "POST "+getOrganizations)
		d.set(t, f, "TABLE_NAME", "no-such-table")
		a := d.send(t, "POST", getOrganizations, body, "x-service-api-key", key, "x-service-auth-token", token)
		a.expect(t, 503, collab.Unavailable)
		if a.retryAfter == "" {
			t.Error("no Retry-After")
		}
		d.set(t, f, "TABLE_NAME", f.Environment.Variables["TABLE_NAME"])
		if a := d.send(t, "POST", getOrganizations, body, "x-service-api-key", key, "x-service-auth-token", token); a.status != 200 {
			t.Errorf("still %d %s", a.status, a.body)
		}
	})
}

func (d *deployment) functions(t *testing.T) (list []lambdatypes.FunctionConfiguration) {
	t.Helper()
	pages := lambda.NewListFunctionsPaginator(lambda.NewFromConfig(d.aws), &lambda.ListFunctionsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		must.Do(t, err)
		list = append(list, page.Functions...)
	}
	return list
}

// mappings returns deliver's event source mappings.
func (d *deployment) mappings(t *testing.T) []lambdatypes.EventSourceMappingConfiguration {
	t.Helper()
	list, err := lambda.NewFromConfig(d.aws).ListEventSourceMappings(t.Context(), &lambda.ListEventSourceMappingsInput{})
	must.Do(t, err)
	return list.EventSourceMappings
}

func (d *deployment) function(t *testing.T, description string) lambdatypes.FunctionConfiguration {
	t.Helper()
	list := d.functions(t)
	i := slices.IndexFunc(list, func(f lambdatypes.FunctionConfiguration) bool { return aws.ToString(f.Description) == description })
	if i < 0 {
		t.Fatalf("no function %q", description)
	}
	return list[i]
}

// set sets a variable of the function.
func (d *deployment) set(t *testing.T, f lambdatypes.FunctionConfiguration, name, value string) {
	t.Helper()
	variables := maps.Clone(f.Environment.Variables)
	variables[name] = value
	client := lambda.NewFromConfig(d.aws)
	_, err := client.UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{
		FunctionName: f.FunctionName, Environment: &lambdatypes.Environment{Variables: variables},
	})
	must.Do(t, err)
	updated := lambda.NewFunctionUpdatedV2Waiter(client, func(o *lambda.FunctionUpdatedV2WaiterOptions) { o.MinDelay = 100 * time.Millisecond })
	must.Do(t, updated.Wait(t.Context(), &lambda.GetFunctionInput{FunctionName: f.FunctionName}, patience))
}

// stopped checks that only writes are refused.
func (d *deployment) stopped(t *testing.T) {
	a := d.send(
		t, "POST", "/v2/commentannotations/add", `{"data": {"organizationId": "acme", "documentId": "plan", "commentAnnotations": [{}]}}`,
	)
	a.expect(t, 503, collab.Unavailable)
	if a.retryAfter != "60" {
		t.Errorf("Retry-After %q, want a minute", a.retryAfter)
	}
	if a := d.send(t, "POST", getOrganizations, `{"data": {}}`); a.status != 200 {
		t.Errorf("a read is answered %d %s", a.status, a.body)
	}
	queues := d.mappings(t)
	if len(queues) != 2 {
		t.Errorf("%d mappings of queues", len(queues))
	}
	for _, m := range queues {
		if state := aws.ToString(m.State); state != "Disabled" {
			t.Errorf("deliver takes messages of %s: it is %s", aws.ToString(m.EventSourceArn), state)
		}
	}
}

func (d *deployment) destroy(t *testing.T) {
	d.deploy(t, "destroy-local")
	if localstack.Answers(t.Context(), d.cloud+"/_localstack/health") {
		t.Error("LocalStack still runs")
	}
}
