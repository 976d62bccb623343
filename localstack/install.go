package localstack

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

//go:embed pins install.sh
var pins embed.FS

// tools are a set that install.sh installs together.
type tools struct {
	name    string // of its folder, and of the folder of its lock files in pins
	what    string // for the progress line
	how     []string
	program string // relative to its folder; present if the set is complete
}

var (
	nodeTools      = tools{"node", "DynamoDB emulator from npm", []string{"npm"}, "node_modules/@dynoxide/" + nodePlatform() + "/dynoxide"}
	cdkTools       = tools{"cdk", "CDK CLI from npm", []string{"npm"}, "node_modules/.bin/cdk"}
	referenceTools = tools{"reference", "Scalar's API reference from npm", []string{"reference"}, "standalone.js"}
	pythonTools    = tools{"python", "MiniStack from PyPI", []string{"pip", "10"}, "bin/python"}
	cloudTools     = tools{"localstack", "LocalStack and the AWS CLI from PyPI, DynamoDB Local from Maven Central (310 MB)", []string{"localstack"}, "bin/python"}
	checkTools     = tools{"checks", "cfn-lint and Schemathesis from PyPI (240 MB, for tests)", []string{"pip", "11"}, "bin/python"}
	clientTools    = tools{"clients", "openapi-python-client from PyPI (for tests)", []string{"pip", "11"}, "bin/python"}
	generatorTools = tools{"generators", "OpenAPI Generator and Kotlin from Maven Central, openapi-typescript from npm (150 MB, for tests)", []string{"generators"}, "node_modules/.bin/openapi-generator-cli"}
	publishTools   = tools{"publish", "twine from PyPI (to publish)", []string{"pip", "11"}, "bin/python"}
	lintTools      = tools{"lint", "Redocly and Spectral from npm (80 MB, for tests)", []string{"npm"}, "node_modules/.bin/redocly"}
	mcpTools       = tools{"mcp", "the conformance tests and the Inspector of the Model Context Protocol from npm (170 MB, for tests)", []string{"npm"}, "node_modules/.bin/conformance"}
	browserTools   = tools{"browser", "Chromium from npm (66 MB, for tests)", []string{"browser"}, "chromium"}
)

// Install installs the tools of the stand-ins if needed. progress may be nil. Several processes may
// install concurrently.
func Install(ctx context.Context, progress io.Writer) error {
	for _, set := range []tools{nodeTools, referenceTools, pythonTools} {
		if _, err := set.install(ctx, progress); err != nil {
			return err
		}
	}
	return nil
}

// CDK returns the path of the CDK's command-line tool. It installs it if needed.
func CDK(ctx context.Context, progress io.Writer) (string, error) {
	dir, err := cdkTools.install(ctx, progress)
	return filepath.Join(dir, cdkTools.program), err
}

// NodeModules returns the folder of the npm packages. It installs them if needed.
func NodeModules(ctx context.Context, progress io.Writer) (string, error) {
	dir, err := nodeTools.install(ctx, progress)
	return filepath.Join(dir, "node_modules"), err
}

// Reference returns the path of the script that renders the reference. It installs it if needed.
func Reference(ctx context.Context, progress io.Writer) (string, error) {
	dir, err := referenceTools.install(ctx, progress)
	return filepath.Join(dir, referenceTools.program), err
}

// CheckTool returns the path of a program for tests or a release. It installs it if needed.
func CheckTool(ctx context.Context, name string, progress io.Writer) (string, error) {
	set, bin := checkTools, "bin"
	switch name {
	case "aws":
		set = cloudTools
	case "openapi-python-client", "python":
		set = clientTools
	case "openapi-generator-cli":
		set, bin = generatorTools, "node_modules/.bin"
	case "twine":
		set = publishTools
	case "redocly", "spectral":
		set, bin = lintTools, "node_modules/.bin"
	case "conformance", "mcp-inspector":
		set, bin = mcpTools, "node_modules/.bin"
	}
	dir, err := set.install(ctx, progress)
	return filepath.Join(dir, bin, name), err
}

// browsers are the program names of Chromium and Chrome.
var browsers = []string{
	"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
}

// Browser returns the path of Chromium or Chrome on this machine. If there is none, it installs one
// from npm on Linux on x64.
func Browser(ctx context.Context, progress io.Writer) (string, error) {
	for _, name := range browsers {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	if nodePlatform() != "linux-x64" {
		return "", errors.New("no browser was found: install Chromium or Chrome")
	}
	dir, err := browserTools.install(ctx, progress)
	return filepath.Join(dir, browserTools.program), err
}

// nodePlatform returns the platform in npm's notation.
func nodePlatform() string {
	return runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
}

// install installs the set unless it matches its lock files, and returns its folder.
func (t tools) install(ctx context.Context, progress io.Writer) (dir string, err error) {
	local, err := Dir()
	if err != nil {
		return "", err
	}
	return t.installIn(ctx, filepath.Join(local, "tools"), progress)
}

func (t tools) installIn(ctx context.Context, tools string, progress io.Writer) (dir string, err error) {
	dir = filepath.Join(tools, t.name)
	stamp, err := t.stamp()
	if err != nil || t.installed(dir, stamp) {
		return dir, err
	}
	if err := os.MkdirAll(tools, 0o755); err != nil {
		return dir, err
	}
	unlock, err := Lock(ctx, dir+".lock")
	if err != nil {
		return dir, err
	}
	defer func() { _ = unlock() }()
	if t.installed(dir, stamp) {
		return dir, nil
	}
	if progress == nil {
		progress = io.Discard
	}
	fmt.Fprintf(progress, "Installing %s ...\n", t.what)
	start := time.Now()
	if err := t.fetch(ctx, dir); err != nil {
		return dir, fmt.Errorf("installing %s: %w", t.what, err)
	}
	fmt.Fprintf(progress, "Installed %s in %.1f s.\n", t.what, time.Since(start).Seconds())
	return dir, os.WriteFile(filepath.Join(dir, "installed"), []byte(stamp), 0o644)
}

// fetch installs into an empty folder.
func (t tools) fetch(ctx context.Context, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	locks, err := fs.Sub(pins, "pins/"+t.name)
	if err == nil {
		err = os.CopyFS(dir, locks)
	}
	if err != nil {
		return err
	}
	script, err := pins.ReadFile("install.sh")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", string(script), "install.sh"}, t.how...)...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, tail(string(out), 5))
	}
	// npm treats the emulator as optional, because each platform has a package
	if _, err := os.Stat(filepath.Join(dir, t.program)); err != nil {
		return fmt.Errorf("%s is not there: see that npm's registry has it for %s, "+
			"or start a DynamoDB Local of your own and name it in AWS_ENDPOINT_URL_DYNAMODB", t.program, nodePlatform())
	}
	return nil
}

// tail returns the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// stamp returns a hash of the set's lock files and installer.
func (t tools) stamp() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, nodePlatform(), t.how)
	for _, root := range []string{"install.sh", "pins/" + t.name} {
		err := fs.WalkDir(pins, root, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := pins.ReadFile(file)
			fmt.Fprintf(h, "%s %d\n%s", file, len(text), text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (t tools) installed(dir, stamp string) bool {
	got, err := os.ReadFile(filepath.Join(dir, "installed"))
	if err != nil || string(got) != stamp {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, t.program)) // a link to a removed Python may be left
	return err == nil
}
