package api

import (
	"context"
	_ "embed"
	"net/http"
	"reflect"

	"collabdata/shared/api/auth"
	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/jobs"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/organizations"
	"collabdata/shared/api/rpc"
	"collabdata/shared/api/users"
	"collabdata/shared/api/webhooks"
	"collabdata/shared/collab"
)

//go:embed openapi.json
var openAPI string

// OpenAPI returns the OpenAPI document of the interface: see package openapi.
func OpenAPI() string { return openAPI }

// Endpoint is one row of the table: an operation and all that others need to know of it.
type Endpoint struct {
	Path        string // the URL's path, and the folder of its main below functions/
	Summary     string // what it does, for lists: a phrase
	Description string // its rules for those who call, in Markdown: order, limits, what fails with which code
	Grants      Grants
	Requires    collab.Feature // refused with FAILED_PRECONDITION where the account has it off; "" for none
	Operation   Operation
	LeavesJob   bool // its answer may name a job: see jobs/get
	Public      bool // without credentials, and to GET too: a page for people
}

// Grants are the rights to the deployment that an endpoint has. The CDK app grants exactly these.
type Grants uint8

// The rights.
const (
	ReadTable       Grants = 1 << iota // items of the table: GetItem, BatchGetItem, Query
	ReadIndexes                        // the table's indexes: Query
	WriteTable                         // items of the table: PutItem, UpdateItem, DeleteItem, ConditionCheckItem, BatchWriteItem
	SendEvents                         // the events queue: SendMessage
	ReadWebhooks                       // webhook endpoints and their signing secrets: as ReadTable
	WriteWebhooks                      // the same: as WriteTable, which goes with it
	ReadMailSecrets                    // what signs the tokens to unsubscribe by: as ReadTable
)

// Idempotent reports whether the endpoint takes an Idempotency-Key: every one that writes does.
func (e Endpoint) Idempotent() bool { return e.Grants&WriteTable != 0 }

// Handler returns what serves the endpoint: POST requests whose context carries a collab.Identity.
func (e Endpoint) Handler(d Deps) http.Handler {
	return e.Operation.handler(d, rpc.Options{Idempotent: e.Idempotent(), Requires: e.Requires})
}

// Deps are what handlers are made of.
type Deps struct {
	Server        *rpc.Server
	Annotations   *commentannotations.Service
	Organizations *organizations.Service
	Users         *users.Service
	Permissions   *auth.Service
	Notifications *notifications.Service
	Webhooks      *webhooks.Service
	Jobs          *jobs.Service
}

// Operation is the rule of an endpoint as a value.
type Operation struct {
	Request reflect.Type // of the request's data
	Data    reflect.Type // of the answer's data

	handler func(Deps, rpc.Options) http.Handler
}

// operation returns the operation that is a method of a service.
func operation[S, Req, Data any](service func(Deps) S, method func(S, context.Context, *rpc.Call, *Req) (Data, error)) Operation {
	return Operation{
		Request: reflect.TypeFor[Req](),
		Data:    reflect.TypeFor[Data](),
		handler: func(d Deps, options rpc.Options) http.Handler {
			s := service(d)
			return rpc.Handle(d.Server, func(ctx context.Context, call *rpc.Call, req *Req) (Data, error) {
				return method(s, ctx, call, req)
			}, options)
		},
	}
}

func annotations(d Deps) *commentannotations.Service { return d.Annotations }

func organization(d Deps) *organizations.Service { return d.Organizations }

func user(d Deps) *users.Service { return d.Users }

func permission(d Deps) *auth.Service { return d.Permissions }

func notification(d Deps) *notifications.Service { return d.Notifications }

func webhook(d Deps) *webhooks.Service { return d.Webhooks }

func job(d Deps) *jobs.Service { return d.Jobs }

// Handler returns what serves all endpoints. identify puts the collab.Identity into their requests, or answers those that have none. A
// request to any other path is answered with NOT_FOUND before it is identified, as the gateway does.
func Handler(d Deps, identify func(http.Handler) http.Handler) http.Handler {
	handlers := make(map[string]http.Handler)
	for _, e := range Endpoints() {
		handlers[e.Path] = e.Handler(d)
		if !e.Public {
			handlers[e.Path] = identify(handlers[e.Path])
		}
	}
	notFound := d.Server.NotFound()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, ok := handlers[r.URL.Path]
		if !ok {
			h = notFound
		}
		h.ServeHTTP(w, r)
	})
}
