package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStartup holds that a function starts nearly as fast as a bare program with the same clients: both are built alike and started in
// turn, and the fastest start of each counts, which other work on the machine does not change.
func TestStartup(t *testing.T) {
	const limit = 1.2
	type candidate struct {
		name, folder, program string
		fastest               time.Duration
	}
	candidates := []*candidate{
		{name: "bare", folder: "collabdata/localstack/e2e/testdata/bare"},
		{name: "add", folder: "collabdata/functions/v2/commentannotations/add"},
		{name: "get", folder: "collabdata/functions/v2/commentannotations/get"},
	}
	dir := t.TempDir()
	for _, c := range candidates {
		c.program = filepath.Join(dir, c.name)
		cmd := exec.Command("go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", c.program, c.folder)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for range 25 {
		for _, c := range candidates {
			took := start(t, c.program)
			if c.fastest == 0 || took < c.fastest {
				c.fastest = took
			}
		}
	}
	bare := candidates[0].fastest
	for _, c := range candidates {
		info, err := os.Stat(c.program)
		if err != nil {
			t.Fatal(err)
		}
		ratio := float64(c.fastest) / float64(bare)
		t.Logf("%-5s %5.1f MB, asks for work after %5.1f ms, %.2f times bare", c.name, float64(info.Size())/1e6, c.fastest.Seconds()*1e3, ratio)
		if ratio > limit {
			t.Errorf("%s takes %.2f times as long to start as a bare program, want %.1f at most", c.name, ratio, limit)
		}
	}
}

// start starts the program as Lambda does and returns how long it took to ask for its first event.
func start(t *testing.T, program string) time.Duration {
	t.Helper()
	asked := make(chan time.Time, 1)
	runtime := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- time.Now():
		default:
		}
		<-r.Context().Done()
	}))
	defer runtime.Close()
	cmd := exec.Command(program)
	cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(runtime.URL, "http://"), "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true",
		"STAGE=local", "TABLE_NAME=t", "EVENTS_QUEUE_URL=http://127.0.0.1:1/q", "WEBHOOKS_QUEUE_URL=http://127.0.0.1:1/w",
	}
	before := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		cmd.Process.Kill()
		<-ended
	}()
	select {
	case at := <-asked:
		return at.Sub(before)
	case err := <-ended:
		ended <- err
		t.Fatalf("%s ended: %v", program, err)
	case <-time.After(30 * time.Second):
		t.Fatalf("%s does not ask for work", program)
	}
	return 0
}
