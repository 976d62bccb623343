// Command deploy builds the functions and deploys the CDK app to AWS or to a local cloud.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"collabdata/localstack"
)

const usage = `usage: deploy <command> [--built] [arguments of cdk, such as -c stage=test]

  aws            build, and deploy to the AWS account of the environment's credentials
  local          build, and deploy to the cloud at AWS_ENDPOINT_URL, else to LocalStack on port PORT or 4566, which is started if
                 needed
  destroy-local  remove the deployment of local, and stop the cloud that it started
  build          build the functions for the setting arch (arm64 unless -c arch=x86_64), for cdk deploy in the folder infra

--built uses this machine's last build of the functions.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	local, err := localstack.Dir()
	if err != nil {
		return err
	}
	command, args := args[0], args[1:]
	built := slices.Contains(args, "--built")
	args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--built" })
	d := &deployment{root: filepath.Dir(local), local: local, built: built, args: args, progress: os.Stdout}
	switch command {
	case "aws":
		return d.toAWS(ctx)
	case "local":
		return d.toLocal(ctx)
	case "destroy-local":
		return d.destroyLocal(ctx)
	case "build":
		settings, err := d.settings()
		if err != nil {
			return err
		}
		path, err := localstack.CDK(ctx, d.progress)
		if err != nil {
			return err
		}
		if err := d.buildFunctions(ctx, settings["arch"]); err != nil {
			return err
		}
		fmt.Fprintf(d.progress, "Deploy them with cdk deploy in the folder infra, with your own cdk or %s\n", path)
		return nil
	default:
		return errors.New(usage)
	}
}

// deployment is one run of this program.
type deployment struct {
	root     string   // of the repository
	local    string   // the folder .local in it
	built    bool     // use the last build of the functions
	args     []string // for cdk
	progress io.Writer
}

// step runs a part of the work and prints its duration.
func (d *deployment) step(what string, do func() error) error {
	fmt.Fprintf(d.progress, "%s ...\n", what)
	start := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintf(d.progress, "  done in %.1f s\n", time.Since(start).Seconds())
	return nil
}

// program prepares a program that is terminated, not killed, when the context ends. A nil env means
// the environment of this process.
func program(ctx context.Context, dir string, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

// quietly runs a program. Its error contains the end of the program's output.
func quietly(ctx context.Context, cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
	return nil
}
