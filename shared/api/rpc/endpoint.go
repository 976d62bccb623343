package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"collabdata/shared/collab"
)

// Endpoint is one row of the table of endpoints. Each is declared next to its operation.
type Endpoint struct {
	Path string // the URL's path

	// Description documents the operation in Markdown: order, limits and errors. Its first sentence
	// is the Summary, a title of at most five words. Single quotes become code font in the
	// reference.
	Description  string
	Grants       Grants
	Requires     collab.Feature // requests fail with FAILED_PRECONDITION if the account has it off; "" for none
	Operation    Implementation
	CountsUnread bool // the response has unreadCount
	LeavesJob    bool // the response can have a job: see jobs/get
	Accepted     bool // the response precedes the work: see Status
	Public       bool // without credentials, and also for GET: a page for people
	AlwaysOn     bool // quotas and Server.ReadOnly do not apply: see Call.ReadOnly

	Person   Access // of persons with a token
	Audience Audience
	Changes  bool   // for an operator: it changes something, besides Grants
	Question string // for an operator: a warning before the call, or ""
}

// Audience is the group of callers of an endpoint.
type Audience string

const (
	Caller   Audience = ""         // a back end, with the credentials of an account
	Operator Audience = "operator" // in process, with AWS credentials for the table
)

// Grants are the permissions of an endpoint in the deployment. The CDK app grants exactly these.
type Grants uint16

const (
	ReadTable       Grants = 1 << iota // items of the table: GetItem, BatchGetItem, Query
	ReadIndexes                        // the table's indexes: Query
	WriteTable                         // items of the table: PutItem, UpdateItem, DeleteItem, ConditionCheckItem, BatchWriteItem
	SendEvents                         // the events queue: SendMessage
	ReadWebhooks                       // webhook endpoints and their signing secrets: as ReadTable
	WriteWebhooks                      // the same: as WriteTable, which it requires
	ReadMailSecrets                    // secrets of unsubscribe tokens: as ReadTable
	ReadProviders                      // permission providers with their secrets: as ReadTable
	AddTickets                         // connections: as ReadTable; tickets: PutItem
	WriteAudit                         // the audit log, for each call: PutItem
)

// Summary returns the first sentence of the description without its period, and the rest.
func (e Endpoint) Summary() (summary, rest string) {
	summary, rest, _ = strings.Cut(strings.TrimSpace(e.Description), ".")
	return strings.ReplaceAll(summary, "\n", " "), strings.TrimSpace(rest)
}

// Idempotent reports whether the endpoint takes an Idempotency-Key, as all that write do.
func (e Endpoint) Idempotent() bool { return e.Grants&WriteTable != 0 }

// Writes reports whether the endpoint changes something.
func (e Endpoint) Writes() bool { return e.Changes || e.Grants&(WriteTable|AddTickets) != 0 }

// Status is the HTTP status of success: 200, or 202 if Accepted. With 202, the members of the
// result are repeated outside of it, with statusCode, as the contract requires.
func (e Endpoint) Status() int {
	if e.Accepted {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// Handler serves the endpoint: POST requests with a collab.Identity in the context. It panics if
// its service is missing.
func (e Endpoint) Handler(s *Server, services Services) http.Handler {
	if e.Public {
		return e.Operation.page(s, services)
	}
	return s.handler(e.runner(s, services))
}

func (e Endpoint) runner(s *Server, services Services) run {
	o := Options{Idempotent: e.Idempotent(), AlwaysOn: e.AlwaysOn, Requires: e.Requires, Accepted: e.Accepted, Person: e.Person, Audited: e.Grants&WriteAudit != 0, Changes: e.Writes()}
	if e.Grants&(WriteTable|AddTickets) != 0 {
		o.Counts = writes
	}
	return e.Operation.runner(s, services, o)
}

// Services holds one pointer of each service type.
type Services []any

func find[S any](services Services) S {
	for _, s := range services {
		if s, ok := s.(S); ok {
			return s
		}
	}
	panic(fmt.Sprintf("rpc: there is no %v among the services", reflect.TypeFor[S]()))
}

// Implementation is the operation of an endpoint as a value.
type Implementation struct {
	Request reflect.Type // of the request's data
	Data    reflect.Type // of the response's data

	runner func(*Server, Services, Options) run
	page   func(*Server, Services) http.Handler // of a Public endpoint
}

// Method returns the operation that is a method of a service.
func Method[S, Req, Data any](method func(S, context.Context, *Call, *Req) (Data, error)) Implementation {
	return Implementation{
		Request: reflect.TypeFor[Req](),
		Data:    reflect.TypeFor[Data](),
		runner: func(server *Server, services Services, o Options) run {
			s := find[S](services)
			return runner(server, func(ctx context.Context, call *Call, req *Req) (Data, error) { return method(s, ctx, call, req) }, o)
		},
	}
}

// PageOf returns the operation of a Public endpoint: a handler of the service, outside the
// envelope.
func PageOf[S any](handler func(S, *Server) http.Handler) Implementation {
	return Implementation{page: func(server *Server, services Services) http.Handler {
		return handler(find[S](services), server)
	}}
}

// Result is the result of an operation called in process.
type Result struct {
	Data          collab.JSON `json:"data"`
	Message       string      `json:"message"`
	NextPageToken string      `json:"nextPageToken"`
	JobID         string      `json:"jobId"`
}

// Call calls an endpoint in process as an identity. The request is its data. The error is that of
// the operation, with its cause. Nothing is logged.
func (s *Server) Call(ctx context.Context, e Endpoint, services Services, identity collab.Identity, request any) (*Result, error) {
	body, err := collab.EncodeJSON(map[string]any{"data": request})
	if err != nil {
		return nil, err
	}
	x := s.exchange(ctx, e.Path, identity)
	x.body, x.header = body, http.Header{}
	a, err := recovered(func() (response, error) { return e.runner(s, services)(x) })
	x.spend()
	if err != nil {
		return nil, err
	}
	var answer struct{ Result *Result }
	if err := json.Unmarshal(bytes.Join(a.body, nil), &answer); err != nil {
		return nil, err
	}
	return answer.Result, nil
}
