package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"collabdata/localstack"

	"github.com/google/go-cmp/cmp"
)

// Builds in another folder give the same bytes, so an unchanged rebuild changes no function.
func TestBuildIsReproducible(t *testing.T) {
	local, err := localstack.Dir()
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Dir(local)
	elsewhere := t.TempDir()
	for _, part := range []string{"go.mod", "go.sum", "functions", "shared"} {
		copyTree(t, filepath.Join(here, part), filepath.Join(elsewhere, part))
	}
	const name = "api"
	arch := localstack.Arch() // also used by the end-to-end test
	var built [][]byte
	for _, root := range []string{here, elsewhere} {
		d := &deployment{root: root, progress: io.Discard}
		out := t.TempDir()
		if err := d.compile(t.Context(), name, arch, out); err != nil {
			t.Fatal(err)
		}
		program, err := os.ReadFile(filepath.Join(out, name, "bootstrap"))
		if err != nil {
			t.Fatal(err)
		}
		built = append(built, program)
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Error("two builds of the same sources differ")
	}
	if bytes.Contains(built[0], []byte(here)) {
		t.Error("the program names the folder that it was built in")
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else {
		var text []byte
		if text, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, text, 0o644)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestContextArguments(t *testing.T) {
	args := []string{"-c", "stage=test", "--context", "arch=x86_64", "--context=a=b=c", "--profile", "d=e", "-c=f=g", "-c"}
	want := map[string]string{"stage": "test", "arch": "x86_64", "a": "b=c", "f": "g"}
	if diff := cmp.Diff(want, contextArguments(args)); diff != "" {
		t.Error(diff)
	}
}

func TestLocalURL(t *testing.T) {
	got := localURL("http://127.0.0.1:4577", "https://abc.execute-api.us-east-1.amazonaws.com/local")
	if want := "http://127.0.0.1:4577/_aws/execute-api/abc/local"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
