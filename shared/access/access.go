// Package access answers who may see what: with what the directory knows, and what an account's permission provider says. The rule itself is
// collab.Standing and collab.Viewer.
package access

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/webhook"

	"golang.org/x/sync/errgroup"
)

// Directory is what the answers are made of: see package directory.
type Directory interface {
	Standings(ctx context.Context, org collab.OrganizationRef, q collab.StandingQuery) (*collab.Standings, error)
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

// New returns a Checker that reaches permission providers which the guard allows. o says how they are called, except for time-out and size.
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

// Viewers returns what users may see of documents of one organization, at this moment: by document, in their order, and in each by user;
// with members, also whether each is a member. The access type of a document or a folder above it counts, whether the document is disabled,
// the account's permission provider, and who was removed. Without any of these, everyone may see it. With the error *NoAnswer it returns the
// viewers, too: those without an answer may see nothing.
func (c *Checker) Viewers(
	ctx context.Context, settings collab.Settings, docs []collab.DocumentRef, users []string, members bool,
) ([][]collab.Viewer, error) {
	return c.viewers(ctx, settings, collab.StandingQuery{Users: users, Documents: docs, Members: members}, time.Time{})
}

// viewers is Viewers for a query; of documents about which the permission provider was not asked by the time until it returns none.
func (c *Checker) viewers(
	ctx context.Context, settings collab.Settings, q collab.StandingQuery, until time.Time,
) ([][]collab.Viewer, error) {
	docs := q.Documents
	if len(docs) == 0 {
		return nil, nil
	}
	provider, err := c.provider(ctx, settings, docs[0].Account)
	if err != nil {
		return nil, err
	}
	q.Provided = provider != nil
	of, err := c.directory.Standings(ctx, docs[0].OrganizationRef, q)
	if err != nil {
		return nil, err
	}
	if provider != nil {
		err = c.askAll(ctx, provider, docs, of.Documents, until)
	}
	if _, partly := errors.AsType[*NoAnswer](err); err != nil && !partly {
		return nil, err
	}
	list := make([][]collab.Viewer, len(docs))
	for i, of := range of.Documents {
		list[i] = collab.Map(of, func(v collab.Standing) collab.Viewer { return v.Viewer(c.now().UnixMilli()) })
	}
	return list, err
}

// MaySee returns, by id, which of the users may see a document, whether or not somebody set who may: the permission provider says it, else the
// document's access type, or the account's default. It fails like Viewers, and returns with *NoAnswer those of whom there is an answer.
func (c *Checker) MaySee(
	ctx context.Context, settings collab.Settings, doc collab.DocumentRef, users []string,
) (map[string]bool, error) {
	viewers, err := c.may(ctx, settings, doc, users, func(of collab.Standing, now collab.Millis) bool { return of.Grant(now) != nil })
	allowed := make(map[string]bool, len(viewers))
	for u := range viewers {
		allowed[u] = true
	}
	return allowed, err
}

// Writers returns, by id, those of the users who may write in a document, as viewers of it: the permission provider says it of all whom it lets
// see the document, else the document's access type with their grants, or the account's default. It fails like Viewers.
func (c *Checker) Writers(
	ctx context.Context, settings collab.Settings, doc collab.DocumentRef, users []string,
) (map[string]collab.Viewer, error) {
	return c.may(ctx, settings, doc, users, collab.Standing.MayWrite)
}

// may returns the users whom a permission provider lets see a document, or whom allows lets.
func (c *Checker) may(
	ctx context.Context, settings collab.Settings, doc collab.DocumentRef, users []string, allows func(collab.Standing, collab.Millis) bool,
) (map[string]collab.Viewer, error) {
	allowed := make(map[string]collab.Viewer, len(users))
	if settings.PermissionProvider {
		viewers, err := c.Viewers(ctx, settings, []collab.DocumentRef{doc}, users, true)
		for _, v := range slices.Concat(viewers...) {
			if v.May {
				allowed[v.User] = v
			}
		}
		return allowed, err
	}
	of, err := c.directory.Standings(ctx, doc.OrganizationRef, collab.StandingQuery{
		Users: users, Documents: []collab.DocumentRef{doc}, Default: settings.AccessByDefault(),
	})
	if err != nil {
		return nil, err
	}
	now := c.now().UnixMilli()
	for _, v := range of.Documents[0] {
		if v.There && !v.Disabled && allows(v, now) {
			allowed[v.User] = collab.Viewer{User: v.User, May: true, Member: v.Member.Holds(now)}
		}
	}
	return allowed, nil
}

// provider returns the permission provider of an account, nil for none. Only the settings are asked where these say that there is none.
func (c *Checker) provider(ctx context.Context, settings collab.Settings, acct string) (*collab.PermissionProvider, error) {
	if !settings.PermissionProvider {
		return nil, nil
	}
	return c.accounts.PermissionProvider(ctx, acct)
}

// askAll asks a provider about the users whom all other rules let see documents, and puts the answers into the standings. It begins no question
// at the time until or later: these documents have no standings.
func (c *Checker) askAll(
	ctx context.Context, p *collab.PermissionProvider, docs []collab.DocumentRef, standings [][]collab.Standing, until time.Time,
) error {
	failed := make([]error, len(docs))
	var g errgroup.Group
	g.SetLimit(providerDocuments)
	for i, doc := range docs {
		g.Go(func() error {
			if !until.IsZero() && !c.now().Before(until) {
				standings[i] = nil
				return nil
			}
			var users []string
			for _, v := range standings[i] {
				if v.There && !v.Disabled && !v.Removed {
					users = append(users, v.User)
				}
			}
			var allowed map[string]bool
			allowed, failed[i] = c.ask(ctx, p, doc, users)
			for j, v := range standings[i] {
				standings[i][j].Provider = new(allowed[v.User])
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
