// Package live sends pages hints about changed data. A hint may be lost or repeated; pages refresh
// every two hours.
package live

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"collabdata/shared/access"
	"collabdata/shared/collab"
	"collabdata/shared/store/directory"

	"golang.org/x/sync/errgroup"
)

// Accounts provides accounts: see package accounts.
type Accounts interface {
	Account(ctx context.Context, id string) (collab.Account, error)
}

// Connections stores connections and tickets: see package connections.
type Connections interface {
	TakeTicket(ctx context.Context, acct, id string) (w collab.Watch, ok bool, err error)
	Connect(ctx context.Context, c collab.Connection) error
	Disconnect(ctx context.Context, id string, age time.Duration) error
	Connected(ctx context.Context, s collab.Settings, w collab.Watch, now bool) (collab.Connected, error)
	Connections(ctx context.Context, acct, org, user string) ([]collab.Connection, error)
	Watchers(ctx context.Context, acct, org, doc, user string) ([]collab.Connection, error)
}

// Gateway holds the connections themselves. Its methods return ErrGone if the connection has ended.
type Gateway interface {
	Post(ctx context.Context, id, text string) error
	Close(ctx context.Context, id string) error
}

// ErrGone is the error of a connection that has ended.
var ErrGone = errors.New("the connection has ended")

// Rule decides the hints that a page may receive.
type Rule struct {
	Directory *directory.Store
	Access    *access.Checker
}

// Check returns an error unless the user of w may watch all of it. It returns NOT_FOUND if the
// organization or a document does not exist, and FAILED_PRECONDITION if the organization is
// disabled. It returns PERMISSION_DENIED if the user has no access to a document, if the document
// is disabled, or for the inbox of a user who was removed from the organization.
func (r Rule) Check(ctx context.Context, s collab.Settings, w collab.Watch) error {
	refused, err := r.refused(ctx, ctx, s, w, []string{w.User})
	return cmp.Or(err, refused[w.User])
}

const (
	queries  = 16  // concurrent
	together = 100 // users whose access is read at once: see directory.Store.Standings
)

// refused returns the errors of Check by user, or one for all users. With the error
// *access.NoAnswer it also returns the errors of users that an answer, or another rule, refuses. It
// waits for no provider after asking ends.
func (r Rule) refused(ctx, asking context.Context, s collab.Settings, w collab.Watch, users []string) (map[string]error, error) {
	org, docs, err := r.Directory.Open(ctx, w.Account, w.Organization, "", w.Documents)
	if err != nil {
		return nil, err
	}
	for i, id := range w.Documents {
		if i < len(docs) && docs[i].Document == id {
			continue
		}
		_, err := r.Directory.OpenDocument(ctx, w.Account, w.Organization, id, collab.CreateFlags{})
		if err == nil || collab.CodeOf(err) == collab.FailedPrecondition {
			err = collab.Errorf(collab.PermissionDenied, "document %q is disabled", id)
		}
		return nil, err
	}
	var mu sync.Mutex
	var silent error
	refused := map[string]error{}
	refuse := func(user, format, object string) {
		mu.Lock()
		defer mu.Unlock()
		refused[user] = collab.Errorf(collab.PermissionDenied, format, user, object)
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(queries)
	for part := range slices.Chunk(users, together) {
		g.Go(func() error {
			viewers, err := r.Access.ViewersWithin(within, asking, s, docs, part)
			if _, partly := errors.AsType[*access.NoAnswer](err); err != nil && !partly {
				return err
			}
			mu.Lock()
			silent = cmp.Or(silent, err)
			mu.Unlock()
			for i, list := range viewers {
				for _, v := range list {
					if !v.May && !v.Unanswered {
						refuse(v.User, "user %q cannot see document %q", docs[i].Document)
					}
				}
			}
			return nil
		})
	}
	for _, u := range users {
		if !w.Inbox {
			break
		}
		g.Go(func() error {
			removed, err := r.Directory.IsRemoved(within, org, u)
			if removed {
				refuse(u, "user %q was removed from organization %q", w.Organization)
			}
			return err
		})
	}
	err = g.Wait()
	return refused, cmp.Or(err, silent)
}
