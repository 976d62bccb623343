package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/testing/must"
	"collabdata/shared/testing/storetest"

	"github.com/google/go-cmp/cmp"
)

// call calls an operation of the API for acme, with members of the data.
func (c *cli) call(t *testing.T, path, data string) {
	t.Helper()
	out, said, code := c.run(t, "--yes", "-o", "json", "call", "acme", path, `{`+data+`}`)
	if code != 0 || strings.Contains(out, `"success": false`) {
		t.Fatalf("%s answers %s %s", path, out, said)
	}
}

// TestTransfer exports an organization to a file and imports it into another account.
func TestTransfer(t *testing.T) {
	c := newCLI(t)
	for _, account := range []string{"acme", "other"} {
		c.must(t, "accounts", "add", account)
	}
	c.must(t, "settings", "update", "other", "--all-events", "true", "--advanced-queries-off", "true")
	c.call(t, "/v2/commentannotations/add", `"organizationId": "north", "createOrganization": true, "documentId": "plan", "createDocument": true,
		"commentAnnotations": [{"annotationId": "a", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}]}]`)
	want, _, _ := c.run(t, "export", "acme", "north")
	if n := strings.Count(want, "\n"); n != 4 {
		t.Fatalf("it exports %d lines:\n%s", n, want)
	}
	file := filepath.Join(t.TempDir(), "north")
	must.Do(t, os.WriteFile(file+".part", []byte(want+"what an export left that was ended"), 0o600))
	c.must(t, "export", "acme", "north", file)
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, string(got)))
	}
	c.fails(t, "already exists", "export", "acme", "north", file)
	c.fails(t, `organization "south" does not exist`, "export", "acme", "south")

	_, said, code := c.run(t, "import", "other", file, "--document", "plan=map")
	if code != 0 || !strings.Contains(said, "comment: 1 added, 0 unchanged\n") || !strings.HasSuffix(said, "\n4 added, 0 unchanged\n") {
		t.Errorf("exits with %d and says %s", code, said)
	}
	if _, said, code = c.run(t, "import", "other", file, "--document", "plan=map"); code != 0 || !strings.HasSuffix(said, "\n0 added, 4 unchanged\n") {
		t.Errorf("repeated, exits with %d and says %s", code, said)
	}
	got, _, _ := c.run(t, "export", "other", "north")
	if diff := cmp.Diff(strings.ReplaceAll(want, `"documentId":"plan"`, `"documentId":"map"`), got); diff != "" {
		t.Error(diff)
	}
	for _, line := range c.must(t, "pending", "get") {
		if slices.Contains(line, "other") {
			t.Errorf("somebody is notified: %v", line)
		}
	}
	must.Do(t, os.WriteFile(file, []byte(want+"{}\n"), 0o600))
	c.fails(t, "line 5: kind must be one of", "import", "other", file)
	c.fails(t, `account "nobody" does not exist`, "import", "nobody", file)
}

// TestRestore restores deleted data from a copy of the table, as point-in-time recovery makes one.
func TestRestore(t *testing.T) {
	c := newCLI(t)
	c.must(t, "accounts", "add", "acme")
	c.call(t, "/v2/organizations/folders/add", `"organizationId": "north", "createOrganization": true, "folders": [{"folderId": "a"}]`)
	c.call(t, "/v2/commentannotations/add", `"organizationId": "north", "documentId": "plan", "createDocument": true,
		"commentAnnotations": [{"annotationId": "t", "commentData": [{"commentId": 1, "commentText": "x", "from": {"userId": "ann"}}]},
			{"annotationId": "stays", "commentData": [{"commentId": 1, "commentText": "y", "from": {"userId": "ann"}}]}]`)
	s, copied, _ := newStore(t)
	for _, it := range storetest.Scan(t, c.table) {
		must.Do(t, s.Put(t.Context(), it))
	}
	file, want := filepath.Join(t.TempDir(), "north"), c.must(t, "export", "acme", "north")
	c.call(t, "/v2/commentannotations/delete", `"organizationId": "north", "documentId": "plan", "annotationIds": ["t"]`)
	of := cli{global: []string{"--table", copied}}
	of.must(t, "export", "acme", "north", file)
	if _, said, code := c.run(t, "import", "acme", file); code != 0 || !strings.Contains(said, "annotation: 1 added, 1 unchanged\n") {
		t.Errorf("exits with %d and says %s", code, said)
	}
	if diff := cmp.Diff(want, c.must(t, "export", "acme", "north")); diff != "" {
		t.Error(diff)
	}
}
