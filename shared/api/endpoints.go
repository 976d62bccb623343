// Package api is the table of endpoints. The local server, the functions, the CDK app,
// the OpenAPI document, the README's table and the Go client are built from it.
package api

import (
	_ "embed"
	"net/http"

	"collabdata/shared/api/auth"
	"collabdata/shared/api/commentannotations"
	"collabdata/shared/api/jobs"
	"collabdata/shared/api/live"
	"collabdata/shared/api/notifications"
	"collabdata/shared/api/organizations"
	"collabdata/shared/api/rpc"
	"collabdata/shared/api/users"
	"collabdata/shared/api/webhooks"
)

//go:embed openapi.json
var openAPI string

// OpenAPI returns the OpenAPI document of the API: see package openapi.
func OpenAPI() string { return openAPI }

// Endpoints returns the endpoints in the order of the contract, followed by extensions. The path
// gives the package and the function: /v2/organizations/folders/add is organizations.FoldersAdd,
// and its version 1 is organizations.FoldersAddV1.
func Endpoints() []rpc.Endpoint {
	return []rpc.Endpoint{
		commentannotations.Add(),
		commentannotations.AddV1(),
		commentannotations.Get(),
		commentannotations.GetV1(),
		commentannotations.Update(),
		commentannotations.Delete(),
		commentannotations.CommentsAdd(),
		commentannotations.CommentsUpdate(),
		commentannotations.CommentsGet(),
		commentannotations.CountGet(),
		commentannotations.ReadSet(),
		commentannotations.CommentsDelete(),
		organizations.Get(),
		organizations.FoldersGetV1(),
		notifications.ConfigGet(),
		notifications.Add(),
		notifications.AddV1(),
		notifications.Get(),
		notifications.Update(),
		notifications.Delete(),
		notifications.ConfigSet(),
		notifications.Unsubscribe(),
		organizations.Add(),
		organizations.Update(),
		organizations.AccessDisablestateUpdate(),
		organizations.FoldersAdd(),
		organizations.FoldersGet(),
		organizations.FoldersUpdate(),
		organizations.FoldersAccessUpdate(),
		organizations.DocumentsAdd(),
		organizations.DocumentsGet(),
		organizations.DocumentsUpdate(),
		organizations.DocumentsMove(),
		organizations.DocumentsAccessUpdate(),
		organizations.DocumentsAccessDisablestateUpdate(),
		organizations.UsergroupsAdd(),
		organizations.UsergroupsUsersAdd(),
		organizations.UsergroupsUsersDelete(),
		organizations.Delete(),
		organizations.FoldersDelete(),
		organizations.DocumentsDelete(),
		users.Add(),
		users.Get(),
		users.Update(),
		users.Delete(),
		users.DataGet(),
		users.DataDelete(),
		users.DataDeleteStatus(),
		auth.PermissionsAdd(),
		auth.PermissionsGet(),
		auth.PermissionsRemove(),
		auth.GenerateToken(),
		jobs.Get(),
		live.TicketsAdd(),
		webhooks.Add(),
		webhooks.Get(),
		webhooks.Update(),
		webhooks.Delete(),
		webhooks.SecretsRotate(),
		webhooks.DeliveriesGet(),
		webhooks.DeliveriesReplay(),
		organizations.UsergroupsGet(),
		notifications.ConfigUsersGet(),
		commentannotations.ReadGet(),
		commentannotations.CommentsReactionsAdd(),
		commentannotations.CommentsReactionsDelete(),
	}
}

// Handler serves all endpoints. identify adds the collab.Identity to requests, or rejects requests
// without one. Any other path returns NOT_FOUND without identification, as in the gateway.
func Handler(s *rpc.Server, services rpc.Services, identify func(http.Handler) http.Handler) http.Handler {
	handlers, forPages := make(map[string]http.Handler), make(map[string]bool)
	for _, e := range Endpoints() {
		forPages[e.Path] = e.Person != rpc.BackEnd
		handlers[e.Path] = e.Handler(s, services)
		if !e.Public {
			handlers[e.Path] = identify(handlers[e.Path])
		}
	}
	notFound := s.NotFound()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions && forPages[r.URL.Path] {
			rpc.AnswerPreflight(w)
			return
		}
		h, ok := handlers[r.URL.Path]
		if !ok {
			h = notFound
		}
		h.ServeHTTP(w, r)
	})
}
