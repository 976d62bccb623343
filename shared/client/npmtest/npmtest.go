// Package npmtest builds and tests this repository's packages for npm from Go's tests.
package npmtest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Run runs a command in a folder, and returns what it printed. The test fails where the command does.
func Run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%s is missing: install Node.js 20 or newer with npm", name)
	}
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// Install installs the packages of the lock file of the test's folder, unless they are.
func Install(t testing.TB) {
	t.Helper()
	modified := func(name string) time.Time {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return time.Time{}
		}
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	if modified("node_modules/.package-lock.json").Before(modified("package-lock.json")) {
		Run(t, ".", "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	}
}

// WantFiles holds that a package that Pack installed has files, by path, with a text in each.
func WantFiles(t *testing.T, project, name string, files map[string]string) {
	t.Helper()
	for path, part := range files {
		text, err := os.ReadFile(filepath.Join(project, "node_modules", name, path))
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%s of the package has no %q (%v)", path, part, err)
		}
	}
}

// Pack packs the package of the test's folder, which must be built, and installs it into a new project beside those of its own installed
// packages that are named. It returns the project's folder, and that of the installed packages.
func Pack(t *testing.T, name string, beside ...string) (project, modules string) {
	t.Helper()
	project = t.TempDir()
	packed := strings.TrimSpace(Run(t, ".", "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", project))
	here, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(project, "node_modules", name)
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	Run(t, project, "tar", "-xzf", packed, "-C", own, "--strip-components", "1")
	for _, other := range beside {
		if err := os.Symlink(filepath.Join(here, other), filepath.Join(project, "node_modules", other)); err != nil {
			t.Fatal(err)
		}
	}
	return project, here
}
