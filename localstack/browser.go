package localstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// browsers are the names by which Chromium and Chrome are known. The first that is there is taken.
var browsers = []string{
	"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
}

// Browser returns a program that is Chromium or Chrome: that of this machine,
// else on Linux on x64 one from npm, which needs nothing but the C library,
// installing it if need be as Install does. The error says what to install.
func Browser(ctx context.Context, progress io.Writer) (string, error) {
	for _, name := range browsers {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	if nodePlatform() != "linux-x64" {
		return "", errors.New("no browser was found: install Chromium or Chrome")
	}
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	browser := browserTools(dir)
	return browser.path(), browser.install(ctx, progress)
}

func browserTools(local string) tools {
	return tools{
		what:    "Chromium from npm (66 MB, for tests)",
		dir:     filepath.Join(local, "tools", "browser"),
		locks:   []string{"browser/package.json", "browser/package-lock.json", "browser/fonts.conf"},
		program: "chromium",
		fetch:   fetchBrowser,
	}
}

// The package unpacks itself into the folder for temporary files, with the
// libraries that a bare system lacks where it believes to be in AWS Lambda.
const unpackBrowser = `import('@sparticuz/chromium').then((c) => c.default.executablePath())`

// browserCommand starts the browser with its own libraries and fonts.
const browserCommand = `#!/bin/sh
here=$(dirname "$0")
export LD_LIBRARY_PATH="$here/unpacked/al2023/lib" FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/unpacked/chromium" "$@"
`

func fetchBrowser(ctx context.Context, dir string) error {
	if err := npmInstall(ctx, dir); err != nil {
		return err
	}
	unpacked := filepath.Join(dir, "unpacked")
	if err := os.Mkdir(unpacked, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "node", "--eval", unpackBrowser)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+unpacked, "AWS_EXECUTION_ENV=AWS_Lambda_nodejs20.x")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("unpacking: %w\n%s", err, tail(string(out), 5))
	}
	if err := os.RemoveAll(filepath.Join(dir, "node_modules")); err != nil { // it is unpacked
		return err
	}
	return os.WriteFile(filepath.Join(dir, "chromium"), []byte(browserCommand), 0o755)
}
