package assistant

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTransportFails checks that calls in parallel share an attempt to renew a token, even if it
// fails.
func TestTransportFails(t *testing.T) {
	const calls = 8
	var sent sync.WaitGroup
	sent.Add(calls)
	var received, runs atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if received.Add(1) <= calls {
			sent.Done()
			sent.Wait() // each call has used the first token
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	transport := NewTransport("old", func() (string, error) {
		runs.Add(1)
		return "", errors.New("no token")
	})
	client := &http.Client{Transport: transport}
	post := func() {
		res, err := client.Post(server.URL, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Error(err)
			return
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("a call gets %s", res.Status)
		}
	}
	var done sync.WaitGroup
	for range calls {
		done.Go(post)
	}
	done.Wait()
	if got := runs.Load(); got != 1 {
		t.Errorf("%d calls renew the token %d times", calls, got)
	}
	post()
	if got := runs.Load(); got != 2 {
		t.Errorf("a later call does not try again: %d attempts", got)
	}
}
