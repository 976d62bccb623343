package localstack

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// DynamoDBOptions says how to start the DynamoDB emulator.
type DynamoDBOptions struct {
	Port    int       // 0: a free one
	DataDir string    // keeps the tables, made if need be; "": they are kept in memory
	Log     io.Writer // for the progress of the installation; nil: none
}

// StartDynamoDB starts the DynamoDB emulator, installing it if need be, and
// returns once it answers. The context bounds the start, not the server. With
// a DataDir every write that was answered is there again after a restart, even
// after a kill.
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

// makeDir makes the folder and returns its full path.
func makeDir(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}
