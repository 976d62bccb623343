package localstack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// record is a progress writer that several installations may share.
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
	tools := nodeTools(t.TempDir())
	var progress record

	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := tools.install(t.Context(), &progress); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := progress.installations(); got != 1 {
		t.Fatalf("three at the same time installed %d times, want 1:\n%s", got, &progress.text)
	}

	t.Setenv("PATH", "") // what is there needs neither node nor npm
	if err := tools.install(t.Context(), &progress); err != nil || progress.installations() != 1 {
		t.Fatalf("again: error %v, installed %d times, want 1", err, progress.installations())
	}
}

func TestInstallAgain(t *testing.T) {
	fetched := 0
	tools := tools{
		what:    "a tool",
		dir:     filepath.Join(t.TempDir(), "tools", "a"),
		locks:   []string{"package.json"},
		program: "bin/tool",
		fetch: func(_ context.Context, dir string) error {
			fetched++
			if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "bin/tool"), nil, 0o755)
		},
	}
	leftover := filepath.Join(tools.dir, "leftover")
	for _, step := range []struct {
		name   string
		before func() error
		want   int
	}{
		{"first", func() error { return nil }, 1},
		{"unchanged", func() error { return nil }, 1},
		{"pins changed", func() error {
			tools.locks = append(tools.locks, "requirements.txt")
			return os.WriteFile(leftover, nil, 0o644)
		}, 2},
		{"program gone", func() error { return os.Remove(tools.path()) }, 3},
		{"cut off half-way", func() error { return os.Remove(tools.stampFile()) }, 4},
	} {
		if err := step.before(); err != nil {
			t.Fatal(err)
		}
		if err := tools.install(t.Context(), &record{}); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if fetched != step.want {
			t.Errorf("%s: fetched %d times, want %d", step.name, fetched, step.want)
		}
		if _, err := os.Stat(leftover); err == nil {
			t.Errorf("%s: files of an older installation are still there", step.name)
		}
	}
}

func TestInstallSaysHowToMend(t *testing.T) {
	// scripts makes a folder with a program for each name.
	scripts := func(programs map[string]string) string {
		dir := t.TempDir()
		for name, body := range programs {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for _, test := range []struct {
		name  string
		tools func(local string) tools
		path  string
		want  string
	}{
		{"no Node.js", nodeTools, scripts(nil), "install Node.js 20 or newer"},
		{"old Node.js", nodeTools, scripts(map[string]string{"node": "echo v18.20.2"}), "v18.20.2 is too old: install Node.js 20 or newer"},
		{"no npm", nodeTools, scripts(map[string]string{"node": "echo v20.1.0"}), "npm is missing: install Node.js 20 or newer with npm"},
		{"no network for npm", nodeTools, scripts(map[string]string{"node": "echo v20.1.0", "npm": "echo npm error code ENOTFOUND >&2; exit 1"}),
			"npm error code ENOTFOUND: see that npm reaches its registry"},
		{"not in npm's registry", nodeTools, scripts(map[string]string{"node": "echo v20.1.0", "npm": "exit 0"}), "npm did not get @dynoxide/"},
		{"no Python", pythonTools, scripts(nil), "install Python 3.10 or newer with venv"},
		{"old Python", pythonTools, scripts(map[string]string{"python3": "exit 1"}), "install Python 3.10 or newer with venv"},
		{"old Python for tests", checkTools, scripts(map[string]string{"python3": "exit 1"}), "install Python 3.11 or newer with venv"},
		{"no network for pip", pythonTools, scripts(map[string]string{
			"python3": `case "$*" in *venv\ .) /bin/mkdir bin; /bin/ln -s "$0" bin/python;; *requirements*) echo no route to host; exit 1;; esac`}),
			"no route to host: see that pip reaches its registry"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("PATH", test.path)
			tools := test.tools(t.TempDir())
			err := tools.install(t.Context(), &record{})
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "\n", " "), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			if _, err := os.Stat(tools.stampFile()); err == nil {
				t.Error("a failed installation counts as done")
			}
		})
	}
}

func TestLockGivesUpWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
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
