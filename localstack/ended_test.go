package localstack

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"collabdata/shared/testing/must"
)

func TestServerThatEndsByItself(t *testing.T) {
	server, err := StartDynamoDB(t.Context(), DynamoDBOptions{})
	must.Do(t, err)
	must.Do(t, syscall.Kill(-server.cmd.Process.Pid, syscall.SIGKILL))
	select {
	case <-server.Done():
	case <-time.After(stopTimeout):
		t.Fatal("Done is open though the server was killed")
	}
	if err := server.Stop(); err == nil || !strings.Contains(err.Error(), "had already ended") {
		t.Errorf("Stop: error %v, want one that says the server had ended", err)
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	dir, err := Dir()
	must.Do(t, err)
	broken := program{
		name:  "broken",
		args:  func(int) []string { return []string{"/bin/sh", "-c", "echo out of luck; exit 1"} },
		env:   func(int) []string { return nil },
		ready: func(int) string { return "ready" },
	}
	_, err = broken.start(t.Context(), dir, 0)
	if err == nil || !strings.Contains(err.Error(), "out of luck") || !strings.Contains(err.Error(), "make distclean") {
		t.Errorf("error %v, want what it printed and how to mend it", err)
	}
}
