package localstack

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// DynamoDBOptions configure the DynamoDB emulator.
type DynamoDBOptions struct {
	Port    int       // 0 means a free port
	DataDir string    // stores the tables, created if needed; "" keeps them in memory
	Log     io.Writer // progress of the installation; may be nil
}

// StartDynamoDB starts the DynamoDB emulator, and returns when it is ready. It installs it if
// needed. The context limits the start, not the server. With a DataDir, acknowledged writes survive
// a restart or kill.
func StartDynamoDB(ctx context.Context, o DynamoDBOptions) (*Server, error) {
	local, err := Dir()
	if err != nil {
		return nil, err
	}
	node, err := nodeTools.install(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	var storage []string
	if o.DataDir != "" {
		data, err := makeDir(o.DataDir)
		if err != nil {
			return nil, err
		}
		storage = []string{"--db-path", filepath.Join(data, "dynamodb.sqlite")}
	}
	return program{
		name: "dynamodb",
		args: func(port int) []string {
			return append([]string{filepath.Join(node, nodeTools.program), "serve", "--host", "127.0.0.1", "--port", strconv.Itoa(port)}, storage...)
		},
		env:   func(int) []string { return nil },
		ready: func(port int) string { return fmt.Sprintf("listening on http://127.0.0.1:%d", port) },
		probe: "/",
	}.start(ctx, local, o.Port)
}

// makeDir creates the folder and returns its absolute path.
func makeDir(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}
