package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"collabdata/shared/app/operate"
	"collabdata/shared/client"
	"collabdata/shared/client/transfer"
	"collabdata/shared/collab"
)

// toFile is the destination of an export.
type toFile struct {
	File string `arg:"" optional:"" help:"File to write, FILE.part until complete; default standard output."`
}

type exportCommand struct {
	Account      string `arg:"" help:"Account."`
	Organization string `arg:"" help:"Organization."`
	toFile
}

func (c *exportCommand) run(ctx context.Context, a *admin) error {
	from, err := a.client(ctx, c.Account)
	if err != nil {
		return err
	}
	return c.write(ctx, a, from, c.Organization, transfer.ExportOptions{})
}

type copyCommand struct {
	Organization string `arg:"" help:"Organization in the other service."`
	toFile
	From            string `required:"" placeholder:"URL" help:"Base URL of the other service, such as https://api.example.com."`
	APIKey          string `name:"api-key" required:"" env:"COPY_API_KEY" placeholder:"KEY" help:"API key there."`
	AuthToken       string `name:"auth-token" required:"" env:"COPY_AUTH_TOKEN" placeholder:"TOKEN" help:"Auth token there."`
	APIKeyHeader    string `name:"api-key-header" default:"x-service-api-key" placeholder:"NAME" help:"Header of the API key there."`
	AuthTokenHeader string `name:"auth-token-header" default:"x-service-auth-token" placeholder:"NAME" help:"Header of the auth token there."`
}

func (c *copyCommand) run(ctx context.Context, a *admin) error {
	from := client.New(client.Config{
		BaseURL: c.From, APIKey: c.APIKey, AuthToken: c.AuthToken, APIKeyHeader: c.APIKeyHeader, AuthTokenHeader: c.AuthTokenHeader,
		Attempts: 10, Timeout: 5 * time.Minute,
	})
	return c.write(ctx, a, from, c.Organization, transfer.ExportOptions{Documented: true})
}

// client returns an in-process client of an account for the operator.
func (a *admin) client(ctx context.Context, account string) (*client.Client, error) {
	o, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	return o.Client(ctx, account)
}

// write exports an organization to the file or standard output.
func (f *toFile) write(ctx context.Context, a *admin, from *client.Client, organization string, o transfer.ExportOptions) error {
	o.Progress, o.Skipped = a.progress(), func(text string) { fmt.Fprintln(a.stderr, "Not in the file:", text) }
	if f.File == "" {
		return transfer.Export(ctx, from, organization, a.stdout, o)
	}
	if _, err := os.Stat(f.File); err == nil {
		return fmt.Errorf("%s already exists: name a new file", f.File)
	}
	part, err := os.OpenFile(f.File+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer part.Close()
	if err := transfer.Export(ctx, from, organization, part, o); err != nil {
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), f.File)
}

// progress returns a callback that prints the progress from time to time.
func (a *admin) progress() func(transfer.Progress) {
	last := time.Now()
	return func(p transfer.Progress) {
		if time.Since(last) > 2*time.Second {
			last = time.Now()
			fmt.Fprintf(a.stderr, "%d lines, now at kind %s\n", p.Lines, p.Kind)
		}
	}
}

type importCommand struct {
	Account   string            `arg:"" optional:"" help:"Account to add to; none with --check."`
	File      string            `arg:"" optional:"" type:"existingfile" help:"File of export or copy. You can repeat an interrupted import: existing data is unchanged."`
	Documents map[string]string `name:"document" placeholder:"OLD=NEW" help:"Another id for a document of the file; repeatable."`
	Update    bool              `help:"Overwrite annotations and comments that have a later lastUpdated in the file."`
	Restore   bool              `help:"Add again what an earlier import added and somebody deleted."`
	Read      bool              `help:"Mark all comments of the file as read for its users."`
	Check     string            `type:"existingfile" placeholder:"FILE" help:"Only check the lines of this file, without a deployment."`
}

// run checks all lines of the file, imports them, and prints refused ones.
func (c *importCommand) run(ctx context.Context, a *admin) error {
	if c.Check == "" && c.File == "" || c.Check != "" && c.Account != "" {
		return collab.Errorf(collab.InvalidArgument, "give an account and a file, or only --check FILE")
	}
	var to *client.Client
	var err error
	if c.Check != "" {
		c.File, to = c.Check, operate.Checker()
	} else if to, err = a.client(ctx, c.Account); err != nil {
		return err
	}
	file, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer file.Close()
	o := transfer.ImportOptions{
		Documents: c.Documents, Update: c.Update, Restore: c.Restore, Read: c.Read, Check: c.Check != "", Progress: a.progress(),
		Warned: func(r transfer.Refusal) { fmt.Fprintf(a.stderr, "Warning: line %d: %s\n", r.Line, r.Message) },
	}
	if c.Check == "" {
		if err := transfer.Check(file, o); err != nil {
			return fmt.Errorf("%s: %w; nothing was added", c.File, err)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	heading := "LINE\tKIND\tID\tFIELD\tWHY\n"
	o.Refused = func(r transfer.Refusal) {
		text := strings.NewReplacer("\t", " ", "\n", " ").Replace
		fmt.Fprintf(a.stdout, "%s%d\t%s\t%s\t%s\t%s\n", heading, r.Line, r.Kind, text(r.ID), text(r.Field), text(r.Message))
		heading = ""
	}
	result, err := transfer.Import(ctx, to, file, o)
	report := func(what string, added, unchanged, refused int64) {
		text := fmt.Sprintf("%s%d added, %d unchanged", what, added, unchanged)
		if c.Check != "" {
			text = fmt.Sprintf("%s%d valid", what, added)
		}
		if refused > 0 {
			text += fmt.Sprintf(", %d refused", refused)
		}
		fmt.Fprintln(a.stderr, text)
	}
	for _, kind := range transfer.Kinds() {
		if added, unchanged, refused := result.Added[kind], result.Unchanged[kind], result.Refused[kind]; added+unchanged+refused > 0 {
			report(string(kind)+": ", added, unchanged, refused)
		}
	}
	added, unchanged, refused := result.Sum()
	report("", added, unchanged, refused)
	if err == nil && refused > 0 && c.Check != "" {
		return fmt.Errorf("%s: %d lines are bad", c.File, refused)
	}
	if err == nil && refused > 0 {
		err = fmt.Errorf("%d lines were refused, all others are imported", refused)
	}
	return err
}
