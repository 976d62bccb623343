package localstack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// referenceScript is the file of Scalar's package that shows an OpenAPI
// description. It holds all that it needs: the 280 packages that npm would
// install with it (290 MB) are in it.
const (
	referencePackage = "@scalar/api-reference"
	referenceScript  = "package/dist/browser/standalone.js"
)

func referenceTools(local string) tools {
	return tools{
		what:    "Scalar's API reference from npm",
		dir:     filepath.Join(local, "tools", "reference"),
		locks:   []string{"reference/package-lock.json"},
		program: filepath.Base(referenceScript),
		fetch:   fetchReference,
	}
}

// Reference returns the path of the script that shows an OpenAPI description
// in a browser, installing it if need be as Install does.
func Reference(ctx context.Context, progress io.Writer) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	reference := referenceTools(dir)
	return reference.path(), reference.install(ctx, progress)
}

// fetchReference gets the one package that the lock file names, and keeps the one file of it.
func fetchReference(ctx context.Context, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return err
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return err
	}
	pinned := lock.Packages["node_modules/"+referencePackage]
	if err := checkNode(ctx); err != nil {
		return err
	}
	if err := npm(ctx, dir, "pack", "--silent", referencePackage+"@"+pinned.Version); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("npm pack left %q, want one archive (%w)", found, err)
	}
	archive, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != pinned.Integrity {
		return fmt.Errorf("npm's registry gave %s@%s with the hash %s, want %s: see which registry npm uses (npm config get registry)",
			referencePackage, pinned.Version, got, pinned.Integrity)
	}
	script, err := fileOf(archive, referenceScript)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(referenceScript)), script, 0o644); err != nil {
		return err
	}
	return os.Remove(found[0])
}

// fileOf returns a file of a compressed archive.
func fileOf(archive []byte, name string) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(unzipped)
	for {
		file, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("looking for %s: %w", name, err)
		}
		if file.Name == name {
			return io.ReadAll(files)
		}
	}
}
