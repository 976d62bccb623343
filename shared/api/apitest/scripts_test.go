package apitest_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"collabdata/localstack/localstacktest"
	"collabdata/shared/api/apitest"
	"collabdata/shared/app"
	"collabdata/shared/queue"
	"collabdata/shared/table"
)

// TestScripts runs every script against the handlers.
func TestScripts(t *testing.T) {
	s, url := serve(t)
	apitest.Run(t, apitest.Target{BaseURL: url, Seeder: s.Store})
}

// serve serves the handlers, with the store on the emulator and the queue on MiniStack.
func serve(t *testing.T) (s *app.Service, url string) {
	t.Helper()
	sqs := localstacktest.Config(localstacktest.MiniStack(t))
	name := fmt.Sprintf("scripts-%d", time.Now().UnixNano())
	urls, err := queue.Create(t.Context(), sqs, name+"-")
	if err != nil {
		t.Fatal(err)
	}
	s = app.New(app.Config{
		DynamoDB:  localstacktest.Config(localstacktest.DynamoDB(t)),
		SQS:       sqs,
		Table:     name,
		EventsURL: urls[table.EventsQueue],
		Log:       slog.New(slog.DiscardHandler),
	})
	if err := s.Store.CreateTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return s, server.URL
}
