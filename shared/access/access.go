// Package access decides access of users, from the directory and from accounts' permission
// providers. The rules themselves are in collab.Standing and collab.Viewer.
package access

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"collabdata/shared/cache"
	"collabdata/shared/collab"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/webhook"

	"golang.org/x/sync/errgroup"
)

// Checker decides access. It is safe for concurrent use.
type Checker struct {
	directory *directory.Store
	accounts  *accounts.Store
	now       func() time.Time
	log       *slog.Logger
	client    *webhook.Client // for permission providers
	silent    *cache.Breaker  // of permission providers, by account
}

// New returns a Checker. guard limits the addresses of permission providers. o applies to calls,
// except time-out and size.
func New(
	d *directory.Store, a *accounts.Store, guard *webhook.Guard, o webhook.ClientOptions, now func() time.Time, log *slog.Logger,
) *Checker {
	o.Timeout, o.Answer, o.Posted = providerTimeout, providerAnswer, nil
	return &Checker{directory: d, accounts: a, now: now, log: log, client: webhook.NewClient(guard, o), silent: cache.NewBreaker(silentTries, SilentPause, now)}
}

// NoAnswer is the error if a permission provider gave no answer for some users. Callers see
// UNAVAILABLE.
type NoAnswer struct {
	Users int   // number of users without an answer, summed over documents
	Err   error // the cause
	Later bool  // some were not asked, because the provider was silent: ask again after SilentPause
}

func (e *NoAnswer) Error() string { return "the permission provider gave no answer: " + e.Err.Error() }

// Unwrap returns the error for callers.
func (e *NoAnswer) Unwrap() error {
	return &collab.Error{Code: collab.Unavailable, Message: "the account's permission provider gave no answer; try again later", RetryAfter: retryAfter}
}

const retryAfter = 5 * time.Second // after a provider gave no answer

// providerDocuments is the number of documents for which a provider is asked concurrently.
const providerDocuments = 8

// Viewers returns the access of users to documents of one organization, by document in order, then
// by user. If members is true, it includes membership. It considers access types, disabled
// documents, the account's permission provider, and removals; without any of these, everyone has
// access. With the error *NoAnswer it also returns the viewers, and users without an answer have no
// access.
func (c *Checker) Viewers(
	ctx context.Context, settings collab.Settings, docs []collab.DocumentRef, users []string, members bool,
) ([][]collab.Viewer, error) {
	return c.viewers(ctx, ctx, settings, collab.StandingQuery{Users: users, Documents: docs, Members: members}, time.Time{})
}

// ViewersWithin is Viewers without members. It does not wait for the permission provider after
// asking ends: the users left have no answer.
func (c *Checker) ViewersWithin(
	ctx, asking context.Context, settings collab.Settings, docs []collab.DocumentRef, users []string,
) ([][]collab.Viewer, error) {
	return c.viewers(ctx, asking, settings, collab.StandingQuery{Users: users, Documents: docs}, time.Time{})
}

// viewers is ViewersWithin for a query. It returns no viewers for documents that the permission
// provider was not asked about by until.
func (c *Checker) viewers(
	ctx, asking context.Context, settings collab.Settings, q collab.StandingQuery, until time.Time,
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
	standings, err := c.directory.Standings(ctx, docs[0].OrganizationRef, q)
	if err != nil {
		return nil, err
	}
	if provider != nil {
		if err = c.askAll(asking, provider, docs, standings.Documents, until); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if _, partly := errors.AsType[*NoAnswer](err); err != nil && !partly {
		return nil, err
	}
	list := make([][]collab.Viewer, len(docs))
	for i, standing := range standings.Documents {
		list[i] = collab.Map(standing, func(v collab.Standing) collab.Viewer { return v.Viewer(c.now().UnixMilli()) })
	}
	return list, err
}

// MaySee returns the users with access to a document, by id: as the permission provider decides,
// else by the document's access type or the account's default. It returns the errors of Viewers;
// with *NoAnswer it also returns the users with an answer.
func (c *Checker) MaySee(
	ctx context.Context, settings collab.Settings, doc collab.DocumentRef, users []string,
) (map[string]bool, error) {
	viewers, err := c.may(ctx, settings, doc, users, func(standing collab.Standing, now collab.Millis) bool { return standing.Grant(now) != nil })
	allowed := make(map[string]bool, len(viewers))
	for u := range viewers {
		allowed[u] = true
	}
	return allowed, err
}

// Writers returns the users that can write in a document, by id. If there is a permission provider,
// those are the users that it lets see the document; otherwise the access type with grants, or the
// account's default, decides. It returns the errors of Viewers.
func (c *Checker) Writers(
	ctx context.Context, settings collab.Settings, doc collab.DocumentRef, users []string,
) (map[string]collab.Viewer, error) {
	return c.may(ctx, settings, doc, users, collab.Standing.MayWrite)
}

// may returns the users with access by a permission provider, or else by allows.
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
	standings, err := c.directory.Standings(ctx, doc.OrganizationRef, collab.StandingQuery{
		Users: users, Documents: []collab.DocumentRef{doc}, Default: settings.AccessByDefault(),
	})
	if err != nil {
		return nil, err
	}
	now := c.now().UnixMilli()
	for _, v := range standings.Documents[0] {
		if v.There && !v.Disabled && allows(v, now) {
			allowed[v.User] = collab.Viewer{User: v.User, May: true, Member: v.Member.Holds(now)}
		}
	}
	return allowed, nil
}

func (c *Checker) provider(ctx context.Context, settings collab.Settings, acct string) (*collab.PermissionProvider, error) {
	if !settings.PermissionProvider {
		return nil, nil
	}
	return c.accounts.PermissionProvider(ctx, acct)
}

// askAll asks a provider about the users that all other rules admit, and stores the answers in the
// standings. It starts no call after until; the documents left have no standings.
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
				if v.There && !v.Disabled && !v.IsRemoved(c.now().UnixMilli()) {
					users = append(users, v.User)
				}
			}
			var allowed map[string]bool
			allowed, failed[i] = c.ask(ctx, p, doc, users)
			for j, v := range standings[i] {
				may, answered := allowed[v.User]
				standings[i][j].Provider, standings[i][j].Unanswered = &may, !answered
			}
			return nil
		})
	}
	_ = g.Wait()
	all := &NoAnswer{}
	for _, err := range failed {
		if noAnswer, ok := errors.AsType[*NoAnswer](err); ok {
			all.Users += noAnswer.Users
			all.Later = all.Later || noAnswer.Later
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
