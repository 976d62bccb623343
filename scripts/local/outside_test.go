//go:build e2e

package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/testing/tokentest"
)

// outside is a user's project outside the clone.
type outside struct {
	dir  string
	env  []string
	run  []string // the command that runs the README's example
	want string   // the end of its output
}

// do runs a command in the project, and returns its output.
func (o *outside) do(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = o.dir, o.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func (o *outside) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(o.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// block returns the first example in a language of a README.
func (n *newcomer) block(t *testing.T, readme, language string) string {
	t.Helper()
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$").FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s has no example in %s", readme, language)
	}
	return strings.ReplaceAll(string(m[1]), "127.0.0.1:"+defaultPort, "127.0.0.1:"+n.port)
}

// tryServers opens the page of the elements' README on each example server with an installed
// language, in a project with the client.
func (n *newcomer) tryServers(t *testing.T, o *outside) {
	t.Helper()
	readme := filepath.Join(n.dir, "shared", "client", "elements", "README.md")
	o.do(t, "mkdir", "public")
	o.do(t, "cp", "-R", "node_modules/collabdata-elements/dist", "public/assets")
	o.write(t, "public/index.html", n.block(t, readme, "html"))
	if got := o.do(t, "sh", "-ec", n.block(t, readme, "sh")); !strings.Contains(got, `"token":"`) {
		t.Errorf("the README's curl prints %s", got)
	}
	port := freePort(t)
	servers := filepath.Join(n.dir, "shared", "client", "example", "token")
	n.do(t, "", "go", "build", "-o", o.dir, "./shared/client/example/token")
	o.env = append(o.env, "COLLABDATA_KEY=dev-key", "COLLABDATA_TOKEN=dev-token", "PORT="+port)
	for _, command := range [][]string{
		{filepath.Join(o.dir, "token")},
		{"node", filepath.Join(servers, "token.mjs")},
		{"python3", filepath.Join(servers, "token.py")},
		{"php", "-S", "127.0.0.1:" + port, "-t", "public", filepath.Join(servers, "token.php")},
		{"ruby", filepath.Join(servers, "token.rb")},
	} {
		t.Run(filepath.Base(command[0]), func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Logf("nothing ran %s: %v", command[len(command)-1], err)
				return
			}
			browse(t, o.serve(t, port, nil, command), "outside.cjs", map[string]any{"service": "http://127.0.0.1:" + n.port})
		})
	}
}

// tryExpress sends the requests of pages to the action of the TypeScript client's README.
func (n *newcomer) tryExpress(t *testing.T, o *outside) {
	t.Helper()
	o.do(t, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "express@5.1.0", "express-session@1.18.2")
	o.write(t, "express.js", `import express from 'express';
import session from 'express-session';
import {Client} from 'collabdata-client';

const client = new Client({baseURL: process.env.COLLABDATA_URL, apiKey: 'dev-key', authToken: 'dev-token'});
const app = express().use(express.json(), session({secret: 'x', resave: false, saveUninitialized: false}));
app.get('/', (req, res) => {
  req.session.user = {id: 'ann', name: 'Ann', email: 'ann@example.com', company: 'acme'};
  res.send('Hello');
});
app.post('/sign-out', (req, res) => req.session.destroy(() => res.json({})));
`+n.block(t, filepath.Join(o.dir, "node_modules", "collabdata-client", "README.md"), "js")+`
app.listen(process.env.PORT, '127.0.0.1');
`)
	port := freePort(t)
	tokentest.Run(t, o.serve(t, port, nil, []string{"env", "PORT=" + port, "node", "express.js"}).url, "http://127.0.0.1:"+n.port, "http://127.0.0.1:3000")
}

// trySkill follows SKILL.md in a project with the clients: its page works in a browser, its thread
// is added, and its webhook arrives. Its server refuses pages as the examples do.
func (n *newcomer) trySkill(t *testing.T, o *outside) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.dir, "shared", "client", "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile("(?ms)^```[a-z]+ ([a-z.]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	if len(files) != 3 {
		t.Fatalf("SKILL.md has %d files", len(files))
	}
	for _, file := range files {
		o.write(t, file[1], strings.ReplaceAll(file[2], "127.0.0.1:"+defaultPort, "127.0.0.1:"+n.port))
	}
	port := freePort(t)
	o.env = append(o.env, "PORT="+port)
	printed := &lockedOutput{}
	product := o.serve(t, port, printed, []string{"node", "server.mjs"})
	browse(t, product, "outside.cjs", map[string]any{"service": "http://127.0.0.1:" + n.port})
	tokentest.Run(t, product.url, "http://127.0.0.1:"+n.port, "http://127.0.0.1:3000")
	id, ok := strings.CutPrefix(strings.TrimSpace(o.do(t, "node", "thread.mjs")), "added ")
	if !ok {
		t.Fatalf("thread.mjs prints %q", id)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(printed.String(), "comment_annotation.added "+id+"\n"); {
		if time.Now().After(deadline) {
			t.Fatalf("no webhook of thread %s arrived:\n%s", id, printed)
		}
	}
}

// lockedOutput collects the output of a running program.
type lockedOutput struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *lockedOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *lockedOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// serve starts a server of the project, and returns once it answers.
func (o *outside) serve(t *testing.T, port string, stdout io.Writer, command []string) *server {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = o.dir, o.env, stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // it was killed
	s := &server{url: "http://127.0.0.1:" + port}
	for deadline := time.Now().Add(30 * time.Second); ; {
		res, err := http.Get(s.url)
		if err == nil {
			res.Body.Close()
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// goModule returns a module that gets the client from a renamed fork of the sources. The fork's
// address leads to its folder.
func (n *newcomer) goModule(t *testing.T, sources string) *outside {
	t.Helper()
	fork := &outside{dir: t.TempDir(), env: append(n.environment(), identity...)}
	fork.do(t, "tar", "-xzf", sources, "--strip-components=1")
	fork.do(t, "sh", "-euc", n.block(t, filepath.Join(fork.dir, "shared", "client", "README.md"), "sh"))
	fork.do(t, "git", "init", "--quiet")
	fork.do(t, "git", "add", "--all")
	fork.do(t, "git", "commit", "--quiet", "--message=rename")

	app := &outside{dir: t.TempDir(), run: []string{"./app"}, want: "Is this final?\ntrue\n"}
	cache := strings.TrimSpace(fork.do(t, "go", "env", "GOMODCACHE"))
	app.env = append(n.environment(), "GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw -trimpath", "GOSUMDB=off", "GOPRIVATE=github.com/you",
		"GOPROXY=file://"+filepath.Join(cache, "cache", "download"), // avoids downloads
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+fork.dir+".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/you/collabdata")
	app.do(t, "go", "mod", "init", "example.com/app")
	app.do(t, "go", "get", "github.com/you/collabdata/shared/client")
	app.write(t, "main.go", n.block(t, filepath.Join(fork.dir, "shared", "client", "README.md"), "go"))
	app.do(t, "go", "build", "-o", "app", ".")
	if graph := app.do(t, "go", "list", "-deps", "."); strings.Contains(graph, "aws") {
		t.Errorf("the client brings an SDK of AWS:\n%s", graph)
	}
	return app
}

// npmProject is a project with the packages of the clients.
func (n *newcomer) npmProject(t *testing.T, packages ...string) *outside {
	t.Helper()
	app := &outside{dir: t.TempDir(), env: n.environment(), run: []string{"npx", "tsx", "main.ts"}, want: "Is this final?\nNOT_FOUND\n"}
	app.do(t, "npm", "init", "--yes")
	app.do(t, "npm", "pkg", "set", "type=module")
	app.do(t, "npm", append([]string{
		"install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "typescript@7.0.2", "tsx@4.21.0", "@types/node@20.19.43",
	}, packages...)...)
	readme := filepath.Join(app.dir, "node_modules", "collabdata-client", "README.md")
	app.write(t, "main.ts", n.block(t, readme, "ts"))
	_, check, _ := strings.Cut(n.block(t, readme, "sh"), "npx tsc ")
	check, _, _ = strings.Cut(check, "\n")
	app.do(t, "npx", append([]string{"tsc"}, strings.Fields(check)...)...)
	return app
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// inPython adds a thread, reads it and makes a mistake, after the README's example.
const inPython = `
from collabdata import connect
from collabdata.api.commentannotations import (
    comment_annotations_add, comment_annotations_get, comment_annotations_get_comments)
from collabdata.models import *

client = connect(sys.argv[1], "dev-key", "dev-token", timeout=30)
thread = NewAnnotation(status=Status(id="OPEN"), comment_data=[AnnotationComment(comment_text="Is this final?", from_=UserInput(user_id="ann", name="Ann"))])
added = comment_annotations_add.sync(client=client, body=CommentAnnotationsAddBody(data=CommentAnnotationsAddRequest(
    organization_id="acme", create_organization=True, document_id="python", create_document=True, comment_annotations=[thread])))
for item in added.result.data.additional_properties.values():
    print(item.success)
got = comment_annotations_get.sync(client=client, body=CommentAnnotationsGetBody(data=CommentAnnotationsGetRequest(
    organization_id="acme", document_id="python")))
for thread in got.result.data:
    print(thread.comments[0].comment_text, thread.comments[0].from_.name, thread.status.type_.value, thread.created_at.year > 2000)
refused = comment_annotations_get_comments.sync(client=client, body=CommentAnnotationsGetCommentsBody(
    data=CommentAnnotationsGetCommentsRequest(organization_id="acme", document_id="python", annotation_id="unknown")))
print(refused.error.status.value)
`

// inPythonRetried prints the attempts and the number of keys of requests that are refused at first.
const inPythonRetried = `
import asyncio, json, threading
from http.server import BaseHTTPRequestHandler, HTTPServer

class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["x-service-auth-token"] == "dev-token"
        seen.append(self.headers["Idempotency-Key"])
        status, code = answers[min(len(seen), len(answers)) - 1]
        body = {"error": {"code": status, "status": code, "message": "refused"}} if code else {"result": {"status": "success", "message": "added", "data": {}}}
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
busy = connect("http://127.0.0.1:%d" % server.server_port, "dev-key", "dev-token")
add = dict(client=busy, body=CommentAnnotationsAddBody(data=CommentAnnotationsAddRequest(
    organization_id="acme", document_id="python", comment_annotations=[thread])))
get = dict(client=busy, body=CommentAnnotationsGetBody(data=CommentAnnotationsGetRequest(organization_id="acme")))
for answers, call in [
    ([(503, "UNAVAILABLE"), (429, "RESOURCE_EXHAUSTED"), (200, "")], lambda: comment_annotations_add.sync(**add)),
    ([(503, "UNAVAILABLE"), (200, "")], lambda: asyncio.run(comment_annotations_add.asyncio(**add))),
    ([(409, "ABORTED"), (200, "")], lambda: comment_annotations_add.sync(**add, idempotency_key="mine")),
    ([(409, "ALREADY_EXISTS")], lambda: comment_annotations_add.sync(**add)),
    ([(503, "UNAVAILABLE"), (200, "")], lambda: comment_annotations_add.sync(**add | {"client": busy.with_headers({"X-Trace": "1"})})),
    ([(500, "INTERNAL")], lambda: comment_annotations_get.sync(**get)),
]:
    seen = []
    answer = call()
    print(len(seen), len(set(seen)), "mine" in seen, None in seen, hasattr(answer, "error"))
server.server_close()
`

// inPythonReceived prints the verified webhook of a thread, and the answer to a changed one.
const inPythonReceived = `
import queue
from collabdata import WebhookVerificationError, verify_webhook
from collabdata.api.webhooks import webhooks_add, webhooks_delete

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        event = verify_webhook(hook.secret, self.headers, body)
        try:
            verify_webhook(hook.secret, self.headers, body + b" ")
        except WebhookVerificationError as e:
            events.put((event["type"], event["id"] == self.headers["webhook-id"], str(e)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass

events = queue.Queue()
receiver = HTTPServer(("127.0.0.1", 0), Receiver)
added = webhooks_add.sync(client=client, body=WebhooksAddBody(data=WebhooksAddRequest(
    url="http://127.0.0.1:%d/" % receiver.server_port, event_types=[EventType.COMMENT_ANNOTATION_ADDED])))
hook = added.result.data
threading.Thread(target=receiver.serve_forever, daemon=True).start()
comment_annotations_add.sync(client=client, body=CommentAnnotationsAddBody(data=CommentAnnotationsAddRequest(
    organization_id="acme", document_id="python", comment_annotations=[NewAnnotation(comment_data=[AnnotationComment(comment_text="x", from_=UserInput(user_id="ann"), trigger_notification=True)])])))
print(*events.get(timeout=60))
for bad in ({}, {"webhook-id": "a", "webhook-timestamp": "1", "webhook-signature": "x"}):
    try:
        verify_webhook(hook.secret, bad, "{}")
    except WebhookVerificationError:
        print("refused")
webhooks_delete.sync(client=client, body=WebhooksDeleteBody(data=WebhooksDeleteRequest(webhook_id=hook.webhook_id)))
receiver.server_close()
`

// pythonEnvironment returns an environment with the wheel of the Python client.
func (n *newcomer) pythonEnvironment(t *testing.T, wheel string) *outside {
	t.Helper()
	python, err := localstack.CheckTool(t.Context(), "python", os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	app := &outside{dir: t.TempDir(), env: n.environment(), want: "Is this final? Ann default True\nNOT_FOUND\n" +
		"3 1 False False False\n2 1 False False False\n2 1 True False False\n1 1 False False True\n2 1 False False False\n5 1 False True True\n" +
		"comment_annotation.added True No matching signature found\nrefused\nrefused\n"}
	app.do(t, python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", "packages", wheel)
	app.env = append(app.env, "PYTHONPATH="+filepath.Join(app.dir, "packages"))
	example := "import sys\nURL = sys.argv[1]\n" + n.block(t, filepath.Join(n.dir, "README.md"), "python")
	app.write(t, "example.py", example)
	app.do(t, "env", "MYPYPATH=packages", python, "-m", "mypy", "--strict", "--no-warn-redundant-casts", "example.py")
	program := example + inPython + inPythonRetried + inPythonReceived
	app.run = []string{python, "-c", program, "http://127.0.0.1:" + n.port}
	return app
}
