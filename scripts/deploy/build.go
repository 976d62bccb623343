package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// buildFunctions compiles every main below functions/ to
// .local/functions/<arch>/<function>/bootstrap. It replaces the folder after all builds succeed.
func (d *deployment) buildFunctions(ctx context.Context, arch string) error {
	functions, err := findFunctions(d.root)
	if err != nil {
		return err
	}
	return d.step(fmt.Sprintf("Building %d functions for %s", len(functions), arch), func() error {
		out := d.functions(arch)
		fresh := out + ".new"
		if err := os.RemoveAll(fresh); err != nil {
			return err
		}
		if err := d.compile(ctx, functions, arch, fresh); err != nil {
			return err
		}
		if err := os.RemoveAll(out); err != nil {
			return err
		}
		return os.Rename(fresh, out)
	})
}

func (d *deployment) functions(arch string) string { return filepath.Join(d.local, "functions", arch) }

// findFunctions returns the folders below functions/ with a main.go, such as
// v2/commentannotations/add, in order.
func findFunctions(root string) ([]string, error) {
	var functions []string
	err := fs.WalkDir(os.DirFS(filepath.Join(root, "functions")), ".", func(file string, _ fs.DirEntry, err error) error {
		if err == nil && path.Base(file) == "main.go" {
			functions = append(functions, path.Dir(file))
		}
		return err
	})
	return functions, err
}

// compile builds <function>/bootstrap in the folder out. Builds are reproducible for the same
// sources and Go version.
func (d *deployment) compile(ctx context.Context, functions []string, arch, out string) error {
	goarch, ok := map[string]string{"arm64": "arm64", "x86_64": "amd64"}[arch]
	if !ok {
		return fmt.Errorf("setting arch is %q; it must be arm64 or x86_64", arch)
	}
	env := append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+goarch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	for _, group := range byDistinctName(functions) {
		programs := filepath.Join(out, "programs")
		args := []string{
			"build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", programs + string(filepath.Separator),
		}
		for _, f := range group {
			args = append(args, "./functions/"+f)
		}
		if err := quietly(ctx, program(ctx, d.root, env, "go", args...)); err != nil {
			return err
		}
		for _, f := range group {
			folder := filepath.Join(out, filepath.FromSlash(f))
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			if err := os.Rename(filepath.Join(programs, path.Base(f)), filepath.Join(folder, "bootstrap")); err != nil {
				return err
			}
		}
		if err := os.Remove(programs); err != nil {
			return err
		}
	}
	return nil
}

// byDistinctName splits the functions into few groups with distinct last folders. One call of go
// builds a group, and names each program by its last folder.
func byDistinctName(functions []string) [][]string {
	var groups [][]string
	seen := map[string]int{}
	for _, f := range functions {
		n := seen[path.Base(f)]
		seen[path.Base(f)]++
		if n == len(groups) {
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], f)
	}
	return groups
}
