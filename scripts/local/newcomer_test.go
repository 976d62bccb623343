package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"collabdata/localstack"
)

// checkout copies what a commit of everything here would hold into a folder whose name has a space. The tools are shared.
func checkout(t *testing.T, repository string) string {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "-C", repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("the files of the repository are listed by git: %v", err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh clone")
	for _, name := range strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		from, to := filepath.Join(repository, name), filepath.Join(fresh, name)
		info, err := os.Stat(from)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
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
	if err := os.Mkdir(filepath.Join(fresh, ".local"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(repository, ".local", "tools"), filepath.Join(fresh, ".local", "tools")); err != nil {
		t.Fatal(err)
	}
	return fresh
}

// newcomer is someone with a fresh checkout.
type newcomer struct {
	dir  string
	port string
}

// do runs a command in a folder of the checkout, and returns what it printed.
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
	// With -trimpath what was compiled in another checkout is compiled here.
	env := []string{"PORT=" + n.port, "COLLABDATA_URL=http://127.0.0.1:" + n.port, "GOFLAGS=-trimpath"}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "AWS_") && !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "GOFLAGS=") && !strings.HasPrefix(v, asProgram) {
			env = append(env, v)
		}
	}
	return env
}

// serve starts make run, and returns once it serves.
func (n *newcomer) serve(t *testing.T) {
	t.Helper()
	cmd := exec.Command("make", "run")
	cmd.Dir, cmd.Env = n.dir, n.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := &output{welcome: make(chan []string, 1)}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		<-ended
	})
	select {
	case <-out.welcome:
	case err := <-ended:
		ended <- err
		t.Fatalf("make run ended with %v:\n%s", err, &out.text)
	}
}

// blocks are the examples of a README. Those that a local server does not serve begin with another command.
var (
	blocks    = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	elsewhere = regexp.MustCompile(`(?m)^(make|aws|git|npm|cd) `)
)

// examples returns the README's examples as one script, for a port.
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
			fmt.Fprintln(&script, strings.ReplaceAll(m[1], "127.0.0.1:8080", "127.0.0.1:"+n.port))
		}
	}
	if strings.Count(script.String(), "/v2/") < 5 {
		t.Fatalf("the README has hardly an example:\n%s", &script)
	}
	return script.String()
}

// TestNewcomer does what the README says, in a fresh checkout: it starts the server, and runs every example of the README and of both
// clients, in order, twice.
func TestNewcomer(t *testing.T) {
	t.Parallel()
	local, err := localstack.Dir()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	n := &newcomer{dir: checkout(t, filepath.Dir(local)), port: port}
	n.serve(t)
	typescript := filepath.Join("scripts", "client-ts")
	n.do(t, typescript, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	n.do(t, "", "go", "build", "-o", filepath.Join(".local", "bin", "example"), "./shared/client/example")
	for _, which := range []string{"first", "second"} {
		out := n.do(t, "", "sh", "-c", n.examples(t))
		for line := range strings.Lines(out) {
			if strings.Contains(line, `"error"`) || strings.Contains(line, `"success":false`) {
				t.Errorf("the %s time an example of the README answers %s", which, line)
			}
		}
		if strings.Count(out, `"status":"success"`) < 5 {
			t.Errorf("the %s time the examples of the README print\n%s", which, out)
		}
		if out := n.do(t, "", filepath.Join(n.dir, ".local", "bin", "example"), "-url", "http://127.0.0.1:"+port); !strings.HasSuffix(out, "120 threads\nverified comment_annotation.added\n") {
			t.Errorf("the %s time the example in Go prints\n%s", which, out)
		}
		if out := n.do(t, typescript, "npm", "run", "--silent", "example"); !strings.HasSuffix(out, "120 threads\nverified comment_annotation.added\n") {
			t.Errorf("the %s time the example in TypeScript prints\n%s", which, out)
		}
	}
	seeded := n.do(t, "", "make", "seed")
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
