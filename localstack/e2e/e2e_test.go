//go:build e2e

// Package e2e deploys the CDK app to the local cloud, with IAM enforced, and holds the whole service to its interface: API Gateway, the
// compiled functions, the table and the queues.
package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"collabdata/infra/stack"
	"collabdata/localstack"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/app/operator"
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
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	apigatewaytypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

const stackName = "collabdata-local"

// dear are the settings of a stage local with all that it can have: by default it has nothing that is in paid plans of LocalStack alone.
var dear = []string{"-c", "firewall=on", "-c", "live=on", "-c", "mailFrom=no-reply@example.com"}

func TestDeployment(t *testing.T) {
	guard := newGuard(t, func(call string) { t.Errorf("a function's role does not allow %s", call) })
	cloud, err := localstack.StartMiniStack(t.Context(), localstack.MiniStackOptions{
		EnforceIAM: true, Env: []string{"AWS_ENDPOINT_URL_DYNAMODB=" + guard.URL}, Log: os.Stderr, // functions inherit the variable
	})
	must.Do(t, err)
	t.Cleanup(func() {
		if err := cloud.Stop(); err != nil {
			t.Error(err)
		}
	})
	d := newDeployment(t, cloud.URL)
	d.failFirst(t)
	d.deploy(t, "local", append([]string{"--built"}, dear...)...)
	d.connect(t)
	guard.protect(t, d.aws, d.cloud, d.functions(t))
	d.addAccount(t)

	t.Run("gateway errors", d.gatewayErrors)
	t.Run("rights", func(t *testing.T) { d.rights(t, guard) })
	t.Run("live", d.live)
	r := d.subscribe(t)
	t.Run("a rebuild during delivery", func(t *testing.T) {
		t.Run("delivery", func(t *testing.T) {
			t.Parallel()
			d.delivery(t, r)
		})
		t.Run("an unchanged rebuild changes nothing", func(t *testing.T) {
			t.Parallel()
			d.deploy(t, "diff", dear...)
		})
	})
	t.Run("scripts during relay", func(t *testing.T) {
		t.Run("an event whose message was lost is delivered", func(t *testing.T) {
			d.loseMessage(t)
			t.Parallel() // until its schedule starts relay
			r.take(t, "lost")
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
				Operator: operator.New(operator.Config{
					App: app.Config{
						DynamoDB: d.aws, SQS: d.aws, Table: d.outputs["TableName"], EventsURL: d.outputs["EventsQueueUrl"],
						Log: slog.New(slog.DiscardHandler),
					},
					CheckURL: webhook.NewGuard(nil).CheckURL,
				}),
			})
		})
	})
	if guard.seen() == 0 {
		t.Error("the functions do not reach the table through the guard")
	}
	t.Run("writes stopped", d.stopWrites)
	t.Run("destroy", d.destroy)
}

// deployment is the service on the local cloud.
type deployment struct {
	programs  string // folder of scripts/deploy and scripts/admin, built
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

func newDeployment(t *testing.T, cloud string) *deployment {
	t.Helper()
	d := &deployment{programs: t.TempDir(), cloud: cloud}
	cmd := exec.Command("go", "build", "-o", d.programs+string(filepath.Separator), "collabdata/scripts/deploy", "collabdata/scripts/admin")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d.aws = localstacktest.Config(cloud)
	return d
}

// deploy runs a command of scripts/deploy against the cloud, which succeeds.
func (d *deployment) deploy(t *testing.T, command string, args ...string) {
	t.Helper()
	must.Do(t, d.try(t, append([]string{command}, args...)...))
}

func (d *deployment) try(t *testing.T, args ...string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(d.programs, "deploy"), args...)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+d.cloud)
	out, err := cmd.CombinedOutput()
	t.Logf("deploy %q:\n%s", args, out)
	return err
}

// failFirst deploys with a tag that IAM refuses, as it differs from one of the stack's own by case alone. What is left is as protected as
// any stack, and the next deployment has to get rid of it.
func (d *deployment) failFirst(t *testing.T) {
	if err := d.try(t, "local", "--tags", "Service=other"); err == nil {
		t.Fatal("roles are made with two tags of one name")
	}
	if left, err := stack.Unfinished(t.Context(), d.aws, stackName); !left || err != nil {
		t.Errorf("the first deployment failed and left nothing to be removed: %v, %v", left, err)
	}
}

// admin runs a command of scripts/admin on the deployment, and returns its result.
func (d *deployment) admin(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(d.programs, "admin"), append([]string{"--stack", stackName}, args...)...)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+d.cloud, "AWS_REGION="+localstack.Region,
		"AWS_ACCESS_KEY_ID="+localstack.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+localstack.SecretAccessKey)
	out, err := cmd.Output()
	if refused, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("admin %q: %s", args, refused.Stderr)
	}
	must.Do(t, err)
	return string(out)
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

// addAccount makes an account as the operator does, one whose mails wait for no others.
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
	d.admin(t, "settings", "update", "e2e", "--mail-grouping-off", "true")
}

func (d *deployment) addToken(t *testing.T, key, token string) {
	t.Helper()
	tokens := []collab.Token{{Hash: collab.HashToken(token), CreatedAt: time.Now().UnixMilli()}}
	must.Do(t, d.accounts.AddAPIKey(t.Context(), key, "e2e", tokens))
}

// answer is what the API says to a request.
type answer struct {
	status     int
	code       string // error.status
	message    string // error.message
	retryAfter string
	body       string
}

// send sends a request with the account's credentials, and further headers as name and value, "" for none.
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

// expect reports an answer that is not the failure wanted, in the envelope and with a text.
func (a answer) expect(t *testing.T, status int, code collab.Code) {
	t.Helper()
	if a.status != status || a.code != string(code) || a.message == "" {
		t.Errorf("%d %.300s, want %d %s", a.status, a.body, status, code)
	}
}

const getOrganizations = "/v2/organizations/get"

// gatewayErrors holds that what the gateway answers itself is in the service's envelope.
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
		d.send(t, "POST", getOrganizations, body((rpc.MaxBody-frame)/4)).expect(t, 400, collab.InvalidArgument) // an id is not as long
		d.send(t, "POST", getOrganizations, body((rpc.MaxBody-frame)/4+1)).expect(t, 413, collab.InvalidArgument)
	})
	t.Run("throttled", func(t *testing.T) {
		d.throttle(t, 0)
		a := d.send(t, "POST", getOrganizations, body)
		a.expect(t, 429, collab.ResourceExhausted)
		if a.retryAfter == "" {
			t.Error("no Retry-After")
		}
		d.throttle(t, 1000)
		if a := d.send(t, "POST", getOrganizations, body); a.status != 200 {
			t.Errorf("still %d %s", a.status, a.body)
		}
	})
	t.Run("credentials cannot be read", func(t *testing.T) {
		key, token := rand.Text(), rand.Text() // no verdict on these is remembered
		d.addToken(t, key, token)
		f := d.function(t, "POST "+getOrganizations)
		d.setTable(t, f, "no-such-table")
		a := d.send(t, "POST", getOrganizations, body, "x-service-api-key", key, "x-service-auth-token", token)
		a.expect(t, 503, collab.Unavailable)
		if a.retryAfter == "" {
			t.Error("no Retry-After")
		}
		d.setTable(t, f, f.Environment.Variables["TABLE_NAME"])
		if a := d.send(t, "POST", getOrganizations, body, "x-service-api-key", key, "x-service-auth-token", token); a.status != 200 {
			t.Errorf("still %d %s", a.status, a.body)
		}
	})
}

// throttle sets the rate of the stage's operation organizations get, in requests per second.
func (d *deployment) throttle(t *testing.T, rate int) {
	t.Helper()
	const setting = "/~1v2~1organizations~1get/POST/throttling/"
	var patch []apigatewaytypes.PatchOperation
	for _, name := range []string{"rateLimit", "burstLimit"} {
		patch = append(patch, apigatewaytypes.PatchOperation{
			Op: apigatewaytypes.OpReplace, Path: aws.String(setting + name), Value: aws.String(fmt.Sprint(rate)),
		})
	}
	_, err := apigateway.NewFromConfig(d.aws).UpdateStage(t.Context(), &apigateway.UpdateStageInput{
		RestApiId: &d.api, StageName: aws.String("local"), PatchOperations: patch,
	})
	must.Do(t, err)
}

// functions returns all of the deployment.
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

// mappings returns what deliver takes messages by.
func (d *deployment) mappings(t *testing.T) []lambdatypes.EventSourceMappingConfiguration {
	t.Helper()
	list, err := lambda.NewFromConfig(d.aws).ListEventSourceMappings(t.Context(), &lambda.ListEventSourceMappingsInput{})
	must.Do(t, err)
	return list.EventSourceMappings
}

// function returns the function with the description.
func (d *deployment) function(t *testing.T, description string) lambdatypes.FunctionConfiguration {
	t.Helper()
	list := d.functions(t)
	i := slices.IndexFunc(list, func(f lambdatypes.FunctionConfiguration) bool { return aws.ToString(f.Description) == description })
	if i < 0 {
		t.Fatalf("no function %q", description)
	}
	return list[i]
}

// setTable makes the function use another table.
func (d *deployment) setTable(t *testing.T, f lambdatypes.FunctionConfiguration, table string) {
	t.Helper()
	variables := maps.Clone(f.Environment.Variables)
	variables["TABLE_NAME"] = table
	_, err := lambda.NewFromConfig(d.aws).UpdateFunctionConfiguration(t.Context(), &lambda.UpdateFunctionConfigurationInput{
		FunctionName: f.FunctionName, Environment: &lambdatypes.Environment{Variables: variables},
	})
	must.Do(t, err)
}

// setProgram gives the function the program of another one, named by its folder below functions/.
func (d *deployment) setProgram(t *testing.T, f lambdatypes.FunctionConfiguration, folder string) {
	t.Helper()
	local, err := localstack.Dir()
	must.Do(t, err)
	arch := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	program, err := os.ReadFile(filepath.Join(local, "functions", arch, filepath.FromSlash(folder), "bootstrap"))
	must.Do(t, err)
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Store}
	header.SetMode(0o755)
	file, err := w.CreateHeader(header)
	if err == nil {
		_, err = file.Write(program)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = lambda.NewFromConfig(d.aws).UpdateFunctionCode(t.Context(), &lambda.UpdateFunctionCodeInput{
		FunctionName: f.FunctionName, ZipFile: archive.Bytes(),
	})
	must.Do(t, err)
}

// rights holds that a function which is given another's work is refused by IAM: the get function with the program of add may read,
// and neither write the table nor send events; with that of webhooks get, it may not read the signing secrets.
func (d *deployment) rights(t *testing.T, guard *guard) {
	const get, add = "v2/organizations/get", "v2/commentannotations/add"
	f := d.function(t, "POST /"+get)
	work := `{"data": {"organizationId": "rights", "createOrganization": true, "documentId": "d", "createDocument": true,
		"commentAnnotations": [{"annotationId": "a", "commentData": [{"commentText": "Hello", "from": {"userId": "ann"}}]}]}}`

	d.setProgram(t, f, add)
	d.send(t, "POST", "/"+get, work).expect(t, 500, collab.Internal)
	if made, err := d.directory.Organizations(t.Context(), "e2e", []string{"rights"}); err != nil || len(made) > 0 {
		t.Errorf("organizations %v, error %v; want none", made, err)
	}

	d.setProgram(t, f, "v2/webhooks/get")
	refused := guard.refusals(func() { d.send(t, "POST", "/"+get, `{"data": {}}`).expect(t, 500, collab.Internal) })
	if want := []string{`Query: dynamodb:Query on ["HOOK#e2e"]`}; !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}

	d.setProgram(t, f, get)
	if a := d.send(t, "POST", "/"+get, `{"data": {}}`); a.status != 200 {
		t.Errorf("with its own program: %d %s", a.status, a.body)
	}
	if a := d.send(t, "POST", "/"+add, work); a.status != 200 {
		t.Errorf("add itself: %d %s", a.status, a.body)
	}
}

// plainCDK deploys as README says, with the CDK's own command in the folder of the app.
func (d *deployment) plainCDK(t *testing.T, settings ...string) {
	t.Helper()
	cdk, err := localstack.CDK(t.Context(), os.Stderr)
	must.Do(t, err)
	local, err := localstack.Dir()
	must.Do(t, err)
	cmd := exec.CommandContext(t.Context(), cdk, append([]string{"deploy", "--require-approval", "never"}, settings...)...)
	cmd.Dir = filepath.Join(filepath.Dir(local), "infra")
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+d.cloud, "AWS_REGION="+localstack.Region,
		"AWS_ACCESS_KEY_ID="+localstack.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+localstack.SecretAccessKey)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// stopWrites deploys again with a setting alone changed, so that what writes is refused and what reads is not.
func (d *deployment) stopWrites(t *testing.T) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	d.plainCDK(t, append([]string{"-c", "stage=local", "-c", "arch=" + arch, "-c", "writes=off"}, dear...)...)
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
	queues := slices.DeleteFunc(d.mappings(t), func(m lambdatypes.EventSourceMappingConfiguration) bool { // the third is the table's stream
		return !strings.Contains(aws.ToString(m.EventSourceArn), ":sqs:")
	})
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
	if _, err := stack.Outputs(context.Background(), d.aws, stackName); !errors.Is(err, stack.ErrNone) {
		t.Errorf("the stack is there: %v", err)
	}
	if left := d.functions(t); len(left) > 0 {
		t.Errorf("functions are left: %v", left)
	}
	if _, err := d.accounts.Account(t.Context(), "e2e"); err == nil {
		t.Error("the table is left")
	}
}
