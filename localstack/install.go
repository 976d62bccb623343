package localstack

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

//go:embed pins
var pins embed.FS

// Install installs every pinned tool but those of CheckTool and Browser, unless it is there
// already, and writes what it does to progress, which may be nil. Processes that install at the same
// time wait for one another. An error ends with the sentence of how to mend it.
func Install(ctx context.Context, progress io.Writer) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	for _, set := range []tools{nodeTools(dir), referenceTools(dir), pythonTools(dir)} {
		if err := set.install(ctx, progress); err != nil {
			return err
		}
	}
	return nil
}

// CDK returns the path of the CDK's command line tool, installing it if need be
// as Install does.
func CDK(ctx context.Context, progress io.Writer) (string, error) {
	modules, err := NodeModules(ctx, progress)
	if err != nil {
		return "", err
	}
	return filepath.Join(modules, ".bin", "cdk"), nil
}

// NodeModules returns the folder node_modules that holds the pinned packages
// from npm, installing them if need be as Install does.
func NodeModules(ctx context.Context, progress io.Writer) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	node := nodeTools(dir)
	if err := node.install(ctx, progress); err != nil {
		return "", err
	}
	return filepath.Join(node.dir, "node_modules"), nil
}

// tools is a set of pinned programs that are installed together.
type tools struct {
	what    string   // for the progress line
	dir     string   // holds nothing but this set
	locks   []string // files of pins that say what is installed
	program string   // relative to dir; there when the set is complete
	fetch   func(ctx context.Context, dir string) error
}

// dynoxide is the DynamoDB emulator in the set from npm.
var dynoxide = "node_modules/@dynoxide/" + nodePlatform() + "/dynoxide"

func nodeTools(local string) tools {
	return tools{
		what:    "DynamoDB emulator and CDK CLI from npm",
		dir:     filepath.Join(local, "tools", "node"),
		locks:   []string{"package.json", "package-lock.json"},
		program: dynoxide,
		fetch:   fetchNode,
	}
}

// nodePlatform is what npm calls this machine.
func nodePlatform() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return runtime.GOOS + "-" + arch
}

func (t tools) path() string { return filepath.Join(t.dir, filepath.FromSlash(t.program)) }

func (t tools) install(ctx context.Context, progress io.Writer) error {
	stamp, err := t.stamp()
	if err != nil {
		return err
	}
	if t.installed(stamp) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(t.dir), 0o755); err != nil {
		return err
	}
	unlock, err := Lock(ctx, t.dir+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	if t.installed(stamp) {
		return nil
	}

	if progress == nil {
		progress = io.Discard
	}
	fmt.Fprintf(progress, "Installing %s ...\n", t.what)
	start := time.Now()
	if err := os.RemoveAll(t.dir); err != nil {
		return err
	}
	if err := os.Mkdir(t.dir, 0o755); err != nil {
		return err
	}
	for _, name := range t.locks {
		text, err := pins.ReadFile("pins/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(t.dir, path.Base(name)), text, 0o644); err != nil {
			return err
		}
	}
	if err := t.fetch(ctx, t.dir); err != nil {
		return fmt.Errorf("installing %s: %w", t.what, err)
	}
	if err := os.WriteFile(t.stampFile(), []byte(stamp), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(progress, "Installed %s in %.1f s.\n", t.what, time.Since(start).Seconds())
	return nil
}

func (t tools) stampFile() string { return filepath.Join(t.dir, "installed") }

// stamp differs from one content of the lock files to another.
func (t tools) stamp() (string, error) {
	h := sha256.New()
	io.WriteString(h, nodePlatform())
	for _, name := range t.locks {
		text, err := pins.ReadFile("pins/" + name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "\n%s %d\n", name, len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (t tools) installed(stamp string) bool {
	got, err := os.ReadFile(t.stampFile())
	if err != nil || string(got) != stamp {
		return false
	}
	_, err = os.Stat(t.path()) // a Python that was upgraded away leaves a dangling link
	return err == nil
}

func fetchNode(ctx context.Context, dir string) error {
	if err := npmInstall(ctx, dir); err != nil {
		return err
	}
	// To npm the emulator is optional, as there is one package for each
	// platform: it says nothing when it could not get this one.
	if _, err := os.Stat(filepath.Join(dir, dynoxide)); err != nil {
		return fmt.Errorf("npm did not get @dynoxide/%s: see that its registry has it, "+
			"or start a DynamoDB Local of your own and name it in AWS_ENDPOINT_URL_DYNAMODB", nodePlatform())
	}
	return nil
}

// mendNode says how to get what checkNode and npm look for.
const mendNode = "install Node.js 20 or newer with npm (https://nodejs.org, or: apt-get install nodejs npm) and run this again"

// checkNode fails where Node.js is missing or too old.
func checkNode(ctx context.Context) error {
	version, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return fmt.Errorf("Node.js is missing (%w): %s", err, mendNode)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 20 {
		return fmt.Errorf("Node.js %s is too old: %s", strings.TrimSpace(string(version)), mendNode)
	}
	return nil
}

// npmInstall installs what the lock file in dir names.
func npmInstall(ctx context.Context, dir string) error {
	if err := checkNode(ctx); err != nil {
		return err
	}
	return npm(ctx, dir, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
}

// npm runs npm, which needs its registry.
func npm(ctx context.Context, dir string, args ...string) error {
	err := run(ctx, dir, "npm", args...)
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("npm is missing: %s", mendNode)
	}
	if err != nil {
		return fmt.Errorf("%w: see that npm reaches its registry (npm ping) and run this again", err)
	}
	return nil
}

// run runs a command in dir. Its error holds the end of what the command printed.
func run(ctx context.Context, dir, name string, args ...string) error {
	if strings.Contains(name, "/") {
		name = filepath.Join(dir, name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, tail(string(out), 5))
	}
	return nil
}

// tail returns the last n lines of text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
