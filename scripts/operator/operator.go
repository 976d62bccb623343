// Package operator is the table of what an operator does to a deployment: what is to be known of an account, and what the API leaves to the
// operator. Admin makes its commands of the table, and the console its pages.
package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"

	"collabdata/shared/app"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/mail"
	"collabdata/shared/queue"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
)

// Config says which deployment.
type Config struct {
	Service  *app.Service
	Queue    func(ctx context.Context, name string) (*queue.Queue, error) // by its name in package keys
	CheckURL func(string) error                                           // the rule that a permission provider's URL breaks, as a predicate
	Random   io.Reader
}

// Operator runs operations on a deployment. Safe for concurrent use.
type Operator struct {
	Config
	accounts  *accounts.Store
	directory *directory.Store
	threads   *threads.Store
	outbox    *outbox.Store
	hooks     *hooks.Store
	inbox     *inbox.Store
	deliverer *delivery.Deliverer // explains, and delivers nothing
}

// New returns the operator of a deployment. It calls nothing.
func New(c Config) *Operator {
	s, d := c.Service, c.Service.Directory
	in := inbox.New(s.Outbox, d.WithDisabled())
	explains := delivery.New(delivery.Options{
		Accounts: s.Accounts, Directory: d, Threads: s.Threads, Outbox: s.Outbox, Hooks: s.Hooks, Inbox: in,
		Mailer: noMailer{}, PageSize: pageSize, Guard: s.Guard, Now: d.Now, Log: slog.New(slog.DiscardHandler), Random: c.Random,
	})
	return &Operator{
		Config: c, accounts: s.Accounts, directory: d, threads: s.Threads, outbox: s.Outbox, hooks: s.Hooks, inbox: in, deliverer: explains,
	}
}

// noMailer stands for the deployment's mail service where it is decided who would get a mail.
type noMailer struct{}

// Send sends nothing.
func (noMailer) Send(context.Context, mail.Notice) error { return errors.ErrUnsupported }

// Operation is a row of the table.
type Operation struct {
	Name       string // the words of its command, such as `account disable`
	Help       string // what it does
	Page       string // path of its page below the console's; "" where it changes something, which a form with a button does
	Question   string // what it does to whom, in the words of who asks whether to do it; {name} is a parameter
	Interrupts bool   // somebody may be interrupted: the command asks, too
	NoTable    bool   // it needs queues alone

	params reflect.Type
	run    func(ctx context.Context, r *Run, params any) error
}

// page is the row of an operation that shows something.
func page[P any](name, path, help string, run func(context.Context, *Run, *P) error) Operation {
	return change(name, "", help, run).at(path)
}

// change is the row of an operation that changes something. With a question the console asks it before.
func change[P any](name, question, help string, run func(context.Context, *Run, *P) error) Operation {
	return Operation{
		Name: name, Help: help, Question: question, params: reflect.TypeFor[P](),
		run: func(ctx context.Context, r *Run, params any) error { return run(ctx, r, params.(*P)) },
	}
}

func (op Operation) at(page string) Operation {
	op.Page = page
	return op
}

func (op Operation) interrupts() Operation {
	op.Interrupts = true
	return op
}

func (op Operation) noTable() Operation {
	op.NoTable = true
	return op
}

// Params is the type of the operation's parameters: a struct whose tags are those of kong, and whose fields Bind sets, too.
func (op Operation) Params() reflect.Type { return op.params }

// asker are parameters that know the question better than the row does; "" for none.
type asker interface {
	ask(ctx context.Context, r *Run) (string, error)
}

// Ask returns what to ask before the operation is run, "" for nothing. It fails where that could not succeed.
func (op Operation) Ask(ctx context.Context, r *Run, params any) (string, error) {
	if p, ok := params.(asker); ok {
		return p.ask(ctx, r)
	}
	question := op.Question
	for name, f := range fields(params) {
		question = strings.ReplaceAll(question, "{"+name+"}", fmt.Sprintf("%q", fmt.Sprint(f.value.Interface())))
	}
	return question, nil
}

// Run runs the operation, which fills in the report of r. What is reported before a failure holds.
func (op Operation) Run(ctx context.Context, r *Run, params any) error {
	return op.run(collab.WithUsage(ctx, r.usage), r, params)
}

// Cause is what an error says to an operator, who may know the cause of what others are not told.
func Cause(err error) string {
	failure, ok := errors.AsType[*collab.Error](err)
	switch {
	case ok && failure.Code == collab.Internal && failure.Err != nil:
		return failure.Err.Error()
	case ok:
		return failure.Message
	}
	return err.Error()
}
