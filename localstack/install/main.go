// Install installs the pinned tools of the local cloud into the folder .local of the repository if
// needed. If an argument names another tool, such as openapi-python-client, it installs that tool
// and prints its path.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"collabdata/localstack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return localstack.Install(ctx, os.Stdout)
	}
	for _, name := range names {
		path, err := localstack.CheckTool(ctx, name, os.Stderr)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}
