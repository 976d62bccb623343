// Command admin is the operator's: it makes accounts with their keys and tokens, and everything else that back ends cannot make
// themselves. `admin --help` lists its commands.
//
// Results go to standard output, one line each with tabs between the fields; lists begin with a line that names them. What to do next goes
// to standard error.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// commands is the grammar of the command line.
type commands struct {
	Deployment deployment `embed:"" group:"Which deployment"`

	Account      accountCommands      `cmd:"" help:"Accounts: the customers of the deployment."`
	Key          keyCommands          `cmd:"" help:"API keys of an account."`
	Token        tokenCommands        `cmd:"" help:"Auth tokens of an API key."`
	Settings     settingsCommands     `cmd:"" help:"Settings of an account."`
	Organization organizationCommands `cmd:"" help:"Organizations of an account."`
	Folder       folderCommands       `cmd:"" help:"Folders of an organization."`
	Document     documentCommands     `cmd:"" help:"Documents of an organization, and who may see them."`
	Member       memberCommands       `cmd:"" help:"Members of an organization: those whom notifications for all reach."`
	Webhook      webhookCommands      `cmd:"" help:"Webhooks of an account, and what they were sent."`
	DeadLetters  deadLetterCommands   `cmd:"" help:"Messages that delivery has given up."`
}

const description = `The operator's commands of a collaboration data service.

Say which deployment by --stack, or by --table (and the queues' URLs, where a command needs them). AWS is reached as the SDK's own
variables and files say: AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL and so on.`

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	type exit int
	defer func() {
		if p := recover(); p != nil {
			c, ok := p.(exit)
			if !ok {
				panic(p)
			}
			code = int(c)
		}
	}()
	var c commands
	parser := kong.Must(&c, kong.Name("admin"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exit(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 120}))
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "admin: %v\nSee admin --help.\n", err)
		return 2
	}
	a := &admin{deployment: &c.Deployment, now: time.Now, random: rand.Reader, stdout: stdout, stderr: stderr}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.Run(a); err != nil {
		fmt.Fprintf(stderr, "admin: %s\n", c.Deployment.explain(ctx, err))
		return 1
	}
	return 0
}

// admin is what a command works with.
type admin struct {
	deployment     *deployment
	now            func() time.Time
	random         io.Reader
	stdout, stderr io.Writer
}

func (a *admin) millis() int64 { return a.now().UnixMilli() }

// line prints one line of a result.
func (a *admin) line(fields ...any) {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = fmt.Sprint(f)
	}
	fmt.Fprintln(a.stdout, strings.Join(texts, "\t"))
}

// say tells a person something: no result.
func (a *admin) say(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }
