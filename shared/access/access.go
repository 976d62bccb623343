// Package access answers who may see what: with what the directory knows, and what an account's permission provider says. The rule itself is
// collab.Viewing and collab.Viewer.
package access

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/webhook"

	"golang.org/x/sync/errgroup"
)

// Directory is what the answers are made of: see package directory.
type Directory interface {
	MaySee(ctx context.Context, doc collab.DocumentRef, byDefault collab.Access, users []string) (map[string]bool, error)
	Writers(ctx context.Context, doc collab.DocumentRef, byDefault collab.Access, users []string) (map[string]collab.Viewer, error)
	Viewings(ctx context.Context, docs []collab.DocumentRef, users []string, provided, members bool) ([][]collab.Viewing, error)
}

// Accounts knows the permission providers of accounts: see package accounts.
type Accounts interface {
	PermissionProvider(ctx context.Context, acct string) (*collab.PermissionProvider, error)
}

// Checker answers who may see what. Safe for concurrent use.
type Checker struct {
	directory Directory
	accounts  Accounts
	now       func() time.Time
	log       *slog.Logger
	client    *webhook.Client // asks permission providers
}

// New returns a Checker that reaches permission providers which the guard allows. o says how they are called, but for time-out and size.
func New(d Directory, a Accounts, guard *webhook.Guard, o webhook.ClientOptions, now func() time.Time, log *slog.Logger) *Checker {
	o.Timeout, o.Answer, o.Posted = providerTimeout, providerAnswer, nil
	return &Checker{directory: d, accounts: a, now: now, log: log, client: webhook.NewClient(guard, o)}
}

// NoAnswer is the error where a permission provider gave no answer about some users. It is UNAVAILABLE to callers.
type NoAnswer struct {
	Users int   // of whom it is not known, by document
	Err   error // why
}

// Error is the text for the log.
func (e *NoAnswer) Error() string { return "the permission provider gave no answer: " + e.Err.Error() }

// Unwrap is what callers are answered.
func (e *NoAnswer) Unwrap() error {
	return &collab.Error{Code: collab.Unavailable, Message: "the account's permission provider gave no answer; try again later", RetryAfter: retryAfter}
}

const retryAfter = 5 * time.Second // of a provider that gave no answer

// providerDocuments is how many documents a provider is asked about side by side.
const providerDocuments = 8

// Viewers returns what users may see of documents of one organization, at this moment: by document, in their order, and in each by user. See
// directory.Store.Viewings for members. What somebody set is asked: the access type of a document or a folder above it, whether the document
// is disabled, the account's permission provider, who was removed. Where none of that is there, everyone may see it. With the error
// *NoAnswer it returns the viewers, too: of whom there is no answer may see nothing.
func (c *Checker) Viewers(
	ctx context.Context, settings collab.Settings, docs []collab.DocumentRef, users []string, members bool,
) ([][]collab.Viewer, error) {
	return c.viewers(ctx, settings, docs, users, members, time.Time{})
}

// viewers is Viewers; of documents about which the permission provider was not asked by the time until it returns none.
func (c *Checker) viewers(
	ctx context.Context, settings collab.Settings, docs []collab.DocumentRef, users []string, members bool, until time.Time,
) ([][]collab.Viewer, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	provider, err := c.provider(ctx, settings, docs[0].Account)
	if err != nil {
		return nil, err
	}
	viewings, err := c.directory.Viewings(ctx, docs, users, provider != nil, members)
	if err != nil {
		return nil, err
	}
	if provider != nil {
		err = c.askAll(ctx, provider, docs, viewings, until)
	}
	if _, partly := errors.AsType[*NoAnswer](err); err != nil && !partly {
		return nil, err
	}
	list := make([][]collab.Viewer, len(docs))
	for i, of := range viewings {
		list[i] = collab.Map(of, func(v collab.Viewing) collab.Viewer { return v.Viewer(c.now().UnixMilli()) })
	}
	return list, err
}

// MaySee returns, by id, which of the users may see a document, whether or not somebody set who may: the permission provider says it, else the
// document's access type, or the account's default. It fails like Viewers.
func (c *Checker) MaySee(
	ctx context.Context, settings collab.Settings, doc collab.DocumentRef, users []string,
) (map[string]bool, error) {
	p, err := c.provider(ctx, settings, doc.Account)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return c.directory.MaySee(ctx, doc, settings.DefaultAccess, users)
	}
	return c.ask(ctx, p, doc, users)
}

// Writers returns, by id, those of the users who may write in a document, as viewers of it: the permission provider says it of all whom it lets
// see the document, else the document's access type with their grants, or the account's default. It fails like Viewers.
func (c *Checker) Writers(
	ctx context.Context, settings collab.Settings, doc collab.DocumentRef, users []string,
) (map[string]collab.Viewer, error) {
	if !settings.PermissionProvider {
		return c.directory.Writers(ctx, doc, settings.DefaultAccess, users)
	}
	viewers, err := c.Viewers(ctx, settings, []collab.DocumentRef{doc}, users, true)
	if err != nil {
		return nil, err
	}
	writers := make(map[string]collab.Viewer, len(users))
	for _, v := range viewers[0] {
		if v.May {
			writers[v.User] = v
		}
	}
	return writers, nil
}

// provider returns the permission provider of an account, nil for none. Only the settings are asked where these say that there is none.
func (c *Checker) provider(ctx context.Context, settings collab.Settings, acct string) (*collab.PermissionProvider, error) {
	if !settings.PermissionProvider {
		return nil, nil
	}
	return c.accounts.PermissionProvider(ctx, acct)
}

// askAll asks a provider about those who may see documents but for its answer, and puts the answers into the viewings. It begins no question
// at the time until or later: these documents have no viewings.
func (c *Checker) askAll(
	ctx context.Context, p *collab.PermissionProvider, docs []collab.DocumentRef, viewings [][]collab.Viewing, until time.Time,
) error {
	failed := make([]error, len(docs))
	var g errgroup.Group
	g.SetLimit(providerDocuments)
	for i, doc := range docs {
		g.Go(func() error {
			if !until.IsZero() && !c.now().Before(until) {
				viewings[i] = nil
				return nil
			}
			var users []string
			for _, v := range viewings[i] {
				if v.There && !v.Removed {
					users = append(users, v.User)
				}
			}
			var allowed map[string]bool
			allowed, failed[i] = c.ask(ctx, p, doc, users)
			for j, v := range viewings[i] {
				viewings[i][j].Provider = new(allowed[v.User])
			}
			return nil
		})
	}
	_ = g.Wait() // no function fails
	all := &NoAnswer{}
	for _, err := range failed {
		if noAnswer, ok := errors.AsType[*NoAnswer](err); ok {
			all.Users += noAnswer.Users
			all.Err = cmp.Or(all.Err, noAnswer.Err)
		} else if err != nil {
			return err
		}
	}
	if all.Err == nil {
		return nil
	}
	return all
}
