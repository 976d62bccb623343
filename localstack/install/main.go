// Install puts the pinned tools of the local cloud into the folder .local of
// the repository, unless they are there already.
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
	if err := localstack.Install(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
