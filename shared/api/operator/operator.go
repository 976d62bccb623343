// Package operator has the operations of an operator: on accounts, their credentials, quotas and settings, and on the delivery of events.
// They are served in process to a caller with AWS credentials for the table: see package app/operator. API Gateway, the functions and the
// public reference do not know them. For the data of an account the operator calls the operations of package api in its name.
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

// Service carries out the operations.
type Service struct {
	Accounts  *accounts.Store
	Directory *directory.Store
	Threads   *threads.Store
	Outbox    *outbox.Store
	Hooks     *hooks.Store
	Inbox     *inbox.Store        // reads disabled documents, too
	Deliverer *delivery.Deliverer // explains, and delivers nothing

	CheckURL func(string) error // returns the rule that a permission provider's URL breaks
	Random   io.Reader
}

// Endpoints returns the table of the operator's operations.
func Endpoints() []rpc.Endpoint {
	return []rpc.Endpoint{
		AccountsGet(), AccountsAdd(), AccountsUpdate(), AccountsDelete(), AccountsUsageGet(),
		SettingsGet(), SettingsUpdate(), MailPreviewGet(),
		KeysGet(), KeysAdd(), KeysDelete(), TokensAdd(), TokensRotate(), TokensDelete(), SigningRotate(),
		Find(),
		EventsGet(), EventsExplain(), EventsRetry(), PendingGet(),
	}
}

// reading returns the row of an operation that changes nothing.
func reading(path string, operation rpc.Rule, description string) rpc.Endpoint {
	return rpc.Endpoint{Path: "/operator/" + path, Audience: rpc.Operator, Operation: operation, Description: description}
}

// changing returns the row of an operation that changes something.
func changing(path string, operation rpc.Rule, question, description string) rpc.Endpoint {
	e := reading(path, operation, description)
	e.Changes, e.Question = true, question
	return e
}

// ofAccount is what requests about one account have.
type ofAccount struct {
	AccountID string `json:"accountId" rule:"required,id" doc:"The account"`
}

// exists fails with NOT_FOUND where the account does not exist.
func (s *Service) exists(ctx context.Context, account string) error {
	_, err := s.Accounts.Account(ctx, account)
	return err
}

func missing(kind, id string) error {
	return collab.Errorf(collab.NotFound, "%s %q does not exist", kind, id)
}
