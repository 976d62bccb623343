package apitest

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"collabdata/localstack"
	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/keys"
	"collabdata/shared/queue"
	"collabdata/shared/testing/localstacktest"
	"collabdata/shared/testing/must"
)

// Start returns a service with its own table and queues, configured by change. It has the account
// acme with the credentials "key" and "token".
func Start(t testing.TB, change ...func(*app.Config)) *app.Service {
	t.Helper()
	name := "test-" + rand.Text()
	c := app.Config{
		DynamoDB: localstacktest.Config(localstacktest.DynamoDB(t)),
		SQS:      localstacktest.Config(localstacktest.MiniStack(t)),
		Table:    name,
		Log:      slog.New(slog.DiscardHandler),
	}
	must.Do(t, localstack.CreateTable(t.Context(), c.DynamoDB, c.Table))
	urls, err := queue.Create(t.Context(), c.SQS, name+"-")
	must.Do(t, err)
	c.EventsURL = urls[keys.EventsQueue]
	for _, f := range change {
		f(&c)
	}
	s := app.New(c)
	token := collab.Token{Hash: collab.HashToken("token")}
	must.Do(t, s.Accounts.EnsureAccount(t.Context(), collab.Account{ID: "acme"}, "key", []collab.Token{token}))
	return s
}

// Post sends a body to an operation with the credentials of the account acme. header alternates
// names and values.
func Post(h http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(credentials.KeyHeader, "key")
	r.Header.Set(credentials.TokenHeader, "token")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
