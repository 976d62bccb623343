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

// BenchmarkStartup compares the start of functions with that of a bare program with the same clients: all are built alike and started in
// turn, and the fastest start of each counts, which other work on the machine hardly changes. At most 1.2 times is wanted.
func BenchmarkStartup(b *testing.B) {
	candidates := []struct{ name, folder string }{
		{"bare", "collabdata/localstack/e2e/testdata/bare"},
		{"add", "collabdata/functions/v2/commentannotations/add"},
		{"get", "collabdata/functions/v2/commentannotations/get"},
	}
	programs := make([]string, len(candidates))
	for i, c := range candidates {
		programs[i] = filepath.Join(b.TempDir(), c.name)
		cmd := exec.Command("go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", programs[i], c.folder)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	fastest := make([]time.Duration, len(candidates))
	for b.Loop() {
		for i, program := range programs {
			if took := start(b, program); fastest[i] == 0 || took < fastest[i] {
				fastest[i] = took
			}
		}
	}
	for i, c := range candidates {
		info, err := os.Stat(programs[i])
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/1e6, c.name+"-MB")
		b.ReportMetric(fastest[i].Seconds()*1e3, c.name+"-ms")
		b.ReportMetric(float64(fastest[i])/float64(fastest[0]), c.name+"-ratio")
	}
}

// start starts the program as Lambda does and returns how long it took to ask for its first event.
func start(t testing.TB, program string) time.Duration {
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
