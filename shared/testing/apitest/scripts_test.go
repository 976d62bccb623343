package apitest_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"collabdata/localstack"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/app/deliver"
	"collabdata/shared/app/local/worker"
	"collabdata/shared/app/operate"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/testing/apitest"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
)

// TestScripts runs every script against the handlers. No endpoint may need more than its grants,
// and every written item must be of a kind in package keys.
func TestScripts(t *testing.T) {
	o := &overseer{used: map[string]rpc.Grants{}, wrong: map[string]bool{}, errors: errorTexts{}}
	s, url := serveWatched(t, o)
	t.Cleanup(func() {
		o.report(t)
		if everyScript() {
			o.errors.check(t)
		}
	})
	t.Cleanup(func() { checkKinds(t, s.Outbox.Table) })
	apitest.Run(t, apitest.Target{
		BaseURL: url, Seeder: apitest.Seeder{Accounts: s.Accounts, Directory: s.Directory},
		Operator: operate.New(operate.Config{App: s.Config(), CheckURL: s.Guard.CheckURL}),
	})
}

// TestExamples checks that each example of the reference works on its data.
func TestExamples(t *testing.T) {
	s, url := serve(t)
	apitest.RunExamples(t, apitest.Target{BaseURL: url, Seeder: apitest.Seeder{Accounts: s.Accounts, Directory: s.Directory}})
}

// TestHostile checks that no request causes a fault of the service.
func TestHostile(t *testing.T) {
	s, url := serve(t)
	apitest.RunHostile(t, apitest.Target{BaseURL: url, Seeder: apitest.Seeder{Accounts: s.Accounts, Directory: s.Directory}})
}

// serve serves the handlers and delivers their events, with the table on the emulator and the queue
// on MiniStack.
func serve(t *testing.T) (s *app.Service, url string) {
	t.Helper()
	return serveWatched(t, &overseer{used: map[string]rpc.Grants{}, wrong: map[string]bool{}, errors: errorTexts{}})
}

// serveWatched is serve with an overseer of the handlers' calls.
func serveWatched(t *testing.T, o *overseer) (s *app.Service, url string) {
	t.Helper()
	sqs := localstacktest.Config(localstacktest.MiniStack(t))
	name := fmt.Sprintf("scripts-%d", time.Now().UnixNano())
	urls, err := queue.Create(t.Context(), sqs, name+"-")
	must.Do(t, err)
	dynamoDB, log := localstacktest.Config(localstacktest.DynamoDB(t)), slog.New(slog.DiscardHandler)
	watchedDB, watchedSQS := dynamoDB, sqs
	watchedDB.HTTPClient, watchedSQS.HTTPClient = o.before(dynamoDB.HTTPClient), o.before(sqs.HTTPClient)
	s = app.New(app.Config{DynamoDB: watchedDB, SQS: watchedSQS, Table: name, EventsURL: urls[keys.EventsQueue], LiveURL: "ws://live.example", Log: log})
	must.Do(t, localstack.CreateTable(t.Context(), dynamoDB, name))
	delivery, err := worker.New(deliver.Config{
		DynamoDB: dynamoDB, SQS: sqs, Table: name,
		EventsURL: urls[keys.EventsQueue], CallsURL: urls[keys.CallsQueue], Log: log,
	})
	must.Do(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		delivery.Run(ctx)
	}()
	server := httptest.NewServer(o.watch(s.Handler()))
	t.Cleanup(func() {
		server.Close()
		cancel()
		<-delivered
	})
	return s, server.URL
}
