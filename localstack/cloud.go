package localstack

import (
	"context"
	"io"
	"path/filepath"
	"strconv"
)

// InstallLocalStack installs LocalStack and DynamoDB Local, unless they are
// installed. It needs Python 3.13, Java and Maven. Progress goes to a writer,
// nil for none.
func InstallLocalStack(ctx context.Context, progress io.Writer) error {
	_, err := cloudTools.install(ctx, progress)
	return err
}

// StartLocalStack starts LocalStack on a port, 0 for a free one, and returns
// once it answers. It installs LocalStack if need be, and reports that to
// progress, nil for none. The context bounds the start, not the server.
// LocalStack forgets everything when it ends.
func StartLocalStack(ctx context.Context, port int, progress io.Writer) (*Server, error) {
	local, err := Dir()
	if err != nil {
		return nil, err
	}
	dir, err := cloudTools.install(ctx, progress)
	if err != nil {
		return nil, err
	}
	return program{
		name: "localstack",
		args: func(port int) []string {
			start := filepath.Join(filepath.Dir(local), "localstack", "start.py")
			return []string{filepath.Join(dir, cloudTools.program), start, strconv.Itoa(port), filepath.Join(dir, "dynamodb")}
		},
		env:   func(int) []string { return []string{"PYTHONUNBUFFERED=1"} },
		ready: func(int) string { return "Ready." },
		probe: "/_localstack/health",
	}.start(ctx, local, port)
}
