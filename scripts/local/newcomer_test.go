//go:build e2e

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"collabdata/localstack"
)

// clone clones a repository into a folder with a space in its name, including uncommitted changes,
// to test the next commit. If the source is an archive, it first makes a repository of it. Clones
// share the tools.
func clone(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	source, fresh := root, filepath.Join(dir, "fresh clone")
	_, err := os.Stat(filepath.Join(root, ".git"))
	archive := os.IsNotExist(err)
	if archive {
		source = filepath.Join(dir, "archive.git")
		git(t, "init", "--quiet", "--bare", source)
		inside := []string{"--git-dir=" + source, "--work-tree=" + root, "-c", "user.name=test", "-c", "user.email=test@example.com"}
		git(t, append(inside, "add", "--all")...)
		git(t, append(inside, "commit", "--quiet", "--no-verify", "--message=archive")...)
	}
	git(t, "clone", "--quiet", source, fresh)
	if !archive {
		changed := git(t, "-C", root, "diff", "-z", "--name-only", "--no-renames", "HEAD")
		for name := range strings.SplitSeq(changed+git(t, "-C", root, "ls-files", "-z", "--others", "--exclude-standard"), "\x00") {
			if name != "" {
				overlay(t, filepath.Join(root, name), filepath.Join(fresh, name))
			}
		}
	}
	if err := os.Mkdir(filepath.Join(fresh, ".local"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, ".local", "tools"), filepath.Join(fresh, ".local", "tools")); err != nil {
		t.Fatal(err)
	}
	return fresh
}

// git runs git without the variables of a hook, and returns its output.
func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	var mistake bytes.Buffer
	cmd.Stderr = &mistake
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, &mistake)
	}
	return string(out)
}

// overlay copies a file, or removes it if the source does not exist.
func overlay(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		if err := os.Remove(to); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, info.Mode()); err != nil {
		t.Fatal(err)
	}
}

// newcomer has a fresh clone.
type newcomer struct {
	dir  string
	port string
}

// do runs a command in a folder of the clone, and returns its output.
func (n *newcomer) do(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = filepath.Join(n.dir, dir)
	cmd.Env = n.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func (n *newcomer) environment() []string {
	// -trimpath reuses builds of other folders.
	env := []string{"PORT=" + n.port, "COLLABDATA_URL=http://127.0.0.1:" + n.port, "GOFLAGS=-trimpath"}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") && !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "GOFLAGS=") &&
			!strings.HasPrefix(v, asProgram) {
			env = append(env, v)
		}
	}
	return env
}

// serve starts make run, and returns when the server is ready.
func (n *newcomer) serve(t *testing.T) {
	t.Helper()
	cmd := exec.Command("make", "run")
	cmd.Dir, cmd.Env = n.dir, n.environment()
	launch(t, cmd)
}

// blocks are the examples of a README. Those for other servers start with another command.
var (
	blocks    = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	elsewhere = regexp.MustCompile(`(?m)^(make|aws|git|npm|cd) `)
	calls     = regexp.MustCompile(`(?m)^curl `) // of a block, each with a response
)

// examples returns the README's examples as one script for a port.
func (n *newcomer) examples(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(n.dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	fmt.Fprintln(&script, "set -eu")
	for _, m := range blocks.FindAllStringSubmatch(string(readme), -1) {
		if !elsewhere.MatchString(m[1]) {
			fmt.Fprintln(&script, strings.ReplaceAll(m[1], "127.0.0.1:"+defaultPort, "127.0.0.1:"+n.port))
		}
	}
	if !calls.MatchString(script.String()) {
		t.Fatalf("the README has no example:\n%s", &script)
	}
	return script.String()
}

// finds waits until a page has a text.
func (n *newcomer) finds(t *testing.T, path, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		res, err := http.Get("http://127.0.0.1:" + n.port + path)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err == nil && bytes.Contains(page, []byte(text)) {
			return
		}
	}
	t.Errorf("%s never shows %q", path, text)
}

// TestNewcomer follows the README in a fresh clone. It starts the server, makes a release, and runs
// all examples of the README and of both clients in order. Other projects use the release by the
// clients' READMEs. All is done twice.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	local, err := localstack.Dir()
	if err != nil {
		t.Fatal(err)
	}
	n := &newcomer{dir: clone(t, filepath.Dir(local)), port: freePort(t)}
	n.serve(t)
	typescript := filepath.Join("shared", "client", "ts")
	n.do(t, "", "go", "build", "-o", filepath.Join(".local", "bin", "example"), "./shared/client/example")
	archive := n.release(t)
	npm := n.npmProject(t, archive("collabdata-client")+".tgz", archive("collabdata-elements")+".tgz")
	projects := []*outside{n.goModule(t, archive("collabdata")+".tar.gz"), npm, n.pythonEnvironment(t, archive("collabdata")+"-py3-none-any.whl")}
	for _, which := range []string{"first", "second"} {
		out := n.do(t, "", "sh", "-c", n.examples(t))
		for line := range strings.Lines(out) {
			if strings.Contains(line, `"error"`) || strings.Contains(line, `"success":false`) {
				t.Errorf("the %s time an example of the README answers %s", which, line)
			}
		}
		if got, want := strings.Count(out, `"result":{"status":"success"`), len(calls.FindAllString(n.examples(t), -1)); got != want {
			t.Errorf("the %s time %d of %d examples of the README succeed:\n%s", which, got, want, out)
		}
		if out := n.do(t, "", filepath.Join(n.dir, ".local", "bin", "example"), "-url", "http://127.0.0.1:"+n.port); !strings.HasSuffix(
			out, "120 threads\nverified comment_annotation.added\n",
		) {
			t.Errorf("the %s time the example in Go prints\n%s", which, out)
		}
		if out := n.do(t, typescript, "npm", "run", "--silent", "example"); !strings.HasSuffix(
			out, "120 threads\nverified comment_annotation.added\n",
		) {
			t.Errorf("the %s time the example in TypeScript prints\n%s", which, out)
		}
		for _, p := range projects {
			if out := p.do(t, p.run[0], p.run[1:]...); !strings.HasSuffix(out, p.want) {
				t.Errorf("the %s time %q outside prints\n%s", which, p.run[0], out)
			}
		}
	}
	n.tryServers(t, npm)
	n.tryExpress(t, npm)
	n.trySkill(t, npm)
	n.finds(t, "/mail", "The plan · ")
	seeded := n.do(t, "", "env", "-u", "PORT", "-u", "COLLABDATA_URL", "make", "seed")
	if !strings.Contains(seeded, "is ready") {
		t.Errorf("make seed prints\n%s", seeded)
	}
	running := exec.Command("make", "clean")
	running.Dir, running.Env = n.dir, n.environment()
	out, err := running.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("another server uses the data")) {
		t.Errorf("make clean, while the server runs: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(n.dir, ".local", "data", "env")); err != nil {
		t.Error(err)
	}
}
