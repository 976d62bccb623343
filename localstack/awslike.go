package localstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// ErrNoAWSLike says that awslike is not on this machine.
var ErrNoAWSLike = errors.New("awslike is not here: check it out as ../shared/awslike, or name its folder in AWSLIKE")

// StartAWSLike builds and starts awslike, a proxy that adds to the DynamoDB at
// the URL target what AWS does and emulators do not: latency, conflicts, limits.
// Its settings and counts are under /_config and /_stats. It fails with
// ErrNoAWSLike where its source is neither in the folder that the environment
// names in AWSLIKE nor in ../shared/awslike, seen from the repository. The context
// bounds the start, not the server.
func StartAWSLike(ctx context.Context, target string) (*Server, error) {
	local, err := Dir()
	if err != nil {
		return nil, err
	}
	source := os.Getenv("AWSLIKE")
	if source == "" {
		source = filepath.Join(filepath.Dir(local), "..", "shared", "awslike")
	}
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoAWSLike, err)
	}
	binary := filepath.Join(local, "bin", "awslike")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./proxy")
	build.Dir = source
	build.Env = append(os.Environ(), "GOWORK=off")
	if printed, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build awslike in %s: %w: %s", source, err, printed)
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
