package localstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// MiniStackOptions configure MiniStack.
type MiniStackOptions struct {
	Port    int       // 0 means the last port of DataDir, or a free port
	DataDir string    // stores the state on stop, created if needed; "" keeps it in memory
	Log     io.Writer // progress of the installation; may be nil
}

// StartMiniStack starts MiniStack, and returns when it is ready. It installs it if needed. The
// context limits the start, not the server.
//
// MiniStack writes its state to DataDir when it stops, also when its parent process ends. If it is
// killed, it loses changes since its start: queues then lack messages, which the relay sends again.
// A DataDir keeps its port, because the URLs of queues contain it.
func StartMiniStack(ctx context.Context, o MiniStackOptions) (*Server, error) {
	local, err := Dir()
	if err != nil {
		return nil, err
	}
	python, err := pythonTools.install(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	var data string
	if o.DataDir != "" {
		if data, err = makeDir(o.DataDir); err != nil {
			return nil, err
		}
		if o.Port, err = keptPort(data, o.Port); err != nil {
			return nil, err
		}
	}
	return program{
		name:  "ministack",
		args:  func(int) []string { return []string{filepath.Join(python, pythonTools.program), "-m", "ministack"} },
		env:   func(port int) []string { return ministackEnv(port, data) },
		ready: func(port int) string { return fmt.Sprintf("Running on http://127.0.0.1:%d ", port) },
		probe: "/_ministack/health",
	}.start(ctx, local, o.Port)
}

// keptPort returns the port stored in the folder. The first use stores the wanted port, or a free
// port if wanted is 0.
func keptPort(data string, wanted int) (int, error) {
	path := filepath.Join(data, "port")
	text, err := os.ReadFile(path)
	if err == nil {
		port, err := strconv.Atoi(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s contains no port: remove %s", path, data)
		}
		if wanted != 0 && wanted != port {
			return 0, fmt.Errorf("the state in %s belongs to port %d, not %d: use that port, or remove the folder", data, port, wanted)
		}
		if free, err := isFree(port); !free {
			return 0, fmt.Errorf(
				"port %d, which the state in %s requires, is in use: stop the program that uses it, or remove the folder (%w)", port, data, err,
			)
		}
		return port, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if wanted == 0 {
		if wanted, err = freePort(); err != nil {
			return 0, err
		}
	}
	return wanted, os.WriteFile(path, []byte(strconv.Itoa(wanted)), 0o644)
}

func ministackEnv(port int, data string) []string {
	env := []string{
		"BIND_HOST=127.0.0.1",
		"GATEWAY_PORT=" + strconv.Itoa(port),
		"MINISTACK_REGION=" + Region,
		// these listen on all addresses if their libraries are installed
		"IOT_MTLS_ENABLED=0", "SFTP_ENABLED=0",
		"PYTHONUNBUFFERED=1",
	}
	if data != "" {
		env = append(env,
			"PERSIST_STATE=1", "STATE_DIR="+filepath.Join(data, "state"),
			"S3_PERSIST=1", "S3_DATA_DIR="+filepath.Join(data, "s3"))
	}
	return env
}

// Mail is an email accepted by MiniStack's SES. Only these headers are available.
type Mail struct {
	From    string `json:"Source"`
	To      []string
	Subject string
	Text    string  `json:"BodyText"`
	HTML    string  `json:"BodyHtml"`
	At      float64 `json:"Timestamp"` // time of acceptance, in seconds since epoch
}

// Emails returns the emails of an account that the MiniStack at url has accepted since its start,
// oldest first.
func Emails(ctx context.Context, url, account string) ([]Mail, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/_ministack/ses/messages?account="+account, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: only MiniStack lists emails", req.URL, res.Status)
	}
	var body struct {
		Messages map[string][]Mail `json:"messages"`
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		return nil, fmt.Errorf("%s: %w", req.URL, err)
	}
	return body.Messages[account], nil
}
