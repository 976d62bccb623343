// Seed fills the local server with an organization to look at: folders, documents, people, 200 threads, and notifications, some of them
// read. It works as others do: the operator's part by the admin program, everything else through the API. What is there already stays, so
// that it may be run again.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
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
	admin := flag.String("admin", "", "the admin program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	s := &seeder{
		admin:  *admin,
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
	admin  string
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

// directory makes what only the operator makes.
func (s *seeder) directory(ctx context.Context) error {
	commands := [][]string{{"organization", "put", account, organization, "--name", "Northwind Studio"}}
	for _, f := range folders {
		commands = append(commands, []string{"folder", "put", account, organization, f.id, "--name", f.name, "--parent", f.parent})
	}
	for _, d := range documents {
		commands = append(commands, []string{"document", "put", account, organization, d.id, "--name", d.name, "--folder", d.folder})
	}
	for _, p := range people {
		commands = append(commands, []string{"member", "add", account, organization, p.id, "--name", p.name, "--email", p.email()})
	}
	for _, c := range commands {
		if out, err := exec.CommandContext(ctx, s.admin, c...).CombinedOutput(); err != nil {
			return fmt.Errorf("admin %q: %w: %s", c, err, out)
		}
	}
	return nil
}
