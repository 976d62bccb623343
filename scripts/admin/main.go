// Command admin is the operator's: its commands are the rows of package operator's table, and beside them those that write and read files,
// and one that serves the console. `admin --help` lists them.
//
// Results go to standard output: as a table where that is a terminal, else as lines with tabs between the values, with --json as JSON.
// Lists begin with a line that names their values. What to do next goes to standard error. The exit code is 0 for success, 1 for failure,
// 2 for a command line that makes no sense.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"collabdata/scripts/operator"
	"collabdata/shared/collab"
	"collabdata/shared/version"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	person := terminal{in: isTerminal(os.Stdin), out: isTerminal(os.Stdout)}
	os.Exit(run(ctx, os.Args[1:], person, os.Stdin, os.Stdout, os.Stderr))
}

// commands is the grammar of the command line, with operator's table as a plugin.
type commands struct {
	Deployment deployment `embed:"" group:"Which deployment"`
	JSON       bool       `name:"json" help:"Print the result as JSON."`
	Yes        bool       `help:"Do not ask before what interrupts someone."`

	Version kong.VersionFlag `help:"Print the version of this program. A line of the service's log says that of the function."`

	kong.Plugins
	Export  exportCommand  `cmd:"" help:"Write an organization to a file of JSON lines."`
	Import  importCommand  `cmd:"" help:"Add what such a file holds to an account. Nobody is notified."`
	Copy    copyCommand    `cmd:"" help:"Write an organization to such a file, out of another service with the same operations."`
	Console consoleCommand `cmd:"" help:"Serve pages on this machine that show all of this, and what is in the table."`
}

// ownCommand is one that is no operation of operator's table.
type ownCommand interface {
	run(ctx context.Context, a *admin) error
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
	c := commands{Plugins: kong.Plugins{grammar()}}
	parser := kong.Must(
		&c, kong.Name("admin"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Vars{"version": version.String(), "settings": operator.SettingsHelp()},
		kong.Exit(func(code int) { panic(exit(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 120}),
	)
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "admin: %s\nSee admin --help.\n", explainWord(err))
		return 2
	}
	a := &admin{deployment: &c.Deployment, yes: c.Yes, json: c.JSON, person: person, stdin: stdin, stdout: stdout, stderr: stderr}
	selected := parsed.Selected().Target.Addr().Interface()
	if own, ok := selected.(ownCommand); ok {
		err = own.run(ctx, a)
	} else {
		op, _ := operation(strings.TrimPrefix(parsed.Selected().FullPath(), "admin "))
		err = a.run(ctx, op, selected)
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

// admin is what commands work with.
type admin struct {
	deployment *deployment
	yes, json  bool
	person     terminal
	stdin      io.Reader
	stdout     io.Writer
	stderr     io.Writer
}

// run runs an operation, and prints its report; what is no result of it is for a person, and printed after it.
func (a *admin) run(ctx context.Context, op operator.Operation, params any) error {
	c, err := a.deployment.connect(ctx, a.stderr, !op.NoTable)
	if err != nil {
		return err
	}
	r := operator.New(c).Command()
	question, err := op.Ask(ctx, r, params)
	if err == nil && op.Interrupts && question != "" {
		err = a.confirm(question)
	}
	if err != nil {
		return err
	}
	err = op.Run(ctx, r, params)
	if err != nil && len(r.Parts) == 1 && r.Parts[0].Columns != nil && r.Parts[0].Rows == nil {
		return err // it has not come to the list
	}
	print := func() error { return printLines(a.stdout, &r.Report, a.person.out) }
	if a.json {
		print = func() error { return printJSON(a.stdout, &r.Report) }
	}
	if failed := print(); err == nil {
		err = failed
	}
	if err == nil {
		a.say(&r.Report)
	}
	return err
}

// say tells a person what else there is to know.
func (a *admin) say(r *operator.Report) {
	lines := []string{r.Done}
	for _, p := range r.Parts {
		lines = append(lines, p.Bad)
		if p.Columns != nil && len(p.Rows) == 0 {
			lines = append(lines, cmp.Or(p.Empty, "There are none."))
		} else if shown(p) {
			lines = append(lines, p.Note)
		}
	}
	for _, line := range append(lines, r.Next...) {
		if line != "" {
			fmt.Fprintln(a.stderr, line)
		}
	}
}

// confirm asks a person a question. The error says that it is not to be done.
func (a *admin) confirm(question string) error {
	if a.yes {
		return nil
	}
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
