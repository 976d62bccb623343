//go:build e2e

package main

import (
	"archive/zip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/platform"

	"github.com/google/go-cmp/cmp"
)

// identity is the identity for git commits and tags.
var identity = []string{"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com"}

// release commits the clone and makes its release. It returns a function that returns the path of
// an archive without its extension.
func (n *newcomer) release(t *testing.T) func(name string) string {
	t.Helper()
	here := &outside{dir: n.dir, env: append(n.environment(), identity...)}
	here.do(t, "git", "add", "--all")
	here.do(t, "git", "commit", "--quiet", "--allow-empty", "--message=release")
	uname := strings.ReplaceAll(strings.TrimSpace(here.do(t, "uname", "-sm")), " ", "-")
	// The deployment test uses a release's functions.
	if printed := here.do(t, "make", "release", "VERSION="+platform.Release, "ARCHS=", "PLATFORMS="+uname); !strings.Contains(printed, "Nothing is published") {
		t.Errorf("make release printed %s", printed)
	}
	if notes := here.do(t, "git", "tag", "--list", "--format=%(contents)", "v"+platform.Release); !strings.Contains(notes, "### ") {
		t.Errorf("the tag says %q", notes)
	}
	if changed := here.do(t, "git", "status", "--porcelain"); changed != "" {
		t.Errorf("make release changed %s", changed)
	}
	made := &outside{dir: filepath.Join(n.dir, ".local", "release", platform.Release), env: here.env}
	if checked := made.do(t, "sha256sum", "--check", "SHA256SUMS"); strings.Count(checked, ": OK") != 10 {
		t.Errorf("the checksums are of %s", checked)
	}
	archive := func(name string) string { return filepath.Join(made.dir, name+"-"+platform.Release) }
	aws, err := zip.OpenReader(archive("collabdata") + "-aws-" + uname + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	defer aws.Close()
	var files, programs []string
	for _, f := range aws.File {
		if f.Mode()&0o111 != 0 && !f.Mode().IsDir() {
			programs = append(programs, f.Name)
		} else {
			files = append(files, f.Name)
		}
	}
	want := []string{"admin", "infra"}
	if diff := cmp.Diff(want, programs); diff != "" || !slices.Contains(files, "cdk.json") || !slices.Contains(files, "OPERATIONS.md") {
		t.Errorf("programs %s, other files %q", diff, files)
	}
	return archive
}
