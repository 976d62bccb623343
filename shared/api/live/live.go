// Package live has the operation by which a page is let connect, to be told of changes: see package collabdata/shared/live.
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

// Service carries out the operation.
type Service struct {
	URL         string // of connections; "" where there are none
	Rule        live.Rule
	Connections connections.Store
	Keys        credentials.KeyStore // of accounts
}

// TicketsAddRequest is the data of POST /v2/live/tickets/add.
type TicketsAddRequest struct {
	OrganizationID string   `json:"organizationId" rule:"required,id" person:"in"`
	UserID         string   `json:"userId" rule:"required,id" person:"self" doc:"The person whose page connects: your back end has decided that they may see what it asks for"`
	DocumentIDs    []string `json:"documentIds" rule:"notnull,nonempty,max=30,each=docid" person:"in" doc:"The documents that the page shows, at most 30"`
	Inbox          bool     `json:"inbox" person:"in" doc:"Tell of the person's inbox; false where it is left out. At least one of documentIds and this"`
}

// Validate refuses a request for nothing.
func (r *TicketsAddRequest) Validate(m *rpc.Violations) {
	if len(r.DocumentIDs) == 0 && !r.Inbox {
		m.Add("documentIds", "is required where inbox is not true")
	}
}

// Ticket is where a page connects.
type Ticket struct {
	URL       string           `json:"url" person:"out" doc:"WebSocket address with a ticket in it, for one connection. Give it to the page alone"`
	ExpiresAt collab.Timestamp `json:"expiresAt" person:"out" doc:"When the connection must have begun"`
}

// TicketsAdd is POST /v2/live/tickets/add.
func TicketsAdd() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/live/tickets/add", Grants: rpc.ReadTable | rpc.ReadProviders | rpc.AddTickets,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).TicketsAdd), Description: `
Lets a person's page connect, so that it is told when something changes instead of asking again and again. The answer's address takes one
WebSocket connection, begun within 60 seconds; [Live](#live) says what goes over it. It takes no Idempotency-Key. PERMISSION_DENIED when
the person may not see one of the documents: what somebody set is asked, access type, disabled state, permission provider, removal.
NOT_FOUND when the organization or a document does not exist. RESOURCE_EXHAUSTED when there are 20 connections of the person in the
organization, 1,000 of a document, or as many of the account as its operator lets it have (5,000): the page then asks by itself. Tickets
that were not used do not count. FAILED_PRECONDITION where the deployment has live switched off.`}
}

// TicketsAdd returns an address for one connection of a person's page. It fails with FAILED_PRECONDITION where there are none, like
// Rule.Check, and like collab.Connected.Check.
func (s *Service) TicketsAdd(ctx context.Context, call *rpc.Call, req *TicketsAddRequest) (*Ticket, error) {
	if s.URL == "" {
		return nil, collab.Errorf(collab.FailedPrecondition, "live is switched off in this deployment")
	}
	w := collab.Watch{
		Account: call.Account, Organization: req.OrganizationID, User: req.UserID, Documents: rpc.Distinct(req.DocumentIDs), Inbox: req.Inbox,
	}
	counted := collab.Later(ctx, func() (collab.Connected, error) { return s.Connections.Connected(ctx, w, false) })
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
