// Command admin is the operator's program. Each operation is a command: the operator's own, such as
// `admin accounts add acme`, and those of the API in the name of an account, such as `admin
// organizations get acme`. Other commands export and import files, and serve the console. `admin
// --help` lists them.
//
// Results go to standard output: as a table on a terminal, else tab-separated, or as JSON with -o
// json. Messages go to standard error. The exit code is 0 for success, 1 for failure, and 2 for an
// invalid command line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"time"

	"collabdata/scripts/admin/answer"
	"collabdata/scripts/admin/request"
	"collabdata/shared/api/rpc"
	"collabdata/shared/app/operate"
	"collabdata/shared/collab"
	"collabdata/shared/platform"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	person := terminal{in: isTerminal(os.Stdin), out: isTerminal(os.Stdout)}
	os.Exit(run(ctx, os.Args[1:], person, os.Stdin, os.Stdout, os.Stderr))
}

// commands is the grammar of the command line. A plugin adds the operations.
type commands struct {
	Deployment deployment `embed:"" group:"Which deployment"`
	Output     string     `short:"o" enum:"table,json" default:"table" help:"Form of the result: table or json."`
	Yes        bool       `help:"Do not ask before disruptive operations."`

	Version kong.VersionFlag `help:"Print the version of this program."`

	kong.Plugins
	Call    callCommand    `cmd:"" help:"Call an operation with its data as JSON."`
	Export  exportCommand  `cmd:"" help:"Write an organization to a file of JSON lines."`
	Import  importCommand  `cmd:"" help:"Add the contents of such a file to an account, without notifications."`
	Copy    copyCommand    `cmd:"" help:"Write an organization of another service with the same operations to such a file."`
	Check   checkCommand   `cmd:"" help:"Print the settings of a stack for an AWS account, before its deployment."`
	Console consoleCommand `cmd:"" help:"Serve pages for these commands on this machine."`
	MCP     mcpCommand     `cmd:"" name:"mcp" help:"Serve threads to an AI assistant by the Model Context Protocol, as a person."`
}

// callCommand calls an operation by its path.
type callCommand struct {
	Account string `arg:"" help:"The account; - for an operation of the operator."`
	Path    string `arg:"" help:"Path of the operation, such as /v2/organizations/get."`
	Data    string `arg:"" help:"The request's data as JSON."`
}

func (c *callCommand) run(ctx context.Context, a *admin) error {
	e, ok := operate.Endpoint(c.Path)
	if !ok {
		return collab.Errorf(collab.InvalidArgument, "unknown operation %s", c.Path)
	}
	if !json.Valid([]byte(c.Data)) {
		return collab.Errorf(collab.InvalidArgument, "the data must be JSON, such as {\"organizationIds\": [\"acme\"]}")
	}
	return a.call(ctx, e, c.Account, json.RawMessage(c.Data))
}

// ownCommand is a command other than an operation.
type ownCommand interface {
	run(ctx context.Context, a *admin) error
}

const description = `The operator's commands of a collaboration data service.

Select a deployment with --stack or --table (and the queues' URLs if a command needs them). The SDK's variables and files configure
AWS: AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL and so on.

Results go to standard output: as a table on a terminal, else tab-separated, or as JSON with -o json. The exit code is 0 for success,
1 for failure and 2 for an invalid command line.`

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
	operations := tree()
	c := commands{Plugins: kong.Plugins{reflect.New(operations.commands()).Interface()}}
	parser := kong.Must(
		&c, kong.Name("admin"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Vars{"version": platform.Version()},
		kong.Exit(func(code int) { panic(exit(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 120}),
	)
	parsed, err := parser.Parse(joined(args))
	if err != nil {
		fmt.Fprintf(stderr, "admin: %s\nSee admin --help.\n", explainWord(err))
		return 2
	}
	a := &admin{deployment: &c.Deployment, yes: c.Yes, json: c.Output == "json", person: person, stdin: stdin, stdout: stdout, stderr: stderr}
	selected := parsed.Selected().Target.Addr().Interface()
	if own, ok := selected.(ownCommand); ok {
		err = own.run(ctx, a)
	} else {
		e := operations.find(strings.Fields(parsed.Selected().FullPath())[1:])
		texts := values(*e, reflect.ValueOf(selected).Elem())
		var data map[string]any
		if data, err = request.Data(*e, texts, time.Now()); err == nil {
			err = a.call(ctx, *e, texts.Get(account), data)
		}
		if code := collab.CodeOf(err); code == collab.InvalidArgument {
			err = collab.Errorf(code, "%s", inFlags(*e, c.Deployment.explain(ctx, err)))
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "admin: %s\n", c.Deployment.explain(ctx, err))
		if collab.CodeOf(err) == collab.InvalidArgument {
			return 2
		}
		return 1
	}
	return 0
}

var (
	flag     = regexp.MustCompile(`^--[a-z-]+$`)
	negative = regexp.MustCompile(`^-[0-9]+$`)
)

// joined joins negative numbers to the flag before them, because kong would parse them as flags.
func joined(args []string) (list []string) {
	for _, arg := range args {
		if n := len(list) - 1; n >= 0 && negative.MatchString(arg) && flag.MatchString(list[n]) {
			list[n] += "=" + arg
		} else {
			list = append(list, arg)
		}
	}
	return list
}

// explainWord describes an error in a command line. For an unknown word, it lists the known ones.
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
		return fmt.Sprintf("unknown command %s: the commands are %s", unknown, strings.Join(names, ", "))
	}
	if unknown, found := strings.CutPrefix(text, "unknown flag "); found {
		for _, group := range node.AllFlags(true) {
			for _, flag := range group {
				names = append(names, "--"+flag.Name)
			}
		}
		return fmt.Sprintf("unknown flag %s: the flags are %s", unknown, strings.Join(names, ", "))
	}
	return err.Error()
}

// terminal tells whether standard input and output are terminals.
type terminal struct{ in, out bool }

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// admin is the environment of the commands.
type admin struct {
	deployment *deployment
	yes, json  bool
	person     terminal
	stdin      io.Reader
	stdout     io.Writer
	stderr     io.Writer
}

// connect returns the deployment's operator.
func (a *admin) connect(ctx context.Context) (*operate.Operator, error) {
	c, err := a.deployment.connect(ctx, a.stderr)
	if err != nil {
		return nil, err
	}
	return operate.New(c), nil
}

// call calls an operation and prints its response.
func (a *admin) call(ctx context.Context, e rpc.Endpoint, account string, data any) error {
	o, err := a.connect(ctx)
	if err != nil {
		return err
	}
	if question := question(e, account, data); question != "" {
		if err := a.confirm(question); err != nil {
			return err
		}
	}
	r, err := o.Call(ctx, account, e.Path, data)
	if err != nil {
		return err
	}
	if a.json {
		err = printJSON(a.stdout, r)
	} else {
		err = printTables(a.stdout, answer.Key(e.Path), r, a.person.out)
	}
	if err == nil {
		fmt.Fprintln(a.stderr, r.Message)
	}
	if err == nil && r.NextPageToken != "" {
		fmt.Fprintf(a.stderr, "There are more: run the command again with --page-token %s\n", r.NextPageToken)
	}
	return err
}

// question returns the question to confirm a disruptive operation, or "".
func question(e rpc.Endpoint, account string, data any) string {
	text, err := json.Marshal(data)
	switch {
	case err != nil:
		return ""
	case e.Question != "":
		return fmt.Sprintf("%s %s", e.Question, text)
	case ofAPI(e) && e.Idempotent() && (strings.HasSuffix(e.Path, "/delete") || strings.HasSuffix(e.Path, "/disablestate/update")):
		return fmt.Sprintf("%s of account %q: %s", e.Path, account, text)
	}
	return ""
}

// confirm asks a question. It returns an error if the user declines.
func (a *admin) confirm(question string) error {
	if a.yes {
		return nil
	}
	if !a.person.in {
		return fmt.Errorf("%s Give --yes to confirm", question)
	}
	fmt.Fprintf(a.stderr, "%s Continue? [y/N] ", question)
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil && err != io.EOF {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}
