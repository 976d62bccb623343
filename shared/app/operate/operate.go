// Package operate assembles an operator's access to a deployment: the operator's own operations,
// and those of the API in the name of an account. It is separate from package app because it links
// the explanation of deliveries, which no endpoint needs.
package operate

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
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

// Config configures an Operator.
type Config struct {
	App      app.Config
	CheckURL func(string) error // validates the URL of a permission provider

	// Identity returns the identity of the operator for the audit log; "local" if nil.
	Identity func(context.Context) (string, error)
}

// Operator calls operations of a deployment in process. It is safe for concurrent use.
type Operator struct {
	service  *app.Service // treats disabled organizations and documents as enabled
	own      *operator.Service
	who      *who
	server   *rpc.Server             // for own operations
	transfer map[string]http.Handler // by path, see operator.Transfer
}

// New returns the operator of a deployment. It makes no calls.
func New(c Config) *Operator {
	s := app.New(c.App)
	d := s.Directory
	now := d.Now
	in := inbox.New(s.Outbox, d.WithDisabled())
	o := &Operator{
		service:  s.WithDisabled(),
		transfer: map[string]http.Handler{},
		who:      &who{read: c.Identity},
		server:   &rpc.Server{Now: now, Random: rand.Reader, Log: c.App.Log, Audit: audit(s)},
		own: &operator.Service{
			Accounts: s.Accounts, Directory: d, Threads: s.Threads, Outbox: s.Outbox, Hooks: s.Hooks, Inbox: in,
			Deliverer: delivery.New(delivery.Options{
				Accounts: s.Accounts, Directory: d, Threads: s.Threads, Outbox: s.Outbox, Hooks: s.Hooks, Inbox: in,
				Mailer: noMailer{}, PageSize: 25, Guard: s.Guard, Now: now, Log: slog.New(slog.DiscardHandler), Random: rand.Reader,
			}),
			CheckURL: c.CheckURL, Random: rand.Reader,
		},
	}
	for _, e := range operator.Transfer() {
		o.transfer[e.Path] = e.Handler(o.server, rpc.Services{o.own})
	}
	return o
}

// who is the identity of the operator.
type who struct {
	read func(context.Context) (string, error)

	mu   sync.Mutex
	name string
}

// identity returns the identity, and reads it once.
func (w *who) identity(ctx context.Context) (string, error) {
	if w.read == nil {
		return "local", nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.name == "" {
		name, err := w.read(ctx)
		if err != nil {
			return "", fmt.Errorf("reading the operator's identity for the audit log: %w", err)
		}
		w.name = name
	}
	return w.name, nil
}

// audit stores acts of the operator's own operations. Their account is that of the request, or of
// its API key.
func audit(s *app.Service) func(context.Context, collab.Act) error {
	return func(ctx context.Context, a collab.Act) error {
		if ids := a.IDs["accountId"]; a.Account == "" && len(ids) > 0 {
			a.Account = ids[0]
		}
		if ids := a.IDs["apiKey"]; a.Account == "" && len(ids) > 0 {
			key, err := s.Accounts.APIKey(ctx, ids[0])
			if err != nil {
				return err
			}
			a.Account = key.Account
		}
		return s.Audit(ctx, a)
	}
}

// noMailer replaces the email service in explanations of recipients.
type noMailer struct{}

func (noMailer) Send(context.Context, mail.Email) error { return errors.ErrUnsupported }

// Endpoints returns the operator's own operations, then the latest version of each operation of the
// API.
func Endpoints() []rpc.Endpoint {
	list := operator.Endpoints()
	for _, e := range api.Endpoints() {
		if !e.Public && !strings.HasPrefix(e.Path, "/v1/") {
			list = append(list, e)
		}
	}
	return list
}

// Endpoint returns the endpoint of a path.
func Endpoint(path string) (e rpc.Endpoint, ok bool) {
	for _, e := range Endpoints() {
		if e.Path == path {
			return e, true
		}
	}
	return e, false
}

// identity returns the identity of an operator in the name of an account, with settings that refuse
// nothing. If quiet is true, webhooks only get events that a request asks for.
func (o *Operator) identity(ctx context.Context, operator, account string, quiet bool) (collab.Identity, error) {
	a, err := o.service.Accounts.Account(ctx, account)
	s := a.Settings
	s.AdvancedQueriesOff, s.NotificationPreferencesOff, s.AllEvents = false, false, s.AllEvents && !quiet
	if err != nil {
		return collab.Identity{}, err
	}
	return collab.Identity{Account: a.ID, Operator: operator, Settings: s}, nil
}

// ServeHTTP serves the operator's own operations, for tests.
func (o *Operator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e, ok := Endpoint(r.URL.Path)
	if !ok || e.Audience != rpc.Operator {
		o.server.NotFound().ServeHTTP(w, r)
		return
	}
	id := rand.Text()
	w.Header().Set(collab.RequestIDHeader, id)
	ctx := collab.WithRequestID(r.Context(), id)
	who, err := o.who.identity(ctx)
	if err != nil {
		o.server.Fail(w, r, err)
		return
	}
	ctx = collab.WithIdentity(ctx, collab.Identity{Operator: who})
	e.Handler(o.server, rpc.Services{o.own}).ServeHTTP(w, r.WithContext(ctx))
}

// Cause returns the cause of an error, including details that callers of the API do not see.
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

// Call calls one of the operator's operations, or an operation of the API in the name of an
// account. Its errors are those of rpc.Server.Call.
func (o *Operator) Call(ctx context.Context, account, path string, data any) (*rpc.Result, error) {
	e, ok := Endpoint(path)
	if !ok {
		return nil, collab.Errorf(collab.NotFound, rpc.NoOperation)
	}
	who := ""
	if e.Writes() {
		var err error
		if who, err = o.who.identity(ctx); err != nil {
			return nil, err
		}
	}
	if e.Audience == rpc.Operator {
		return o.server.Call(ctx, e, rpc.Services{o.own}, collab.Identity{Operator: who}, data)
	}
	id, err := o.identity(ctx, who, account, false)
	if err != nil {
		return nil, err
	}
	return o.service.Call(ctx, e, id, data)
}

// Transfer serves exports and imports of an account. Its handler serves operator.Transfer and the
// API in the account's name, with settings that refuse nothing. Webhooks only get events that a
// request asks for.
func (o *Operator) Transfer(ctx context.Context, account string) (http.Handler, error) {
	who, err := o.who.identity(ctx)
	if err != nil {
		return nil, err
	}
	id, err := o.identity(ctx, who, account, true)
	if err != nil {
		return nil, err
	}
	ofAPI := o.service.HandlerFor(id)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if own := o.transfer[r.URL.Path]; own != nil {
			own.ServeHTTP(w, r.WithContext(collab.WithIdentity(r.Context(), collab.Identity{Account: account, Operator: id.Operator})))
			return
		}
		ofAPI.ServeHTTP(w, r)
	}), nil
}

// Client returns a client of Transfer in this process.
func (o *Operator) Client(ctx context.Context, account string) (*client.Client, error) {
	h, err := o.Transfer(ctx, account)
	if err != nil {
		return nil, err
	}
	return inProcessClient(h), nil
}

func inProcessClient(h http.Handler) *client.Client {
	return client.New(client.Config{
		BaseURL:  "http://in.process",
		HTTP:     &http.Client{Transport: inProcess{h}},
		Attempts: 100, Timeout: 10 * time.Minute, // waits while the account exceeds its quotas
	})
}

// Checker returns a client for transfer.Import whose requests are decoded and validated as those of
// Client, and add nothing.
func Checker() *client.Client {
	server := &rpc.Server{Now: time.Now, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)}
	h := rpc.Handle(server, operator.CheckRecords, rpc.Options{})
	return inProcessClient(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(collab.WithIdentity(r.Context(), collab.Identity{})))
	}))
}

// inProcess sends requests to a handler.
type inProcess struct{ http.Handler }

// RoundTrip returns the handler's response.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &answer{status: http.StatusOK, header: http.Header{}}
	p.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: r}, nil
}

// answer records the response of a handler.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header            { return a.header }
func (a *answer) WriteHeader(status int)         { a.status = status }
func (a *answer) Write(text []byte) (int, error) { return a.body.Write(text) }
