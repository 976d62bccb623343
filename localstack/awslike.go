package localstack

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
)

// StartAWSLike builds and starts awslike, a proxy that adds to the DynamoDB at
// the URL target what AWS does and emulators do not: see awslike/README.md. The
// context bounds the start, not the server.
func StartAWSLike(ctx context.Context, target string) (*Server, error) {
	local, err := Dir()
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(local, "bin", "awslike")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./localstack/awslike")
	build.Dir = filepath.Dir(local)
	if printed, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build awslike: %w: %s", err, printed)
	}
	return program{
		name: "awslike",
		args: func(port int) []string {
			return []string{binary, "-listen", "127.0.0.1:" + strconv.Itoa(port), "-target", target}
		},
		env:   func(int) []string { return nil },
		ready: func(port int) string { return fmt.Sprintf("listening on 127.0.0.1:%d", port) },
		probe: "/_stats",
	}.start(ctx, local, 0)
}
