// Seed fills the local server with an organization to look at: folders, documents, people, 200 threads, and notifications, some of them
// read. It does so through the API. What is there already stays, so that it may be run again.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"collabdata/shared/client"
)

const (
	account      = "dev"
	organization = "northwind"
	threads      = 200
)

func main() {
	url := flag.String("url", cmp.Or(os.Getenv("COLLABDATA_URL"), "http://127.0.0.1:8080"), "where the server is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	s := &seeder{
		client: client.New(client.Config{BaseURL: *url, APIKey: "dev-key", AuthToken: "dev-token"}),
		random: rand.New(rand.NewPCG(1, 2)), // the same organization each time
		now:    time.Now(),
	}
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
	fmt.Printf("\nThe organization %s of the account %s is ready. Look at %s/mail, and try:\n\n", organization, account, *url)
	fmt.Printf("curl -s %s/v2/commentannotations/get -H 'x-service-api-key: dev-key' -H 'x-service-auth-token: dev-token' \\\n"+
		"  -H 'Content-Type: application/json' -d '{\"data\": {\"organizationId\": \"%s\", \"folderId\": \"product\", \"pageSize\": 5}}'\n", *url, organization)
}

// seeder makes the organization.
type seeder struct {
	client *client.Client
	random *rand.Rand
	now    time.Time
}

func (s *seeder) run(ctx context.Context) error {
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{fmt.Sprintf("%d folders, %d documents, %d people", len(folders), len(documents), len(people)), s.directory},
		{fmt.Sprintf("%d threads", threads), s.threads},
		{"notifications, some of them read", s.notifications},
	} {
		fmt.Printf("%s ... ", step.what)
		start := time.Now()
		if err := step.do(ctx); err != nil {
			fmt.Println()
			return err
		}
		fmt.Printf("%.1f s\n", time.Since(start).Seconds())
	}
	return nil
}

// directory makes organization, folders, documents and people; what is there already fails with ALREADY_EXISTS, and stays.
func (s *seeder) directory(ctx context.Context) error {
	if err := made(s.client.Organizations.Add(ctx, &client.OrganizationsAddRequest{
		Organizations: []client.NewOrganization{{OrganizationID: organization, OrganizationName: "Northwind Studio"}},
	})); err != nil {
		return err
	}
	all := &client.OrganizationsAddFoldersRequest{OrganizationID: organization}
	for _, f := range folders {
		all.Folders = append(all.Folders, client.NewFolder{FolderID: f.id, FolderName: f.name, ParentFolderID: f.parent})
	}
	if err := made(s.client.Organizations.AddFolders(ctx, all)); err != nil {
		return err
	}
	for _, d := range documents {
		add := &client.OrganizationsAddDocumentsRequest{
			OrganizationID: organization, Documents: []client.NewDocument{{DocumentID: d.id, DocumentName: d.name}},
		}
		move := &client.OrganizationsMoveDocumentsRequest{OrganizationID: organization, DocumentIDs: []string{d.id}, FolderID: d.folder}
		if err := made(s.client.Organizations.AddDocuments(ctx, add)); err != nil {
			return err
		}
		if err := made(s.client.Organizations.MoveDocuments(ctx, move)); err != nil {
			return err
		}
	}
	add := &client.UsersAddRequest{OrganizationID: organization}
	for _, p := range people {
		add.Users = append(add.Users, client.NewUser{UserID: p.id, Name: p.name, Email: p.email()})
	}
	return made(s.client.Users.Add(ctx, add))
}

// made returns the first failure of an operation, or of one of its items; what is there already is none.
func made(items client.Keyed[client.Item], err error) error {
	for _, i := range items {
		if err == nil && !i.Value.Success && i.Value.Code != client.CodeAlreadyExists {
			err = fmt.Errorf("%s: %s", i.Key, i.Value.Message)
		}
	}
	return err
}
