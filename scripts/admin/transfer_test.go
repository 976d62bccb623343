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

// TestCheckOfFile checks a file without a deployment, and imports it with read states.
func TestCheckOfFile(t *testing.T) {
	c, file := newCLI(t), filepath.Join(t.TempDir(), "acme.jsonl")
	none := &cli{}
	const good = `{"kind":"organization","organizationId":"acme"}
{"kind":"document","documentId":"plan"}
{"kind":"annotation","documentId":"plan","annotationId":"a"}
{"kind":"comment","documentId":"plan","annotationId":"a","commentId":1,"commentText":"x","from":{"userId":"ann"},"createdAt":1700000000000}
{"kind":"user","userId":"bob"}
`
	must.Do(t, os.WriteFile(file, []byte(good), 0o600))
	if out, said, code := none.run(t, "import", "--check", file); code != 0 || out != "" || !strings.HasSuffix(said, "\n5 valid\n") {
		t.Errorf("a good file: %d %s %s", code, out, said)
	}
	c.must(t, "accounts", "add", "acme")
	if _, said, code := c.run(t, "import", "acme", file, "--read"); code != 0 || !strings.Contains(said, "readState: 1 added, 0 unchanged\n") {
		t.Errorf("exits with %d and says %s", code, said)
	}
	if _, said, code := c.run(t, "import", "acme", file, "--read"); code != 0 || !strings.HasSuffix(said, "\n0 added, 6 unchanged\n") {
		t.Errorf("repeated, exits with %d and says %s", code, said)
	}
	must.Do(t, os.WriteFile(file, []byte(good+`{"kind":"readState","documentId":"map","userId":"bob","read":true,"readAt":1700000000}`+"\n{}\n"), 0o600))
	out, said, code := none.run(t, "import", "--check", file)
	want := "LINE\tKIND\tID\tFIELD\tWHY\n" +
		"6\treadState\tbob\treadAt\tmust be a time in milliseconds since epoch, from 100000000000 (in 1973): 1700000000 may be in seconds\n" +
		"7\t\t\tkind\tmust be one of [organization unsubscribed removal folder group document level annotation comment grant user preference readState]\n"
	if code != 1 || out != want || !strings.HasPrefix(said, `Warning: line 6: no earlier line adds the document "map"`+"\n") || !strings.HasSuffix(said, ": 2 lines are bad\n") {
		t.Errorf("bad lines: %d %s %s", code, out, said)
	}
	for _, args := range [][]string{{"import", "acme"}, {"import", "acme", file, "--check", file}, {"import"}} {
		if _, said, code := none.run(t, args...); code != 2 || !strings.Contains(said, "give an account and a file, or only --check FILE") {
			t.Errorf("%q exits with %d and says %s", args, code, said)
		}
	}
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
