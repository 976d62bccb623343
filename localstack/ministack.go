package localstack

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
)

// MiniStackOptions says how to start MiniStack.
type MiniStackOptions struct {
	Port       int       // 0: a free one
	DataDir    string    // keeps the state of a server that was stopped, made if need be; "": it is kept in memory
	EnforceIAM bool      // refuse what the caller's policies do not allow, as AWS does
	Env        []string  // further variables for it, NAME=value; they win
	Log        io.Writer // told of the installation; nil: nobody is
}

// StartMiniStack starts MiniStack, installing it if need be, and returns once
// it answers. The context bounds the start, not the server.
//
// MiniStack writes its state to DataDir when it is stopped, also by the end of
// the process that started it. What happened since its start is lost when it is
// killed itself: then queues lack messages, which the relay sends again.
func StartMiniStack(ctx context.Context, o MiniStackOptions) (*Server, error) {
	local, err := Dir()
	if err != nil {
		return nil, err
	}
	python := pythonTools(local)
	if err := python.install(ctx, orDiscard(o.Log)); err != nil {
		return nil, err
	}
	var data string
	if o.DataDir != "" {
		if data, err = makeDir(o.DataDir); err != nil {
			return nil, err
		}
	}
	return program{
		name:  "ministack",
		args:  func(int) []string { return []string{python.path(), "-m", "ministack"} },
		env:   func(port int) []string { return append(ministackEnv(port, data, o.EnforceIAM), o.Env...) },
		ready: func(port int) string { return fmt.Sprintf("Running on http://127.0.0.1:%d ", port) },
		probe: "/_ministack/health",
	}.start(ctx, local, o.Port)
}

func ministackEnv(port int, data string, enforceIAM bool) []string {
	env := []string{
		"BIND_HOST=127.0.0.1",
		"GATEWAY_PORT=" + strconv.Itoa(port),
		// The functions that it runs reach it by its own environment.
		"AWS_ENDPOINT_URL=http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		"AWS_ACCESS_KEY_ID=" + AccessKeyID,
		"AWS_SECRET_ACCESS_KEY=" + SecretAccessKey,
		"AWS_DEFAULT_REGION=" + Region,
		"MINISTACK_REGION=" + Region,
		"AUTH=" + strconv.FormatBool(enforceIAM),
		"PYTHONUNBUFFERED=1",
	}
	if data != "" {
		env = append(env,
			"PERSIST_STATE=1", "STATE_DIR="+filepath.Join(data, "state"),
			"S3_PERSIST=1", "S3_DATA_DIR="+filepath.Join(data, "s3"))
	}
	return env
}
