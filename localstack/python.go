package localstack

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
)

func pythonTools(local string) tools {
	return fromPyPI("MiniStack from PyPI", filepath.Join(local, "tools", "python"), "requirements.txt", 10)
}

func checkTools(local string) tools {
	return fromPyPI("cfn-lint and Schemathesis from PyPI (240 MB, for tests)", filepath.Join(local, "tools", "checks"), "checks.txt", 11)
}

func clientTools(local string) tools {
	return fromPyPI("openapi-python-client from PyPI (for tests)", filepath.Join(local, "tools", "clients"), "clients.txt", 11)
}

func lintTools(local string) tools {
	return tools{
		what:    "Redocly and Spectral from npm (80 MB, for tests)",
		dir:     filepath.Join(local, "tools", "lint"),
		locks:   []string{"lint/package.json", "lint/package-lock.json"},
		program: "node_modules/.bin/redocly",
		fetch:   npmInstall,
	}
}

// CheckTool returns the path of a program that only tests use, installing it
// if need be as Install does the others: cfn-lint or schemathesis,
// openapi-python-client or the python it runs in, redocly or spectral.
func CheckTool(ctx context.Context, name string, progress io.Writer) (string, error) {
	local, err := Dir()
	if err != nil {
		return "", err
	}
	set, bin := checkTools(local), "bin"
	switch name {
	case "openapi-python-client", "python":
		set = clientTools(local)
	case "redocly", "spectral":
		set, bin = lintTools(local), "node_modules/.bin"
	}
	if err := set.install(ctx, progress); err != nil {
		return "", err
	}
	return filepath.Join(set.dir, bin, name), nil
}

// fromPyPI is the set that a lock file names; it needs Python 3.minor or newer.
func fromPyPI(what, dir, lock string, minor int) tools {
	return tools{
		what: what, dir: dir, locks: []string{lock}, program: "bin/python",
		fetch: func(ctx context.Context, dir string) error { return pipInstall(ctx, dir, lock, minor) },
	}
}

func pipInstall(ctx context.Context, dir, lock string, minor int) error {
	mend := fmt.Sprintf(
		"install Python 3.%d or newer with venv (https://www.python.org, or: apt-get install python3-venv) and run this again", minor,
	)
	check := fmt.Sprintf("import sys, venv, ensurepip; sys.exit(sys.version_info < (3, %d))", minor)
	if err := run(ctx, dir, "python3", "-c", check); err != nil {
		return fmt.Errorf("Python is missing, too old, or without its venv module (%w): %s", err, mend)
	}
	if err := run(ctx, dir, "python3", "-m", "venv", "."); err != nil {
		return fmt.Errorf("%w: %s", err, mend)
	}
	err := run(ctx, dir, "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input",
		"--require-hashes", "--only-binary", ":all:", "-r", lock)
	if err != nil {
		return fmt.Errorf("%w: see that pip reaches its registry (pip download six) and run this again", err)
	}
	return nil
}
