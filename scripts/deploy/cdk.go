package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"collabdata/infra/stack"
	"collabdata/localstack"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// settings returns the context values of infra/cdk.json, overridden by the arguments.
func (d *deployment) settings() (map[string]string, error) {
	settings := map[string]string{"stage": "prod", "arch": "arm64"}
	text, err := os.ReadFile(filepath.Join(d.root, "infra", "cdk.json"))
	if err != nil {
		return nil, err
	}
	var file struct{ Context map[string]any }
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("infra/cdk.json: %w", err)
	}
	for name, value := range file.Context {
		settings[name] = fmt.Sprint(value)
	}
	maps.Copy(settings, contextArguments(d.args))
	return settings, nil
}

// contextArguments returns the context values in cdk's arguments.
func contextArguments(args []string) map[string]string {
	values := map[string]string{}
	for i, arg := range args {
		for _, option := range []string{"-c", "--context"} {
			text, joined := strings.CutPrefix(arg, option+"=")
			if arg == option && i+1 < len(args) {
				text, joined = args[i+1], true
			}
			if !joined {
				continue
			}
			if name, value, ok := strings.Cut(text, "="); ok {
				values[name] = value
			}
		}
	}
	return values
}

// cdk is the CDK's command-line tool with the app.
type cdk struct {
	*deployment
	path string
	dir  string // working directory: a cdk.json there adds settings
}

// newCDK installs the tool, builds the functions unless the last build is to be used, and compiles
// the app.
func (d *deployment) newCDK(ctx context.Context, arch, dir string) (cdk, error) {
	path, err := localstack.CDK(ctx, d.progress)
	if err != nil {
		return cdk{}, err
	}
	if !d.built {
		if err := d.buildFunctions(ctx, arch); err != nil {
			return cdk{}, err
		}
	} else if _, err := os.Stat(d.functions(arch)); err != nil {
		return cdk{}, fmt.Errorf("no functions are built for %s: leave out --built", arch)
	}
	return cdk{d, path, dir}, d.step("Compiling the CDK app (a minute the first time)", func() error {
		return quietly(ctx, program(ctx, d.root, nil, "go", "build", "-buildvcs=true", "-o", filepath.Join(d.local, "bin", "infra"), "./infra"))
	})
}

// command prepares a command of cdk without the app.
func (c cdk) command(ctx context.Context, args ...string) *exec.Cmd {
	return program(ctx, c.dir, nil, c.path, args...)
}

// onStack prepares a command of cdk for the stack.
func (c cdk) onStack(ctx context.Context, args ...string) *exec.Cmd {
	local := ".local"
	if c.dir != c.root {
		local = "../.local" // a relative path needs no quotes; cdk would strip some
	}
	app := fmt.Sprintf("%s/bin/infra -functions %s/functions", local, local)
	args = append(args, "--app", app, "--output", local+"/cdk.out", "--no-version-reporting", "--no-notices")
	return c.command(ctx, append(args, c.args...)...)
}

// bootstrapStack is the CDK's own stack, needed once per account and region.
const bootstrapStack = "CDKToolkit"

// stackThere reports whether a CloudFormation stack exists.
func stackThere(ctx context.Context, cfg aws.Config, name string) (bool, error) {
	_, err := stack.Outputs(ctx, cfg, name)
	if errors.Is(err, stack.ErrNone) {
		return false, nil
	}
	return err == nil, err
}
