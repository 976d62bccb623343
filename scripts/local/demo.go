package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"collabdata/scripts/admin/console"
	"collabdata/shared/client"
)

// demo is a product that uses the service like a customer: through the client, with tokens for
// browsers, and with the elements. The address names the user, so that two windows can show two
// users; a real product uses its session.
type demo struct {
	url     string // of this server
	service *client.Client
	begin   sync.Mutex
	begun   bool
}

const (
	demoOrganization = "demo"
	demoDocument     = "launch-plan"
	demoGroup        = "launch"
)

// demoResource is the resource of the demo's tokens.
var demoResource = client.TokenPermission{Type: client.ResourceTypeOrganization, ID: demoOrganization}

// demoPeople are the people of the demo's organization.
var demoPeople = []client.User{
	{UserID: "ann", Name: "Ann Archer", Email: "ann@example.com"},
	{UserID: "bob", Name: "Bob Builder", Email: "bob@example.com"},
	{UserID: "cleo", Name: "Cleo Clark", Email: "cleo@example.com"},
}

// find returns the index of a person, or -1.
func find(people []client.User, id string) int {
	return slices.IndexFunc(people, func(u client.User) bool { return u.UserID == id })
}

func newDemo(url string) *demo {
	key, token := headers.Names()
	return &demo{url: url, service: client.New(client.Config{
		BaseURL: url, APIKey: devAccounts[0].key, AuthToken: devAccounts[0].token, APIKeyHeader: key, AuthTokenHeader: token,
	})}
}

// tokens returns a handler with tokens of the person in the address, for a resource. With
// as=viewer, a token only allows reading.
func (d *demo) tokens(people []client.User, resource client.TokenPermission) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i := find(people, r.PathValue("person"))
		if i < 0 {
			http.Error(w, "no user is signed in", http.StatusUnauthorized)
			return
		}
		allowed := resource
		allowed.AccessRole = client.Role(r.URL.Query().Get("as"))
		token, err := d.service.Auth.GenerateToken(r.Context(), &client.AuthGenerateTokenRequest{
			UserID: people[i].UserID, UserProperties: &client.UserProperties{Name: people[i].Name},
			CreateOrganization: resource.OrganizationID != "", CreateDocument: resource.OrganizationID != "",
			Permissions: client.TokenPermissions{Resources: []client.TokenPermission{allowed}},
		})
		if err != nil {
			http.Error(w, client.MessageOf(err), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(token)
	}
}

// person returns the person that a page's address names, such as /demo?as=bob. The default is the
// first one.
func person(people []client.User, r *http.Request) client.User {
	return people[max(0, find(people, r.URL.Query().Get("as")))]
}

// policy returns the policy of a page with elements. Tickets name this server by its IP address,
// which the policy must allow on localhost.
func (d *demo) policy() string {
	return strings.Replace(console.Policy, "connect-src 'self'", "connect-src 'self' ws"+strings.TrimPrefix(d.url, "http"), 1)
}

// prepare adds the people, a group, a webhook to this server's receiver, and some threads. It does
// not change existing ones.
func (d *demo) prepare(ctx context.Context) error {
	d.begin.Lock()
	defer d.begin.Unlock()
	if d.begun {
		return nil
	}
	users := client.UsersAddRequest{OrganizationID: demoOrganization, CreateOrganization: true}
	for _, u := range demoPeople {
		users.Users = append(users.Users, client.NewUser{UserID: u.UserID, Name: u.Name, Email: u.Email})
	}
	if _, err := d.service.Users.Add(ctx, &users); err != nil {
		return err
	}
	_, err := d.service.Organizations.AddUserGroups(ctx, &client.OrganizationsAddUserGroupsRequest{
		OrganizationID: demoOrganization, OrganizationUserGroups: []client.NewGroup{{GroupID: demoGroup, GroupName: "Launch team"}},
	})
	if err == nil {
		_, err = d.service.Organizations.AddUserGroupsUsers(ctx, &client.OrganizationsAddUserGroupsUsersRequest{
			OrganizationID: demoOrganization, OrganizationUserGroupID: demoGroup, UserIDs: []string{"ann", "bob", "cleo"},
		})
	}
	if err != nil {
		return err
	}
	_, err = d.service.Organizations.AddDocuments(ctx, &client.OrganizationsAddDocumentsRequest{
		OrganizationID: demoOrganization, Documents: []client.NewDocument{{DocumentID: demoDocument, DocumentName: "Launch plan"}},
	})
	if err != nil {
		return err
	}
	hook := d.url + "/webhooks/demo"
	_, err = d.service.Webhooks.Add(ctx, &client.WebhooksAddRequest{WebhookID: "demo", URL: hook, Description: "The demo's events"})
	if client.CodeOf(err) == client.CodeAlreadyExists {
		_, err = d.service.Webhooks.Update(ctx, &client.WebhooksUpdateRequest{WebhookID: "demo", UpdatedData: client.WebhookChange{URL: hook}})
	}
	if err != nil {
		return err
	}
	comment := func(by int, text string, tagged ...int) client.AnnotationComment {
		c := client.AnnotationComment{From: demoPeople[by], CommentText: text}
		for _, i := range tagged {
			u := demoPeople[i]
			c.TaggedUserContacts = append(c.TaggedUserContacts, client.TaggedUser{UserID: u.UserID, Contact: &u})
		}
		return c
	}
	at := func(element, text string) *client.TargetElement {
		return &client.TargetElement{ElementID: element, TargetText: text, Occurrence: 1}
	}
	html := client.AnnotationComment{From: demoPeople[0], CommentHTML: "Done, see the <b>second table</b>. <em>Thanks!</em>"}
	_, err = d.service.CommentAnnotations.Add(ctx, &client.CommentAnnotationsAddRequest{
		OrganizationID: demoOrganization, DocumentID: demoDocument,
		CommentAnnotations: []client.NewAnnotation{
			{AnnotationID: "demo-price", TargetElement: at("pricing", "29 euros a month"), CommentData: []client.AnnotationComment{
				comment(2, "Is this with VAT? Our page says 24."), comment(1, "Without. {{ann}}, can you put that in?", 0),
			}},
			{AnnotationID: "demo-numbers", TargetElement: at("numbers", ""), Status: &client.Status{ID: "RESOLVED"},
				CommentData: []client.AnnotationComment{comment(1, "Can we have September, too?"), html}},
			{AnnotationID: "demo-gone", TargetElement: at("goals", "a big party in Lisbon"), CommentData: []client.AnnotationComment{
				comment(1, "Have we a budget for this?"),
			}},
		},
	})
	d.begun = err == nil
	return err
}
