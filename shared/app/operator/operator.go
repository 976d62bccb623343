// Package operator puts together an operator's side of a deployment: the operator's own operations, and those of the API in the name of an
// account. It is apart from package app as it links what explains deliveries, which no endpoint needs.
package operator

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"collabdata/shared/api"
	"collabdata/shared/api/operator"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app"
	"collabdata/shared/client"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/mail"
	"collabdata/shared/store/inbox"
)

// Config says which deployment.
type Config struct {
	App      app.Config
	CheckURL func(string) error // returns the rule that a permission provider's URL breaks
}

// Operator calls operations of a deployment in this process. Safe for concurrent use.
type Operator struct {
	service  *app.Service
	own      map[string]http.Handler // by path
	transfer map[string]http.Handler // by path: see operator.Transfer
}

// New returns the operator of a deployment. It calls nothing.
func New(c Config) *Operator {
	c.App.Log = slog.New(causes{c.App.Log.Handler()})
	s := app.New(c.App)
	d := s.Directory
	now := d.Now
	in := inbox.New(s.Outbox, d.WithDisabled())
	service := &operator.Service{
		Accounts: s.Accounts, Directory: d, Threads: s.Threads, Outbox: s.Outbox, Hooks: s.Hooks, Inbox: in,
		Deliverer: delivery.New(delivery.Options{
			Accounts: s.Accounts, Directory: d, Threads: s.Threads, Outbox: s.Outbox, Hooks: s.Hooks, Inbox: in,
			Mailer: noMailer{}, PageSize: 25, Guard: s.Guard, Now: now, Log: slog.New(slog.DiscardHandler), Random: rand.Reader,
		}),
		CheckURL: c.CheckURL, Random: rand.Reader,
	}
	o := &Operator{service: s.WithDisabled(), own: map[string]http.Handler{}, transfer: map[string]http.Handler{}}
	server := &rpc.Server{Now: now, Random: rand.Reader, Log: c.App.Log}
	for _, e := range operator.Endpoints() {
		o.own[e.Path] = e.Handler(server, rpc.Services{service})
	}
	for _, e := range operator.Transfer() {
		o.transfer[e.Path] = e.Handler(server, rpc.Services{service})
	}
	return o
}

// noMailer stands for the deployment's mail service where it is explained who would get a mail.
type noMailer struct{}

// Send sends nothing.
func (noMailer) Send(context.Context, mail.Notice) error { return errors.ErrUnsupported }

// Endpoints returns the operations that an operator calls: first the operator's own, then those of the API, each in its latest version.
func Endpoints() []rpc.Endpoint {
	list := operator.Endpoints()
	for _, e := range api.Endpoints() {
		if !e.Public && !strings.HasPrefix(e.Path, "/v1/") {
			list = append(list, e)
		}
	}
	return list
}

// Endpoint returns the row of a path.
func Endpoint(path string) (e rpc.Endpoint, ok bool) {
	for _, e := range Endpoints() {
		if e.Path == path {
			return e, true
		}
	}
	return e, false
}

// handler returns what serves a path, in the name of an account where that is an operation of the API. Disabled organizations and documents
// are read and written as if they were enabled.
func (o *Operator) handler(ctx context.Context, account, path string) (http.Handler, error) {
	if h := o.own[path]; h != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r.WithContext(collab.WithIdentity(r.Context(), collab.Identity{})))
		}), nil
	}
	return o.inNameOf(ctx, account, false)
}

// inNameOf returns what serves the API for an account. The account's settings refuse nothing. If quiet, webhooks get only events that a
// request asks for.
func (o *Operator) inNameOf(ctx context.Context, account string, quiet bool) (http.Handler, error) {
	a, err := o.service.Accounts.Account(ctx, account)
	if err != nil {
		return nil, err
	}
	s := a.Settings
	s.AdvancedQueriesOff, s.NotificationPreferencesOff, s.AllEvents = false, false, s.AllEvents && !quiet
	return o.service.HandlerFor(collab.Identity{Account: a.ID, Settings: s}), nil
}

// ServeHTTP serves the operator's own operations, for tests of what they answer.
func (o *Operator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, err := o.handler(r.Context(), "", r.URL.Path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	id := rand.Text()
	w.Header().Set(collab.RequestIDHeader, id)
	h.ServeHTTP(w, r.WithContext(collab.WithRequestID(r.Context(), id)))
}

// Cause returns the cause of a failure, for an operator, who may know more than a caller is told.
func Cause(err error) string {
	failure, ok := errors.AsType[*collab.Error](err)
	switch {
	case ok && failure.Code == collab.Internal && failure.Err != nil:
		return failure.Err.Error()
	case ok:
		return failure.Message
	}
	return err.Error()
}

// Result is the answer of an operation.
type Result struct {
	Data          json.RawMessage `json:"data"`
	Message       string          `json:"message"`
	NextPageToken string          `json:"nextPageToken"`
	JobID         string          `json:"jobId"`
}

// Call calls an operation with its data. It fails as the operation does, with the cause of what the operation does not tell others.
func (o *Operator) Call(ctx context.Context, account, path string, data any) (*Result, error) {
	body, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return nil, err
	}
	h, err := o.handler(ctx, account, path)
	if err != nil {
		return nil, err
	}
	var cause error
	req, err := http.NewRequestWithContext(context.WithValue(ctx, causeKey{}, &cause), http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := inProcess{h}.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Result Result
		Error  struct {
			Status  collab.Code
			Message string
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, err
	}
	switch {
	case answer.Error.Status == "":
		return &answer.Result, nil
	case cause != nil:
		return nil, cause
	}
	return nil, collab.Errorf(answer.Error.Status, "%s", answer.Error.Message)
}

// Transfer returns what serves exports from an account and imports to it: the API in the account's
// name, whose settings refuse nothing, and operator.Transfer. No webhook gets an event that a
// request did not ask for.
func (o *Operator) Transfer(ctx context.Context, account string) (http.Handler, error) {
	ofAPI, err := o.inNameOf(ctx, account, true)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := ofAPI
		if own := o.transfer[r.URL.Path]; own != nil {
			h, r = own, r.WithContext(collab.WithIdentity(r.Context(), collab.Identity{Account: account}))
		}
		h.ServeHTTP(w, r)
	}), nil
}

// Client returns a client of Transfer in this process.
func (o *Operator) Client(ctx context.Context, account string) (*client.Client, error) {
	h, err := o.Transfer(ctx, account)
	if err != nil {
		return nil, err
	}
	return client.New(client.Config{
		BaseURL:  "http://in.process",
		HTTP:     &http.Client{Transport: inProcess{h}},
		Attempts: 100, Timeout: 10 * time.Minute, // it waits while an account is at its quotas
	}), nil
}

// causes is a log handler that tells a caller in this process the cause of a failure.
type causes struct{ slog.Handler }

type causeKey struct{}

// Enabled reports true for what may hold a cause.
func (h causes) Enabled(ctx context.Context, level slog.Level) bool {
	return ctx.Value(causeKey{}) != nil || h.Handler.Enabled(ctx, level)
}

// Handle keeps the cause of a record for the caller, and logs a record of others.
func (h causes) Handle(ctx context.Context, r slog.Record) error {
	to, ok := ctx.Value(causeKey{}).(*error)
	if !ok {
		return h.Handler.Handle(ctx, r)
	}
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && a.Key == "cause" {
			*to = err
		}
		return true
	})
	return nil
}

// inProcess sends requests to a handler.
type inProcess struct{ http.Handler }

// RoundTrip returns the handler's answer.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &answer{status: http.StatusOK, header: http.Header{}}
	p.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: r}, nil
}

// answer is what a handler answers.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header            { return a.header }
func (a *answer) WriteHeader(status int)         { a.status = status }
func (a *answer) Write(text []byte) (int, error) { return a.body.Write(text) }
