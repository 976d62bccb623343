package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// buildFunctions compiles every program below functions/ to
// .local/functions/<arch>/<program>/bootstrap. It replaces the folder after all builds succeed.
func (d *deployment) buildFunctions(ctx context.Context, arch string) error {
	return d.step("Building the functions for "+arch, func() error {
		mains, err := filepath.Glob(filepath.Join(d.root, "functions", "*", "main.go"))
		if err != nil {
			return err
		}
		out := d.functions(arch)
		fresh := out + ".new"
		if err := os.RemoveAll(fresh); err != nil {
			return err
		}
		for _, main := range mains {
			if err := d.compile(ctx, filepath.Base(filepath.Dir(main)), arch, fresh); err != nil {
				return err
			}
		}
		if err := os.RemoveAll(out); err != nil {
			return err
		}
		return os.Rename(fresh, out)
	})
}

func (d *deployment) functions(arch string) string { return filepath.Join(d.local, "functions", arch) }

// compile builds <name>/bootstrap in the folder out. Builds are reproducible for the same sources
// and Go version.
func (d *deployment) compile(ctx context.Context, name, arch, out string) error {
	goarch, ok := map[string]string{"arm64": "arm64", "x86_64": "amd64"}[arch]
	if !ok {
		return fmt.Errorf("setting arch is %q; it must be arm64 or x86_64", arch)
	}
	env := append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+goarch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	return quietly(ctx, program(ctx, d.root, env, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc",
		"-ldflags", "-s -w -buildid=", "-o", filepath.Join(out, name, "bootstrap"), "./functions/"+name))
}
