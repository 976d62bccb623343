// Package operator implements an operator's operations on accounts, credentials, quotas, settings
// and the delivery of events. They run in the process of a caller with AWS credentials for the
// table: see package app/operate. They are not part of API Gateway, the functions and the public
// reference. For an account's data, the operator calls the operations of package api in the
// account's name.
package operator

import (
	"context"
	"io"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/delivery"
	"collabdata/shared/store/accounts"
	"collabdata/shared/store/directory"
	"collabdata/shared/store/hooks"
	"collabdata/shared/store/inbox"
	"collabdata/shared/store/outbox"
	"collabdata/shared/store/threads"
)

// Service runs the operations.
type Service struct {
	Accounts  *accounts.Store
	Directory *directory.Store
	Threads   *threads.Store
	Outbox    *outbox.Store
	Hooks     *hooks.Store
	Inbox     *inbox.Store        // includes disabled documents
	Deliverer *delivery.Deliverer // only explains

	CheckURL func(string) error // returns the rule that a permission provider's URL breaks
	Random   io.Reader
}

// Endpoints returns the operator's endpoints.
func Endpoints() []rpc.Endpoint {
	return []rpc.Endpoint{
		AccountsGet(), AccountsAdd(), AccountsUpdate(), AccountsDelete(), AccountsUsageGet(),
		SettingsGet(), SettingsUpdate(), MailPreviewGet(),
		KeysGet(), KeysAdd(), KeysDelete(), TokensAdd(), TokensRotate(), TokensDelete(), SigningRotate(),
		Find(),
		EventsGet(), EventsExplain(), EventsRetry(), PendingGet(), AuditGet(),
	}
}

// reading returns the endpoint of a read operation.
func reading(path string, operation rpc.Implementation, description string) rpc.Endpoint {
	return rpc.Endpoint{Path: "/operator/" + path, Audience: rpc.Operator, Operation: operation, Description: description}
}

// changing returns the endpoint of a write operation. question is the warning before it.
func changing(path string, operation rpc.Implementation, question, description string) rpc.Endpoint {
	e := reading(path, operation, description)
	e.Changes, e.Question = true, question
	return e
}

type ofAccount struct {
	AccountID string `json:"accountId" rule:"required,id" doc:"The account"`
}

// exists returns NOT_FOUND if the account does not exist.
func (s *Service) exists(ctx context.Context, account string) error {
	_, err := s.Accounts.Account(ctx, account)
	return err
}

func missing(kind, id string) error {
	return collab.Errorf(collab.NotFound, "%s %q does not exist", kind, id)
}
