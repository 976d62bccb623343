package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"collabdata/scripts/operator"
	"collabdata/shared/client"
	"collabdata/shared/client/transfer"
)

// toFile says where an export goes.
type toFile struct {
	File string `arg:"" optional:"" help:"File to write: FILE.part until it is whole. Where there is FILE.part, the export goes on from there. Left out: standard output."`
}

type exportCommand struct {
	Account      string `arg:"" help:"Account."`
	Organization string `arg:"" help:"Organization."`
	toFile
}

func (c *exportCommand) run(ctx context.Context, a *admin) error {
	_, from, err := a.client(ctx, c.Account)
	if err != nil {
		return err
	}
	return c.write(ctx, a, from, c.Organization, transfer.ExportOptions{Disabled: true})
}

type copyCommand struct {
	Organization string `arg:"" help:"Organization, as the other service knows it."`
	toFile
	From            string `required:"" placeholder:"URL" help:"Base URL of the other service, such as https://api.example.com."`
	APIKey          string `name:"api-key" required:"" env:"COPY_API_KEY" placeholder:"KEY" help:"API key there."`
	AuthToken       string `name:"auth-token" required:"" env:"COPY_AUTH_TOKEN" placeholder:"TOKEN" help:"Auth token there."`
	APIKeyHeader    string `name:"api-key-header" default:"x-service-api-key" placeholder:"NAME" help:"Header that carries the API key there."`
	AuthTokenHeader string `name:"auth-token-header" default:"x-service-auth-token" placeholder:"NAME" help:"Header that carries the auth token there."`
}

func (c *copyCommand) run(ctx context.Context, a *admin) error {
	from := client.New(client.Config{
		BaseURL: c.From, APIKey: c.APIKey, AuthToken: c.AuthToken, APIKeyHeader: c.APIKeyHeader, AuthTokenHeader: c.AuthTokenHeader,
		Attempts: 10, Timeout: 5 * time.Minute,
	})
	return c.write(ctx, a, from, c.Organization, transfer.ExportOptions{Documented: true})
}

// client returns the deployment's operator and a client of an account of it, in this process.
func (a *admin) client(ctx context.Context, account string) (*operator.Operator, *client.Client, error) {
	deployment, err := a.deployment.connect(ctx, a.stderr, true)
	if err != nil {
		return nil, nil, err
	}
	o := operator.New(deployment)
	c, err := o.Client(ctx, account)
	return o, c, err
}

// write exports an organization to the file, or to standard output.
func (f *toFile) write(ctx context.Context, a *admin, from *client.Client, organization string, o transfer.ExportOptions) error {
	o.Progress, o.Skipped = a.progress(), func(text string) { fmt.Fprintln(a.stderr, "Not in the file:", text) }
	if f.File == "" {
		return transfer.Export(ctx, from, organization, a.stdout, o)
	}
	if _, err := os.Stat(f.File); err == nil {
		return fmt.Errorf("%s is there already: name a file that is not", f.File)
	}
	part, err := os.OpenFile(f.File+".part", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer part.Close()
	if o.Resume, err = transfer.Resume(part, organization); err != nil {
		return fmt.Errorf("%s: %w", part.Name(), err)
	}
	var at int64
	if o.Resume != nil {
		at = o.Resume.Offset
		a.goesOn(o.Resume.Lines, part.Name())
	}
	if _, err := part.Seek(at, io.SeekStart); err != nil {
		return err
	}
	if err := part.Truncate(at); err != nil {
		return err
	}
	if err := transfer.Export(ctx, from, organization, part, o); err != nil {
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), f.File)
}

// progress returns what says now and then how far an export or an import has come.
func (a *admin) progress() func(transfer.Progress) {
	last := time.Now()
	return func(p transfer.Progress) {
		if time.Since(last) > 2*time.Second {
			last = time.Now()
			fmt.Fprintf(a.stderr, "%d lines, now at kind %s\n", p.Lines, p.Kind)
		}
	}
}

// goesOn says where an export or an import goes on.
func (a *admin) goesOn(lines int64, file string) {
	fmt.Fprintf(a.stderr, "It goes on after line %d of %s.\n", lines, file)
}

type importCommand struct {
	Account   string            `arg:"" help:"Account to which it is added."`
	File      string            `arg:"" type:"existingfile" help:"File that export or copy wrote. FILE.progress says how far it is in, until all is: there the import goes on if it is given again."`
	Documents map[string]string `name:"document" placeholder:"OLD=NEW" help:"Another id for a document of the file; may be given again."`
}

// run adds what the file holds, once all its lines are known to be lines, and prints those that were refused.
func (c *importCommand) run(ctx context.Context, a *admin) error {
	of, to, err := a.client(ctx, c.Account)
	if err != nil {
		return err
	}
	file, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	o := transfer.ImportOptions{Documents: c.Documents}
	if err := transfer.Check(io.TeeReader(file, sum), o); err != nil {
		return fmt.Errorf("%s: %w; nothing was added", c.File, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	fmt.Fprint(sum, a.deployment.Table, c.Account, c.Documents)
	now, kept := begun{Import: hex.EncodeToString(sum.Sum(nil))}, c.File+".progress"
	if earlier := readBegun(kept); earlier.Import == now.Import {
		there, err := of.Incarnation(ctx, c.Account, earlier.Progress.Organization)
		if err != nil {
			return err
		}
		if there == earlier.Incarnation { // else what it added was deleted
			now, o.Resume = earlier, earlier.Progress
			a.goesOn(o.Resume.Lines, c.File)
		}
	}
	say := a.progress()
	var unkept error
	o.Progress = func(p transfer.Progress) {
		say(p)
		now.Progress = p
		if now.Incarnation == 0 && unkept == nil {
			now.Incarnation, unkept = of.Incarnation(ctx, c.Account, p.Organization)
		}
		if unkept == nil {
			unkept = now.write(kept)
		}
	}
	heading := "LINE\tKIND\tID\tFIELD\tWHY\n"
	o.Refused = func(r transfer.Refusal) {
		text := strings.NewReplacer("\t", " ", "\n", " ").Replace
		fmt.Fprintf(a.stdout, "%s%d\t%s\t%s\t%s\t%s\n", heading, r.Line, r.Kind, text(r.ID), text(r.Field), text(r.Message))
		heading = ""
	}
	result, err := transfer.Import(ctx, to, file, o)
	for _, kind := range transfer.Kinds() {
		if n := result.Added[kind] + result.There[kind] + result.Refused[kind]; n > 0 {
			fmt.Fprintf(a.stderr, "%s: %d added, %d there already, %d refused\n", kind, result.Added[kind], result.There[kind], result.Refused[kind])
		}
	}
	if err != nil {
		if unkept != nil {
			err = fmt.Errorf("%w; given again, it begins from the beginning, as its progress could not be kept: %v", err, unkept)
		}
		return err
	}
	if err := os.Remove(kept); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if n := now.Progress.Refused; n > 0 {
		return fmt.Errorf("%d lines were refused, all else is there", n)
	}
	return nil
}

// begun is an import as it is kept beside its file until all is in.
type begun struct {
	Import      string            `json:"import"`      // digest of the file, of where it goes, and of its documents' other ids
	Incarnation int64             `json:"incarnation"` // of the organization that is added to
	Progress    transfer.Progress `json:"progress"`
}

// readBegun returns what is kept, the zero value where it cannot be read.
func readBegun(file string) (b begun) {
	if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &b) != nil {
		return begun{}
	}
	return b
}

// write keeps it: an ended program leaves it as it was or as it is.
func (b *begun) write(file string) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
