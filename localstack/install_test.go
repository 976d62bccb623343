package localstack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"collabdata/shared/testing/must"
)

// record is a progress writer for concurrent installations.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) installations() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(r.text.String(), "Installed ")
}

func TestInstallOnce(t *testing.T) {
	tools := t.TempDir()
	var progress record
	install := func() {
		if _, err := nodeTools.installIn(t.Context(), tools, &progress); err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(install)
	}
	wg.Wait()
	if got := progress.installations(); got != 1 {
		t.Fatalf("three at the same time installed %d times, want 1:\n%s", got, &progress.text)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", "") // an existing installation needs neither node nor npm
	if install(); progress.installations() != 1 {
		t.Errorf("installed again:\n%s", &progress.text)
	}
	t.Setenv("PATH", path)
	leftover := filepath.Join(tools, nodeTools.name, "leftover")
	for i, gone := range []string{nodeTools.program, "installed"} {
		must.Do(t, os.WriteFile(leftover, nil, 0o644))
		must.Do(t, os.Remove(filepath.Join(tools, nodeTools.name, gone)))
		if install(); progress.installations() != i+2 {
			t.Errorf("without %s it is not installed again", gone)
		}
		if _, err := os.Stat(leftover); err == nil {
			t.Error("files of an older installation are still there")
		}
	}
}

func TestInstallSaysHowToMend(t *testing.T) {
	// scripts creates a folder with the programs and those of the system.
	scripts := func(programs map[string]string) string {
		dir := t.TempDir()
		for name, body := range programs {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
		}
		return dir
	}
	const node = "echo v20.1.0"
	for _, test := range []struct {
		name  string
		tools tools
		path  string
		want  string
	}{
		{"no Node.js", nodeTools, scripts(nil), "install Node.js 20 or newer"},
		{"old Node.js", nodeTools, scripts(map[string]string{"node": "echo v18.20.2"}), "v18.20.2 is too old: install Node.js 20 or newer"},
		{"no npm", nodeTools, scripts(map[string]string{"node": node}), "npm is missing: install Node.js 20 or newer with npm"},
		{"no network for npm", nodeTools, scripts(map[string]string{"node": node, "npm": "exit 1"}), "npm failed: see that it reaches its registry"},
		{"not in npm's registry", nodeTools, scripts(map[string]string{"node": node, "npm": "exit 0"}), "is not there: see that npm's registry has it"},
		{"another package than the pinned one", referenceTools, scripts(map[string]string{"node": "case $1 in -p) echo 1 sha512-x;; *) echo v20.1.0;; esac", "npm": "echo a.tgz"}),
			"see which registry npm uses"},
		{"no Python", pythonTools, scripts(nil), "install Python 3.10 or newer with venv"},
		{"old Python for tests", checkTools, scripts(map[string]string{"python3": "exit 1"}), "install Python 3.11 or newer with venv"},
		{"no network for pip", pythonTools, scripts(map[string]string{
			"python3": `case "$*" in *venv\ .) /bin/mkdir bin; /bin/ln -s "$0" bin/python;; *requirements*) exit 1;; esac`}),
			"pip failed: see that it reaches its registry"},
		{"no Python 3.13", cloudTools, scripts(map[string]string{"python3": "exit 1"}), "Python 3.13 is missing, which LocalStack needs: install it"},
		{"no Java", cloudTools, scripts(map[string]string{"python3": ""}), "Java 17 or Maven is missing"},
		{"old Java", cloudTools, scripts(map[string]string{"python3": "", "java": `echo 'java version "1.8.0_401"' >&2`, "mvn": ""}), "Java 17 or Maven is missing"},
		{"no Maven", cloudTools, scripts(map[string]string{"python3": "", "java": `echo 'openjdk version "21" 2023-09-19' >&2`}), "Java 17 or Maven is missing"},
		{"no Java for a generator", generatorTools, scripts(nil), "Java 17 or Maven is missing, which OpenAPI Generator needs: install both"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("PATH", test.path)
			t.Setenv("HOME", test.path)
			dir, err := test.tools.installIn(t.Context(), t.TempDir(), &record{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "installed")); err == nil {
				t.Error("a failed installation counts as done")
			}
		})
	}
}

func TestLockGivesUpWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	must.Do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Lock(ctx, path); err != context.Canceled {
		t.Errorf("a held lock with an ended context: error %v, want %v", err, context.Canceled)
	}
	unlock()
	if unlock, err = Lock(t.Context(), path); err != nil {
		t.Fatalf("after the lock was given back: %v", err)
	}
	unlock()
}
