// Package live implements the operation that lets a page connect for live changes: see package
// collabdata/shared/live.
package live

import (
	"context"
	"net/url"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/credentials"
	"collabdata/shared/live"
	"collabdata/shared/store/connections"
)

// Service runs the operation.
type Service struct {
	URL         string // of connections; "" if there are none
	Rule        live.Rule
	Connections connections.Store
	Keys        credentials.KeyStore // of accounts
}

type TicketsAddRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id" person:"in"`
	UserID         string   `json:"userId" rule:"required,id" person:"self" doc:"The person on the page; your back end must have authorized them"`
	DocumentIDs    []string `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" person:"in" doc:"The documents on the page, at most 30"`
	Inbox          bool     `json:"inbox" person:"in" doc:"Also report changes of the person's inbox; this or documentIds is required"`
}

// Validate requires documentIds or inbox.
func (r *TicketsAddRequest) Validate(m *rpc.Violations) {
	if len(r.DocumentIDs) == 0 && !r.Inbox {
		m.Add("documentIds", "is required unless inbox is true")
	}
}

// Ticket is an address for one connection.
type Ticket struct {
	URL       string           `json:"url" person:"out" doc:"WebSocket address with a ticket, for one connection. Give it only to the page"`
	ExpiresAt collab.Timestamp `json:"expiresAt" person:"out" doc:"Time by which the connection must begin"`
}

// TicketsAdd is POST /v2/live/tickets/add.
func TicketsAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/live/tickets/add", Grants: rpc.ReadTable | rpc.ReadProviders | rpc.AddTickets,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).TicketsAdd), Description: `
Add a connection ticket.

Creates a ticket with which a person's page connects and receives changes, instead of polling. The
address accepts one WebSocket connection, begun within 60 seconds; [Live](#live) describes its
messages. The operation takes no Idempotency-Key. The request fails with:

- PERMISSION_DENIED if the person cannot see one of the documents, according to access type,
  disabled state, permission provider or removal, or for the inbox of a removed person.
- NOT_FOUND if the organization or a document does not exist.
- RESOURCE_EXHAUSTED if the person has 20 connections in the organization, or a document or the
  account has reached its limit (defaults 1,000 and 5,000): then the page polls. Unused tickets do
  not count.
- FAILED_PRECONDITION if live is switched off in this deployment.`}
}

// TicketsAdd returns an address for one connection of a person's page.
func (s *Service) TicketsAdd(ctx context.Context, call *rpc.Call, req *TicketsAddRequest) (*Ticket, error) {
	if s.URL == "" {
		return nil, collab.Errorf(collab.FailedPrecondition, "live is switched off in this deployment")
	}
	w := collab.Watch{
		Account: call.Account, Organization: req.OrganizationID, User: req.UserID, Documents: rpc.Distinct(req.DocumentIDs), Inbox: req.Inbox,
	}
	counted := collab.Later(ctx, func() (collab.Connected, error) { return s.Connections.Connected(ctx, call.Settings, w, false) })
	if err := s.Rule.Check(ctx, call.Settings, w); err != nil {
		if code := collab.CodeOf(err); call.Person != nil && (code == collab.PermissionDenied || code == collab.NotFound) {
			err = collab.Errorf(collab.NotFound, "one of the documents does not exist in organization %q", req.OrganizationID)
		}
		return nil, err
	}
	connected, err := counted()
	if err == nil {
		err = connected.Check(call.Settings, 1)
	}
	if err != nil {
		return nil, err
	}
	signing, err := s.Keys.Signing(ctx, call.Account)
	if err != nil {
		return nil, err
	}
	key, err := credentials.Signer(signing.Keys, call.Now)
	if err != nil {
		return nil, err
	}
	id, until, err := s.Connections.AddTicket(ctx, w)
	if err != nil {
		return nil, err
	}
	call.Items, call.Message = 1, "Ticket added successfully."
	return &Ticket{URL: s.URL + "?ticket=" + url.QueryEscape(credentials.SealTicket(key, call.Account, id)), ExpiresAt: collab.Timestamp(until)}, nil
}
