package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"collabdata/shared/client"
	"collabdata/shared/testing/localstacktest"
)

// asProgram is the variable that makes the test binary run the program.
const asProgram = "RUN_AS_LOCAL"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// command prepares a run of the program, with its own stand-ins unless variables name others.
func command(t testing.TB, data string, variables ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-data", data)
	for _, v := range variables {
		if args, ok := strings.CutPrefix(v, "ARGS="); ok {
			cmd.Args = append(cmd.Args, args)
		}
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, asProgram+"=1", "PORT=0"), variables...)
	return cmd
}

type server struct {
	*exec.Cmd
	url  string
	curl string // the printed command
}

var welcomed = regexp.MustCompile(`(?s)Serving on (http://127\.0\.0\.1:[0-9]+)\. .*, or try:\n\n(.*)\n\nDemo`)

// output collects a program's output, and passes on the welcome.
type output struct {
	text    bytes.Buffer
	welcome chan []string
}

func (o *output) Write(p []byte) (int, error) {
	before := welcomed.Match(o.text.Bytes())
	o.text.Write(p)
	if m := welcomed.FindStringSubmatch(o.text.String()); m != nil && !before {
		o.welcome <- m
	}
	return len(p), nil
}

// start starts the program and returns when it is ready. The test stops it.
func start(t *testing.T, data string, variables ...string) *server {
	t.Helper()
	return launch(t, command(t, data, variables...))
}

// launch starts the program, or a command such as make that runs it and forwards signals.
func launch(t testing.TB, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{Cmd: cmd}
	out := &output{welcome: make(chan []string, 1)}
	s.Stdout, s.Stderr = out, out
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	t.Cleanup(func() {
		s.Process.Signal(syscall.SIGTERM)
		if err := <-ended; s.ProcessState.ExitCode() > 0 { // make ends by the signal
			t.Errorf("stopped with %v:\n%s", err, &out.text)
		}
		if !strings.Contains(out.text.String(), "Stopping ...\n") {
			t.Errorf("printed at its end:\n%s", &out.text)
		}
	})
	select {
	case m := <-out.welcome:
		s.url, s.curl = m[1], m[2]
	case err := <-ended:
		ended <- err
		t.Fatalf("did not start: %v\n%s", err, &out.text)
	}
	return s
}

// fails runs the program, which must fail with the sentence.
func fails(t *testing.T, want, data string, variables ...string) {
	t.Helper()
	out, err := command(t, data, variables...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), want) {
		t.Errorf("ended with %v and\n%s\nwant %s", err, out, want)
	}
}

// post calls an operation with the credentials of an account.
func (s *server) post(t *testing.T, key, token, path, data string) string {
	t.Helper()
	c := client.New(client.Config{BaseURL: s.url, APIKey: key, AuthToken: token})
	answer, err := c.Send(t.Context(), http.MethodPost, path, nil, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return string(answer.Body)
}

// TestRun checks that the printed command works, that everything stops at SIGTERM, and that the
// data persists.
func TestRun(t *testing.T) {
	data := t.TempDir()
	const get, annotation = "/v2/commentannotations/get", `"commentText":"Hello"`
	t.Run("first", func(t *testing.T) {
		s := start(t, data)
		out, err := exec.Command("sh", "-c", s.curl).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), `{"result":{"status":"success"`) {
			t.Errorf("%s\nprinted %s, %v", s.curl, out, err)
		}
		if got := s.post(t, "dev-key", "dev-token", get, `{"data": {"organizationId": "acme"}}`); !strings.Contains(got, annotation) {
			t.Errorf("the annotation is not in %s", got)
		}
		if got := s.post(t, "dev-key-2", "dev-token-2", get, `{"data": {"organizationId": "acme"}}`); !strings.Contains(got, `"NOT_FOUND"`) {
			t.Errorf("the second account got %s", got)
		}
		const notify = `{"data": {"organizationId": "acme", "documentId": "plan", "notificationId": "lunch", "actionUser": {"userId": "ann"},
			"displayHeadlineMessageTemplate": "Lunch", "notifyAll": false, "notifyUsers": [{"userId": "bob", "email": "bob@example.com"}]}}`
		if got := s.post(t, "dev-key", "dev-token", "/v2/notifications/add", notify); !strings.Contains(got, `"success":true`) {
			t.Errorf("a notification gave %s", got)
		}
		inbox, deadline := "", time.Now().Add(30*time.Second)
		for !strings.Contains(inbox, `"lunch"`) && time.Now().Before(deadline) {
			inbox = s.post(t, "dev-key", "dev-token", "/v2/notifications/get", `{"data": {"organizationId": "acme", "userId": "bob"}}`)
		}
		if !strings.Contains(inbox, `"lunch"`) {
			t.Errorf("the notification is not in the inbox: %s", inbox)
		}
		s.live(t)
		for !s.showsMail(t, "Lunch") {
			if time.Now().After(deadline) {
				t.Fatal("no mail was sent")
			}
		}
		if six, err := net.Listen("tcp6", "[::1]:0"); err == nil {
			six.Close()
			on6 := &server{url: strings.Replace(s.url, "127.0.0.1", "[::1]", 1)}
			if got := on6.post(t, "dev-key", "dev-token", get, `{"data": {"organizationId": "acme"}}`); !strings.Contains(got, annotation) {
				t.Errorf("on [::1] the answer is %s", got)
			}
		}
		fails(t, "another server uses the data in "+data, data)
		fails(t, "another server uses the data in "+data, data, "ARGS=-unused")
	})
	port, err := os.ReadFile(filepath.Join(data, "ministack", "port"))
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", "127.0.0.1:"+string(port)); err == nil {
		conn.Close()
		t.Error("MiniStack runs on")
	}
	t.Run("again", func(t *testing.T) {
		s := start(t, data)
		s.live(t)
		s.slack(t)
		if got := s.post(t, "dev-key", "dev-token", get, `{"data": {"organizationId": "acme"}}`); !strings.Contains(got, annotation) {
			t.Errorf("the annotation is not in %s", got)
		}
	})
}

// showsMail reports whether the list of emails has one with these words.
func (s *server) showsMail(t *testing.T, words string) bool {
	t.Helper()
	page, err := http.Get(s.url + "/mail?q=" + words)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	text, err := io.ReadAll(page.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), `href="/mail/`)
}

// TestExamplesWork sends each request of the collection for Postman to a new server. There is one
// for each example of the reference.
func TestExamplesWork(t *testing.T) {
	s := start(t, t.TempDir())
	read := func(path string, into any) {
		t.Helper()
		res, err := http.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	type pair struct{ Key, Value string }
	var collection struct {
		Variable []pair
		Item     []struct {
			Item []struct {
				Request struct {
					Method, URL string
					Header      []pair
					Body        struct{ Raw string }
				}
			}
		}
	}
	read("/postman.json", &collection)
	values := []string{"{{baseUrl}}", s.url}
	for _, v := range collection.Variable {
		values = append(values, "{{"+v.Key+"}}", v.Value)
	}
	fill := strings.NewReplacer(values...)
	sent := 0
	for _, folder := range collection.Item {
		for _, item := range folder.Item {
			sent++
			r, err := http.NewRequestWithContext(t.Context(), item.Request.Method, fill.Replace(item.Request.URL), strings.NewReader(item.Request.Body.Raw))
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range item.Request.Header {
				r.Header.Set(h.Key, fill.Replace(h.Value))
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || !strings.HasPrefix(string(got), `{"result":{"status":"success"`) {
				t.Errorf("%s: %s gave %s, %v", item.Request.URL, item.Request.Body.Raw, got, err)
			}
		}
	}
	var document struct {
		Paths map[string]struct {
			Post struct {
				RequestBody struct {
					Content map[string]struct{ Examples map[string]any }
				}
			}
		}
	}
	read("/openapi.json", &document)
	examples := 0
	for _, path := range document.Paths {
		examples += len(path.Post.RequestBody.Content["application/json"].Examples)
	}
	if sent != examples || sent < len(document.Paths)-1 {
		t.Errorf("%d requests, %d examples of %d operations", sent, examples, len(document.Paths))
	}
}

// TestNamed checks that the server uses a stand-in named in the environment and starts no other.
func TestNamed(t *testing.T) {
	data := t.TempDir()
	dynamoDB, miniStack := localstacktest.DynamoDB(t), localstacktest.MiniStack(t)
	s := start(t, data, "AWS_ENDPOINT_URL="+miniStack, "AWS_ENDPOINT_URL_DYNAMODB="+dynamoDB)
	if got := s.post(t, "dev-key", "dev-token", "/v2/organizations/get", `{"data": {}}`); !strings.Contains(got, `"success"`) {
		t.Errorf("got %s", got)
	}
	page, err := http.Get(s.url + "/mail")
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if page.StatusCode != http.StatusOK {
		t.Errorf("the emails of an external email service: %s", page.Status)
	}
	entries, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	const sourced = `. "$0" && echo "$AWS_REGION $AWS_DEFAULT_REGION $TABLE_NAME"`
	if out, err := exec.Command("sh", "-c", sourced, filepath.Join(data, "env")).CombinedOutput(); err != nil ||
		string(out) != "us-east-1 us-east-1 collabdata\n" {
		t.Errorf("the file of the environment says %s, %v", out, err)
	}
	if len(entries) != 2 || entries[0].Name() != "env" || entries[1].Name() != "lock" {
		t.Errorf("the folder of the data has %v", entries)
	}
}

// TestHeaders checks that the environment sets the headers of credentials, in pages and the
// reference too.
func TestHeaders(t *testing.T) {
	fails(t, `"host" must be`, t.TempDir(), "API_KEY_HEADER=host")
	s := start(t, t.TempDir(), "API_KEY_HEADER=x-other-key", "AUTH_TOKEN_HEADER=x-other-token")
	c := client.New(client.Config{
		BaseURL: s.url, APIKey: "dev-key", AuthToken: "dev-token", APIKeyHeader: "x-other-key", AuthTokenHeader: "x-other-token",
	})
	if _, err := c.Organizations.GetPage(t.Context(), &client.OrganizationsGetRequest{}); err != nil {
		t.Error(err)
	}
	if got := s.post(t, "dev-key", "dev-token", "/v2/organizations/get", `{"data": {}}`); !strings.Contains(got, "the headers x-other-key and x-other-token are required") {
		t.Errorf("under the usual names: %s", got)
	}
	for _, path := range []string{"/", "/openapi.json"} {
		page, err := http.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(page.Body)
		page.Body.Close()
		if err != nil || !strings.Contains(string(text), "x-other-key") || strings.Contains(string(text), "x-service-") {
			t.Errorf("%s names other headers: %v", path, err)
		}
	}
}

func TestMends(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, taken, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fails(t, "port "+taken+" is in use: stop the program that uses it, or choose another port, as in PORT=8081 make run", t.TempDir(), "PORT="+taken)
	if out, err := command(t, t.TempDir(), "ARGS=-unused").CombinedOutput(); err != nil {
		t.Errorf("data that nobody uses: %v %s", err, out)
	}
	fails(t, `-log is "long": use short, logfmt or json`, t.TempDir(), "ARGS=-log=long")
	fails(t, `PORT is "http", which is no port: use a number from 1 to 65535`, t.TempDir(), "PORT=http")

	l.Close()
	url := "http://127.0.0.1:" + taken
	fails(t, "nothing answers at "+url+", which AWS_ENDPOINT_URL names: start it, or unset the variable", t.TempDir(), "AWS_ENDPOINT_URL="+url)
	fails(t, `AWS_ENDPOINT_URL is "here", which is no URL`, t.TempDir(), "AWS_ENDPOINT_URL=here")
}
