package rpc

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"collabdata/shared/collab"
)

// Endpoint is one row of the table of endpoints: an operation and all that others need to know of it. It is a function in the file of its
// operation, which package api lists, so that the program of one endpoint holds its own operation and no other.
type Endpoint struct {
	Path string // the URL's path, and the folder of its main below functions/

	// Description has its rules for those who call, in Markdown: order, limits, what fails with which code. Its first sentence is the Summary.
	Description  string
	Grants       Grants
	Requires     collab.Feature // refused with FAILED_PRECONDITION where the account has it off; "" for none
	Operation    Rule
	CountsUnread bool // its answer has unreadCount
	LeavesJob    bool // its answer may name a job: see jobs/get
	Accepted     bool // what it answers is only begun: see Status
	Public       bool // without credentials, and to GET too: a page for people
	AlwaysOn     bool // neither quotas nor Server.ReadOnly refuse it: see Call.ReadOnly

	Person   Access // of persons with a token
	Audience Audience
	Changes  bool   // for an operator: it changes something
	Question string // for an operator: what a person is told before a program calls it, "" for nothing
}

// Audience is who may call an endpoint.
type Audience string

// The audiences.
const (
	Caller   Audience = ""         // a back end, with the credentials of an account
	Operator Audience = "operator" // in process, with AWS credentials for the table
)

// Grants are the rights to the deployment that an endpoint has. The CDK app grants exactly these.
type Grants uint16

// The rights.
const (
	ReadTable       Grants = 1 << iota // items of the table: GetItem, BatchGetItem, Query
	ReadIndexes                        // the table's indexes: Query
	WriteTable                         // items of the table: PutItem, UpdateItem, DeleteItem, ConditionCheckItem, BatchWriteItem
	SendEvents                         // the events queue: SendMessage
	ReadWebhooks                       // webhook endpoints and their signing secrets: as ReadTable
	WriteWebhooks                      // the same: as WriteTable, which goes with it
	ReadMailSecrets                    // what signs the tokens to unsubscribe by: as ReadTable
	ReadProviders                      // permission providers with their secrets: as ReadTable
	AddTickets                         // who is connected: as ReadTable; tickets: PutItem
)

// Summary returns the first sentence of the description, without its full stop, and the rest of it.
func (e Endpoint) Summary() (summary, rest string) {
	summary, rest, _ = strings.Cut(strings.TrimSpace(e.Description), ".")
	return strings.ReplaceAll(summary, "\n", " "), strings.TrimSpace(rest)
}

// Idempotent reports whether the endpoint takes an Idempotency-Key: every one that writes does.
func (e Endpoint) Idempotent() bool { return e.Grants&WriteTable != 0 }

// Status is the HTTP status of success: 200, or 202 where it is Accepted. Then members of the result stand beside it, too, with statusCode, as
// the contract has them.
func (e Endpoint) Status() int {
	if e.Accepted {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// Handler returns what serves the endpoint: POST requests whose context carries a collab.Identity. It panics if there is no service for
// it.
func (e Endpoint) Handler(s *Server, services Services) http.Handler {
	if e.Public {
		return e.Operation.page(s, services)
	}
	return s.handler(e.runner(s, services))
}

func (e Endpoint) runner(s *Server, services Services) run {
	o := Options{Idempotent: e.Idempotent(), AlwaysOn: e.AlwaysOn, Requires: e.Requires, Accepted: e.Accepted, Person: e.Person}
	if e.Grants&(WriteTable|AddTickets) != 0 {
		o.Counts = writes
	}
	return e.Operation.runner(s, services, o)
}

// Services are what operations are methods of: one pointer of each type.
type Services []any

// find returns the service of a type.
func find[S any](services Services) S {
	for _, s := range services {
		if s, ok := s.(S); ok {
			return s
		}
	}
	panic(fmt.Sprintf("rpc: there is no %v among the services", reflect.TypeFor[S]()))
}

// Rule is the operation of an endpoint as a value.
type Rule struct {
	Request reflect.Type // of the request's data
	Data    reflect.Type // of the answer's data

	runner func(*Server, Services, Options) run
	page   func(*Server, Services) http.Handler // of a Public endpoint
}

// Method returns the operation that is a method of a service.
func Method[S, Req, Data any](method func(S, context.Context, *Call, *Req) (Data, error)) Rule {
	return MethodAhead(nil, method)
}

// MethodAhead is Method with a method that starts reads of the operation for a person by collab.Later, which go on while the request's key is
// claimed. The operation finds their results by Call.Ahead.
func MethodAhead[S, Req, Data any](
	ahead func(S, context.Context, *Call, *Req), method func(S, context.Context, *Call, *Req) (Data, error),
) Rule {
	return Rule{
		Request: reflect.TypeFor[Req](),
		Data:    reflect.TypeFor[Data](),
		runner: func(server *Server, services Services, o Options) run {
			s := find[S](services)
			var before func(context.Context, *Call, *Req)
			if ahead != nil {
				before = func(ctx context.Context, call *Call, req *Req) { ahead(s, ctx, call, req) }
			}
			return runner(server, before, func(ctx context.Context, call *Call, req *Req) (Data, error) { return method(s, ctx, call, req) }, o)
		},
	}
}

// PageOf returns the operation of a Public endpoint: the handler that a service makes, outside the envelope.
func PageOf[S any](handler func(S, *Server) http.Handler) Rule {
	return Rule{page: func(server *Server, services Services) http.Handler {
		return handler(find[S](services), server)
	}}
}
