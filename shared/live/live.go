// Package live sends pages hints about changed data. A hint may be lost or repeated; pages refresh
// every 30 minutes.
package live

import (
	"context"
	"errors"
	"time"

	"collabdata/shared/collab"
)

// Directory provides organizations and documents: see package directory.
type Directory interface {
	Open(ctx context.Context, acct, organization, folder string, documents []string) (collab.OrganizationRef, []collab.DocumentRef, error)
	OpenDocument(ctx context.Context, acct, organization, id string, create collab.CreateFlags) (collab.DocumentRef, error)
}

// Access decides access: see package access.
type Access interface {
	Viewers(
		ctx context.Context, settings collab.Settings, docs []collab.DocumentRef, users []string, members bool,
	) ([][]collab.Viewer, error)
}

// Connections stores connections and tickets: see package connections.
type Connections interface {
	TakeTicket(ctx context.Context, acct, id string) (w collab.Watch, ok bool, err error)
	Connect(ctx context.Context, c collab.Connection) error
	Connection(ctx context.Context, id string) (c collab.Connection, ok bool, err error)
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
	Directory Directory
	Access    Access
}

// Check returns an error unless a user may watch all of w. It returns NOT_FOUND if the organization
// or a document does not exist, and FAILED_PRECONDITION if the organization is disabled. It returns
// PERMISSION_DENIED if the user has no access to a document, or if the document is disabled.
func (r Rule) Check(ctx context.Context, s collab.Settings, w collab.Watch) error {
	_, docs, err := r.Directory.Open(ctx, w.Account, w.Organization, "", w.Documents)
	if err != nil {
		return err
	}
	for i, id := range w.Documents {
		if i < len(docs) && docs[i].Document == id {
			continue
		}
		_, err := r.Directory.OpenDocument(ctx, w.Account, w.Organization, id, collab.CreateFlags{})
		if err == nil || collab.CodeOf(err) == collab.FailedPrecondition {
			err = collab.Errorf(collab.PermissionDenied, "document %q is disabled", id)
		}
		return err
	}
	viewers, err := r.Access.Viewers(ctx, s, docs, []string{w.User}, false)
	if err != nil {
		return err
	}
	for i, v := range viewers {
		if !v[0].May {
			return collab.Errorf(collab.PermissionDenied, "user %q cannot see document %q", w.User, docs[i].Document)
		}
	}
	return nil
}
