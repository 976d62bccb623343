// Package api is the table of endpoints. Nothing else lists them: the local server and the functions serve it, the CDK app deploys it,
// tests hold the mains and the script tests against it.
package api

import (
	"net/http"

	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/organizations"
	"collabdata/shared/api/rpc"
	"collabdata/shared/api/webhooks"
)

// Touch says what an endpoint may touch of the deployment. The CDK app grants exactly this.
type Touch uint8

// What an endpoint may touch.
const (
	ReadTable     Touch = 1 << iota // items of the table: GetItem, BatchGetItem, Query
	ReadIndexes                     // the table's indexes: Query
	WriteTable                      // items of the table: PutItem, UpdateItem, DeleteItem, ConditionCheckItem, BatchWriteItem
	SendEvents                      // the events queue: SendMessage
	ReadWebhooks                    // webhook endpoints and their signing secrets: as ReadTable
	WriteWebhooks                   // the same: as WriteTable, which goes with it
)

// Endpoint is one row of the table.
type Endpoint struct {
	Path    string // the URL's path, and the folder of its main below functions/
	Touches Touch

	// Handler returns what serves the endpoint: POST requests whose context carries a collab.Identity.
	Handler func(Deps) http.Handler
}

// Deps are what handlers are made of.
type Deps struct {
	Server        *rpc.Server
	Annotations   *commentannotations.Service
	Organizations *organizations.Service
	Notifications *notifications.Service
	Webhooks      *webhooks.Service
}

// Endpoints returns the table of endpoints, in the order of the contract, its extensions behind it.
func Endpoints() []Endpoint {
	return []Endpoint{
		{"/v2/commentannotations/add", ReadTable | WriteTable | SendEvents, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Annotations.Add, rpc.Idempotent())
		}},
		{"/v1/commentannotations/add", ReadTable | WriteTable | SendEvents, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Annotations.AddV1, rpc.Idempotent())
		}},
		{"/v2/commentannotations/get", ReadTable | ReadIndexes, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Annotations.Get)
		}},
		{"/v1/commentannotations/get", ReadTable | ReadIndexes, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Annotations.GetV1)
		}},
		{"/v2/commentannotations/update", ReadTable | ReadIndexes | WriteTable | SendEvents, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Annotations.Update)
		}},
		{"/v2/commentannotations/comments/add", ReadTable | WriteTable | SendEvents, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Annotations.AddComments, rpc.Idempotent())
		}},
		{"/v2/commentannotations/comments/update", ReadTable | WriteTable | SendEvents, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Annotations.UpdateComments)
		}},
		{"/v2/commentannotations/comments/get", ReadTable, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Annotations.GetComments)
		}},
		{"/v2/organizations/get", ReadTable, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Organizations.Get)
		}},
		{"/v1/organizations/folders/get", ReadTable | ReadIndexes, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Organizations.FoldersGet)
		}},
		{"/v2/notifications/config/get", ReadTable, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Notifications.ConfigGet)
		}},
		{"/v2/notifications/add", ReadTable | WriteTable | SendEvents, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Notifications.Add, rpc.Idempotent())
		}},
		{"/v1/notifications/add", ReadTable | WriteTable | SendEvents, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Notifications.AddV1, rpc.Idempotent())
		}},
		{"/v2/notifications/get", ReadTable, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Notifications.Get)
		}},
		{"/v2/notifications/update", ReadTable | WriteTable | SendEvents, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Notifications.Update)
		}},
		{"/v2/notifications/config/set", ReadTable | WriteTable, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Notifications.ConfigSet)
		}},
		{"/v2/webhooks/add", ReadTable | WriteTable | ReadWebhooks | WriteWebhooks, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Webhooks.Add, rpc.Idempotent())
		}},
		{"/v2/webhooks/get", ReadTable | ReadWebhooks, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Webhooks.Get)
		}},
		{"/v2/webhooks/update", ReadTable | WriteTable | ReadWebhooks | WriteWebhooks, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Webhooks.Update)
		}},
		{"/v2/webhooks/delete", ReadTable | WriteTable | ReadWebhooks | WriteWebhooks, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Webhooks.Delete)
		}},
		{"/v2/webhooks/secrets/rotate", ReadTable | WriteTable | ReadWebhooks | WriteWebhooks, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Webhooks.RotateSecret)
		}},
		{"/v2/webhooks/deliveries/get", ReadTable | ReadWebhooks, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Webhooks.GetDeliveries)
		}},
		{"/v2/webhooks/deliveries/replay", ReadTable | WriteTable | ReadWebhooks, func(d Deps) http.Handler {
			return rpc.Handle(d.Server, d.Webhooks.ReplayDeliveries)
		}},
	}
}

// Handler returns what serves all endpoints. identify puts the collab.Identity into their requests, or answers those that have none. A
// request to any other path is answered with NOT_FOUND before it is identified, as the gateway does.
func Handler(d Deps, identify func(http.Handler) http.Handler) http.Handler {
	handlers := make(map[string]http.Handler)
	for _, e := range Endpoints() {
		handlers[e.Path] = identify(e.Handler(d))
	}
	notFound := d.Server.NotFound()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, ok := handlers[r.URL.Path]; ok {
			h.ServeHTTP(w, r)
			return
		}
		notFound.ServeHTTP(w, r)
	})
}
