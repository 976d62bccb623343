package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"collabdata/scripts/admin/assistant"
	"collabdata/shared/client"
	"collabdata/shared/collab"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpCommand needs no credentials of AWS: it calls the service as a person or a back end does.
type mcpCommand struct {
	URL          string `name:"url" required:"" env:"COLLABDATA_URL" placeholder:"URL" help:"Base URL of the service, such as https://api.example.com."`
	Organization string `placeholder:"ID" help:"Organization of the documents. Default: that of the person's token."`
	Write        bool   `help:"Let the assistant write too; otherwise it only reads."`
	HTTP         *int   `name:"http" placeholder:"PORT" help:"Serve Streamable HTTP on this port of the machine (0 for a free one) instead of standard input and output."`
	SecretFile   string `placeholder:"FILE" help:"File with the secret of the address of --http, created if missing. Default: another secret at each start."`

	Token        string `env:"COLLABDATA_PERSON_TOKEN" placeholder:"TOKEN" help:"A person's token, of auth/generate_token: the assistant acts as this person."`
	TokenCommand string `placeholder:"COMMAND" help:"Shell command that prints such a token, run at the start and after a token has expired."`

	From      string `placeholder:"ID" help:"User as whom the assistant acts with a back end's credentials; its content names it as an agent."`
	FromName  string `placeholder:"NAME" help:"Name of this user."`
	APIKey    string `name:"api-key" env:"COLLABDATA_KEY" placeholder:"KEY" help:"API key, with --from."`
	AuthToken string `name:"auth-token" env:"COLLABDATA_TOKEN" placeholder:"TOKEN" help:"Auth token, with --from."`
}

// run serves the assistant until the context ends, or standard input.
func (c *mcpCommand) run(ctx context.Context, a *admin) error {
	config, err := c.config(ctx)
	if err != nil {
		return err
	}
	server := assistant.New(config)
	if c.HTTP != nil {
		secret, err := c.secret()
		if err != nil {
			return err
		}
		return a.serve(ctx, *c.HTTP, func(port string) http.Handler { return open(a, server, port, secret) })
	}
	lines := assistant.NewLines(a.stdin, a.stdout)
	err = server.Run(ctx, &mcp.IOTransport{Reader: lines, Writer: lines})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *mcpCommand) config(ctx context.Context) (config assistant.Config, err error) {
	if person := c.Token != "" || c.TokenCommand != ""; person == (c.From != "") {
		return config, collab.Errorf(
			collab.InvalidArgument, "give a person's token (--token-command, or COLLABDATA_PERSON_TOKEN), or --from with a back end's credentials",
		)
	}
	if c.SecretFile != "" && c.HTTP == nil {
		return config, collab.Errorf(collab.InvalidArgument, "--secret-file requires --http")
	}
	config = assistant.Config{Organization: c.Organization, Write: c.Write}
	if c.From == "" {
		err = c.asPerson(ctx, &config)
	} else {
		err = c.asBackEnd(&config)
	}
	return config, err
}

func (c *mcpCommand) asBackEnd(config *assistant.Config) error {
	if c.APIKey == "" || c.AuthToken == "" || c.Organization == "" {
		return collab.Errorf(collab.InvalidArgument, "--from requires --organization, COLLABDATA_KEY and COLLABDATA_TOKEN")
	}
	config.Client = client.New(client.Config{BaseURL: c.URL, APIKey: c.APIKey, AuthToken: c.AuthToken})
	config.Person = assistant.Person{ID: c.From, Name: c.FromName}
	config.Agent = &assistant.Agent{ID: c.From, Name: c.FromName, Source: "external"}
	return nil
}

func (c *mcpCommand) asPerson(ctx context.Context, config *assistant.Config) error {
	token, renew := c.Token, (func() (string, error))(nil)
	if c.TokenCommand != "" {
		renew = func() (string, error) { return c.renewed(ctx, config.Person.ID) }
	}
	var err error
	if token == "" {
		if token, err = renew(); err != nil {
			return err
		}
	}
	content, err := assistant.ReadToken(token)
	if err != nil {
		return collab.Errorf(collab.InvalidArgument, "the person's token: %v", err)
	}
	var organizations []string
	for _, r := range content.Resources {
		organizations = append(organizations, r.Organization())
	}
	slices.Sort(organizations)
	organizations = slices.Compact(organizations)
	if config.Organization == "" {
		if len(organizations) != 1 {
			return collab.Errorf(collab.InvalidArgument, "the token covers the organizations %s: give one as --organization", strings.Join(organizations, ", "))
		}
		config.Organization = organizations[0]
	}
	for _, r := range content.Resources {
		switch {
		case r.Organization() != config.Organization:
		case r.Type == collab.ResourceDocument:
			config.Documents = append(config.Documents, r.ID)
		default:
			config.More = true
		}
	}
	config.TokenAgent = content.Agent
	config.Person = assistant.Person{ID: content.Subject, Name: content.Name}
	config.Client = client.New(client.Config{BaseURL: c.URL, HTTP: &http.Client{Transport: assistant.NewTransport(token, renew)}})
	return nil
}

// renewed returns a token that the command prints. It returns an error if the token is another
// person's than the given one.
func (c *mcpCommand) renewed(ctx context.Context, person string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", c.TokenCommand)
	cmd.Stderr, cmd.WaitDelay = os.Stderr, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // its children too
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("--token-command: %w", err)
	}
	token := string(bytes.TrimSpace(out))
	if content, err := assistant.ReadToken(token); err != nil || person != "" && content.Subject != person {
		return "", errors.New("--token-command must print a token of auth/generate_token, always for the same person")
	}
	return token, nil
}

// secret returns the secret part of the address of HTTP.
func (c *mcpCommand) secret() (string, error) {
	if c.SecretFile == "" {
		return rand.Text(), nil
	}
	file, err := os.OpenFile(c.SecretFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		secret := rand.Text()
		_, err = file.WriteString(secret + "\n")
		return secret, cmp.Or(err, file.Close())
	}
	text, readErr := os.ReadFile(c.SecretFile)
	if readErr != nil {
		return "", fmt.Errorf("--secret-file: %w", err)
	}
	secret := string(bytes.TrimSpace(text))
	if !secretForm.MatchString(secret) {
		return "", collab.Errorf(collab.InvalidArgument, "--secret-file must have a line of 20 to 200 letters and digits, or not exist")
	}
	if info, err := os.Stat(c.SecretFile); err == nil && info.Mode().Perm()&0o077 != 0 {
		return "", collab.Errorf(collab.InvalidArgument, "--secret-file can be read by other users of the machine: chmod 600 it")
	}
	return secret, nil
}

var secretForm = regexp.MustCompile(`^[A-Za-z0-9]{20,200}$`)

// open returns the handler of Streamable HTTP. Its address has a secret, because other users of the
// machine, and pages in its browsers, reach the port too.
func open(a *admin, server *mcp.Server, port, secret string) http.Handler {
	path := "/" + secret + "/mcp"
	fmt.Fprintf(a.stderr, "Give this address to the assistant, and to nobody else: it acts for you.\n\n  http://127.0.0.1:%s%s\n\nCtrl-C ends it.\n", port, path)
	mux := http.NewServeMux()
	mux.Handle(path, http.NewCrossOriginProtection().Handler(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: 256 << 10},
	)))
	return mux
}
