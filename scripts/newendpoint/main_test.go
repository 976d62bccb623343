//go:build e2e

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPieces holds that what is written compiles together with what is there, and fails its script and nothing else.
func TestPieces(t *testing.T) {
	const path = "/v2/organizations/folders/rename"
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := pieces(root, path)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 { // the operation with its row, the script, the table
		t.Errorf("%d files are written", len(files))
	}
	overlay := map[string]map[string]string{"Replace": {}}
	for i, f := range files {
		written := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(written, []byte(f.text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][filepath.Join(root, f.name)] = written
		if out, err := exec.Command("gofmt", "-l", written).CombinedOutput(); strings.HasSuffix(f.name, ".go") && (err != nil || len(out) > 0) {
			t.Errorf("%s is not formatted: %s", f.name, out)
		}
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	compile := exec.Command("go", "list", "-export", "-overlay", file, "./shared/api") // compiles, and links nothing
	compile.Dir = root
	if out, err := compile.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	run := exec.Command("go", "test", "-overlay", file, "-count=1", "-run", "TestScripts"+path, "./shared/testing/apitest")
	run.Dir = root
	out, err := run.CombinedOutput()
	if err == nil || strings.Count(string(out), "--- FAIL: TestScripts/") != 1 ||
		!strings.Contains(string(out), "--- FAIL: TestScripts"+path+"/first") ||
		!strings.Contains(string(out), "the status is 500, want 200") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRefused(t *testing.T) {
	for path, want := range map[string]string{
		"/v2/organizations/get":        "is there already",
		"/v1/organizations/get":        "goes into its file by hand",
		"/v2/organisations/folders":    "write the package shared/api/organisations",
		"/organizations/add":           "is not like",
		"/v2/organizations":            "is not like",
		"/v2/organizations/../../main": "is not like",
	} {
		if files, err := pieces("../..", path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %q", path, files, err, want)
		}
	}
}
