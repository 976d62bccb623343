package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"collabdata/scripts/admin/console"
	"collabdata/shared/client"
	"collabdata/shared/client/proxy"
)

// demo is a product that uses the service as a customer's would: by the client, by the proxy for browsers, and by the elements. Whoever
// asks is named by the address, so that two windows can be two people; a product asks its session.
type demo struct {
	url     string // of this server
	service *client.Client
	begin   sync.Mutex
	begun   bool
}

const (
	demoOrganization = "demo"
	demoDocument     = "launch-plan"
)

// demoPeople are the people of the demo's organization.
var demoPeople = []proxy.User{
	{ID: "ann", Name: "Ann Archer", Email: "ann@example.com"},
	{ID: "bob", Name: "Bob Builder", Email: "bob@example.com"},
	{ID: "cleo", Name: "Cleo Clark", Email: "cleo@example.com"},
}

func newDemo(url string) *demo {
	key, token := headers.Names()
	return &demo{url: url, service: client.New(client.Config{
		BaseURL: url, APIKey: devAccounts[0].key, AuthToken: devAccounts[0].token, APIKeyHeader: key, AuthTokenHeader: token,
	})}
}

// collab serves what the elements ask for, at /demo/{person}/collab/….
func (d *demo) collab() http.Handler {
	may := func(_ context.Context, document string) (bool, error) { return document == demoDocument, nil }
	return proxy.New(proxy.Config{
		Client: d.service,
		Who: func(r *http.Request) (*proxy.Caller, error) {
			i := slices.IndexFunc(demoPeople, func(u proxy.User) bool { return u.ID == r.PathValue("person") })
			if i < 0 {
				return nil, nil
			}
			return &proxy.Caller{User: demoPeople[i], OrganizationID: demoOrganization, CanRead: may, CanWrite: may}, nil
		},
	})
}

// demoPage serves the product's page, /demo?as=ann.
func (p *pages) demoPage(w http.ResponseWriter, r *http.Request) {
	if err := p.demo.prepare(r.Context()); err != nil {
		p.problem(w, http.StatusInternalServerError, "The demo could not begin", client.MessageOf(err))
		return
	}
	as := demoPeople[0]
	if i := slices.IndexFunc(demoPeople, func(u proxy.User) bool { return u.ID == r.URL.Query().Get("as") }); i >= 0 {
		as = demoPeople[i]
	}
	// Tickets name this server by its address, which a page of localhost may not reach by itself.
	policy := strings.Replace(console.Policy, "connect-src 'self'", "connect-src 'self' ws"+strings.TrimPrefix(p.url, "http"), 1)
	p.renderUnder(policy, w, http.StatusOK, "demo.html", struct {
		view
		As       proxy.User
		People   []proxy.User
		Document string
	}{p.view("Launch plan", "/demo", false), as, demoPeople, demoDocument})
}

// prepare adds the people, a webhook at this server's receiver and a few threads, unless they are there.
func (d *demo) prepare(ctx context.Context) error {
	d.begin.Lock()
	defer d.begin.Unlock()
	if d.begun {
		return nil
	}
	users := client.UsersAddRequest{OrganizationID: demoOrganization, CreateOrganization: true}
	for _, u := range demoPeople {
		users.Users = append(users.Users, client.NewUser{UserID: u.ID, Name: u.Name, Email: u.Email})
	}
	if _, err := d.service.Users.Add(ctx, &users); err != nil {
		return err
	}
	_, err := d.service.Organizations.AddDocuments(ctx, &client.OrganizationsAddDocumentsRequest{
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
		c := client.AnnotationComment{From: demoUser(by), CommentText: text}
		for _, i := range tagged {
			u := demoUser(i)
			c.TaggedUserContacts = append(c.TaggedUserContacts, client.TaggedUser{UserID: u.UserID, Contact: &u})
		}
		return c
	}
	at := func(element, text string) *client.TargetElement {
		return &client.TargetElement{ElementID: element, TargetText: text, Occurrence: 1}
	}
	html := client.AnnotationComment{From: demoUser(0), CommentHTML: "Done, see the <b>second table</b>. <em>Thanks!</em>"}
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

func demoUser(i int) client.User {
	u := demoPeople[i]
	return client.User{UserID: u.ID, Name: u.Name, Email: u.Email}
}
