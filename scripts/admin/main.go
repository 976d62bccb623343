// Command admin is the operator's: it makes accounts with their keys and tokens, and everything else that back ends cannot make
// themselves. `admin --help` lists its commands.
//
// Results go to standard output: as a table where that is a terminal, else as lines with tabs between the values, with --json as JSON.
// Lists begin with a line that names their values. What to do next goes to standard error. The exit code is 0 for success, 1 for failure,
// 2 for a command line that makes no sense.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"collabdata/scripts/operator"
	"collabdata/shared/api/rpc"
	"collabdata/shared/version"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	person := terminal{in: isTerminal(os.Stdin), out: isTerminal(os.Stdout)}
	os.Exit(run(ctx, os.Args[1:], person, os.Stdin, os.Stdout, os.Stderr))
}

// commands is the grammar of the command line.
type commands struct {
	Deployment deployment `embed:"" group:"Which deployment"`
	JSON       bool       `name:"json" help:"Print the result as JSON."`
	Yes        bool       `help:"Do not ask before what interrupts someone."`

	Version kong.VersionFlag `help:"Print the version of this program. A line of the service's log says that of the function."`

	Account      accountCommands      `cmd:"" help:"Accounts: the customers of the deployment."`
	Key          keyCommands          `cmd:"" help:"API keys of an account."`
	Token        tokenCommands        `cmd:"" help:"Auth tokens of an API key."`
	Settings     settingsCommands     `cmd:"" help:"Settings of an account."`
	Organization organizationCommands `cmd:"" help:"Organizations of an account."`
	Folder       folderCommands       `cmd:"" help:"Folders of an organization."`
	Document     documentCommands     `cmd:"" help:"Documents of an organization, and who may see them."`
	Member       memberCommands       `cmd:"" help:"Members of an organization: those whom notifications for all reach."`
	Webhook      webhookCommands      `cmd:"" help:"Webhooks of an account, and what they were sent."`
	Quarantine   quarantineCommands   `cmd:"" help:"Events whose handling ended the process, or that cannot be read."`
	DeadLetters  deadLetterCommands   `cmd:"" help:"Messages that delivery has given up."`
	Console      consoleCommand       `cmd:"" help:"Serve pages on this machine that show all of this, and what is in the table."`
}

const description = `The operator's commands of a collaboration data service.

Say which deployment by --stack, or by --table (and the queues' URLs, where a command needs them). AWS is reached as the SDK's own
variables and files say: AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL and so on.

Results go to standard output: as a table on a terminal, else as lines with tabs between the values, with --json as JSON. The exit code is
0 for success, 1 for failure and 2 for a wrong command line.`

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string, person terminal, stdin io.Reader, stdout, stderr io.Writer) (code int) {
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
	parser := kong.Must(
		&c, kong.Name("admin"), kong.Description(description), kong.Vars{"version": version.String()}, kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exit(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 120}),
	)
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "admin: %s\nSee admin --help.\n", explainWord(err))
		return 2
	}
	a := &admin{deployment: &c.Deployment, now: time.Now, random: rand.Reader, yes: c.Yes, person: person, stdin: stdin, stderr: stderr}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.BindToProvider(a.directory); err != nil { // what most commands work on
		panic(err)
	}
	err = parsed.Run(a)
	if err == nil || len(a.rows)+len(a.lines) > 0 { // what was done before a failure is told
		if failed := a.print(stdout, c.JSON); err == nil {
			err = failed
		}
	}
	for _, text := range a.said {
		fmt.Fprintln(stderr, text)
	}
	if err != nil {
		fmt.Fprintf(stderr, "admin: %s\n", c.Deployment.explain(ctx, err))
		if _, ok := errors.AsType[wrong](err); ok {
			return 2
		}
		return 1
	}
	return 0
}

// wrong is a value of the command line that is wrong whatever the deployment holds.
type wrong struct{ error }

// wrongf returns the error about a wrong value.
func wrongf(format string, args ...any) error { return wrong{fmt.Errorf(format, args...)} }

// explainWord returns what is wrong with a command line. Of an unknown word it names those that there are.
func explainWord(err error) string {
	parse, ok := errors.AsType[*kong.ParseError](err)
	if !ok {
		return err.Error()
	}
	node := parse.Context.Selected()
	if node == nil {
		node = parse.Context.Model.Node
	}
	text, _, _ := strings.Cut(err.Error(), ", did you mean")
	var names []string
	if unknown, found := strings.CutPrefix(text, "unexpected argument "); found && len(node.Children) > 0 {
		for _, child := range node.Children {
			names = append(names, child.Name)
		}
		return fmt.Sprintf("there is no command %s: the commands are %s", unknown, strings.Join(names, ", "))
	}
	if unknown, found := strings.CutPrefix(text, "unknown flag "); found {
		for _, group := range node.AllFlags(true) {
			for _, flag := range group {
				names = append(names, "--"+flag.Name)
			}
		}
		return fmt.Sprintf("there is no flag %s: the flags are %s", unknown, strings.Join(names, ", "))
	}
	return err.Error()
}

// terminal tells which of the program's ends is a person's.
type terminal struct{ in, out bool }

// isTerminal reports whether a person is at the other end of a file.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// admin is what a command works with.
type admin struct {
	result
	deployment *deployment
	now        func() time.Time
	random     io.Reader
	yes        bool
	person     terminal
	stdin      io.Reader
	stderr     io.Writer
	said       []string // what a person is told below the result
}

// call is a request of an account.
func (a *admin) call(account id) *rpc.Call { return operator.Call(a.now(), a.random, string(account)) }

func (a *admin) millis() int64 { return a.now().UnixMilli() }

// print prints the result.
func (a *admin) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return a.printJSON(out)
	}
	return a.printLines(out, a.person.out)
}

// say tells a person something, below the result: it is none.
func (a *admin) say(format string, args ...any) {
	a.said = append(a.said, fmt.Sprintf(format, args...))
}

// confirm asks a person before something that interrupts others, unless --yes was given. The error says that it is not to be done.
func (a *admin) confirm(format string, args ...any) error {
	if a.yes {
		return nil
	}
	question := fmt.Sprintf(format, args...)
	if !a.person.in {
		return fmt.Errorf("%s Give --yes to do it", question)
	}
	fmt.Fprintf(a.stderr, "%s Do it? [y/N] ", question)
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}
