//go:build e2e

package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/platform"

	"github.com/google/go-cmp/cmp"
)

// TestRelease makes a release in a fresh clone, and uses what it consists of in projects outside: in Go from the sources, from npm's
// archives, and in Python from the document.
func TestRelease(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, t.TempDir())
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
	n := &newcomer{dir: clone(t, root), port: port}
	git(t, "-C", n.dir, "add", "--all")
	git(t, "-C", n.dir, "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--allow-empty", "--message=release")
	here := &outside{dir: n.dir, env: append(n.environment(),
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com")}
	uname := strings.ReplaceAll(strings.TrimSpace(here.do(t, "uname", "-sm")), " ", "-")
	// The deployment test uses the functions of a release.
	if printed := here.do(t, "make", "release", "VERSION="+platform.Release, "ARCHS=", "PLATFORMS="+uname); !strings.Contains(printed, "Nothing is published") {
		t.Errorf("it printed %s", printed)
	}
	tag := "v" + platform.Release
	if notes := git(t, "-C", n.dir, "tag", "--list", "--format=%(contents)", tag); !strings.Contains(notes, "### ") {
		t.Errorf("the tag says %q", notes)
	}
	if changed := git(t, "-C", n.dir, "status", "--porcelain"); changed != "" {
		t.Errorf("it changed %s", changed)
	}
	made := &outside{dir: filepath.Join(n.dir, ".local", "release", platform.Release), env: n.environment()}
	if checked := made.do(t, "sha256sum", "--check", "SHA256SUMS"); strings.Count(checked, ": OK") != 8 {
		t.Errorf("the checksums are of %s", checked)
	}
	archive := func(name string) string { return filepath.Join(made.dir, name+"-"+platform.Release) }

	t.Run("AWS", func(t *testing.T) {
		made, err := zip.OpenReader(archive("collabdata") + "-aws.zip")
		if err != nil {
			t.Fatal(err)
		}
		defer made.Close()
		var files, programs []string
		for _, f := range made.File {
			if f.Mode()&0o111 != 0 && !f.Mode().IsDir() {
				programs = append(programs, f.Name)
			} else {
				files = append(files, f.Name)
			}
		}
		want := []string{"admin-" + uname, "infra-" + uname}
		if diff := cmp.Diff(want, programs); diff != "" || !slices.Contains(files, "cdk.json") {
			t.Errorf("programs %s, other files %q", diff, files)
		}
	})
	t.Run("Go", func(t *testing.T) {
		app := &outside{dir: t.TempDir(), env: n.environment()}
		app.do(t, "tar", "-xzf", archive("collabdata")+".tar.gz")
		sources := &outside{dir: filepath.Join(app.dir, "collabdata-"+platform.Release), env: app.env}
		sources.do(t, "sh", "-euc", n.block(t, filepath.Join(sources.dir, "shared", "client", "README.md"), "sh"))
		app.do(t, "go", "mod", "init", "example.com/app")
		app.do(t, "go", "mod", "edit", "-require=github.com/you/collabdata@v0.0.0", "-replace=github.com/you/collabdata="+sources.dir)
		app.write(t, "main.go", n.block(t, filepath.Join(n.dir, "shared", "client", "README.md"), "go"))
		app.do(t, "go", "mod", "tidy")
		app.prints(t, "true\n", "go", "run", ".")
	})
	t.Run("npm", func(t *testing.T) {
		app := &outside{dir: t.TempDir(), env: n.environment()}
		app.do(t, "npm", "init", "--yes")
		app.do(t, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
			archive("collabdata-client")+".tgz", archive("collabdata-elements")+".tgz")
		app.write(t, "main.mjs", `import {Client} from 'collabdata-client';
import {existsSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
const client = new Client({baseURL: process.env.COLLABDATA_URL, apiKey: 'dev-key', authToken: 'dev-token'});
console.log((await client.call('/v2/organizations/get', {organizationIds: ['acme']})).data[0].id);
console.log(existsSync(fileURLToPath(import.meta.resolve('collabdata-elements'))));
`)
		app.prints(t, "acme\ntrue\n", "node", "main.mjs")
	})
	t.Run("Python", func(t *testing.T) {
		python, err := localstack.CheckTool(t.Context(), "python", os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		app := &outside{dir: t.TempDir(), env: n.environment()}
		app.install(t, python, archive("collabdata")+"-py3-none-any.whl")
		app.write(t, "main.py", "URL = '"+s.url+"'\n"+n.block(t, filepath.Join(n.dir, "README.md"), "python"))
		app.prints(t, "'acme', 'globex', 'initech']\n", python, "main.py")
	})
}

// prints holds the end of what a command of the project prints.
func (o *outside) prints(t *testing.T, end, name string, args ...string) {
	t.Helper()
	if got := o.do(t, name, args...); !strings.HasSuffix(got, end) {
		t.Errorf("%s printed %q, want %q at its end", name, got, end)
	}
}
