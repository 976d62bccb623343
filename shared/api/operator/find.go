package operator

import (
	"context"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/store/directory"
)

// FindRequest searches for an id among accounts and API keys, and in the given account and
// organization.
type FindRequest struct {
	ID             string `json:"id" rule:"required,docid" doc:"The id to find"`
	AccountID      string `json:"accountId" rule:"notnull,id" doc:"Search in this account, too"`
	OrganizationID string `json:"organizationId" rule:"notnull,id" doc:"Search in this organization, too"`
}

// Found is an object with the id, and the ids of its parents.
type Found struct {
	Kind           string           `json:"kind"`
	AccountID      string           `json:"accountId,omitempty"`
	OrganizationID string           `json:"organizationId,omitempty"`
	FolderID       string           `json:"folderId,omitempty"`
	DocumentID     string           `json:"documentId,omitempty"`
	AnnotationID   string           `json:"annotationId,omitempty"`
	UserID         string           `json:"userId,omitempty"`
	EventID        string           `json:"eventId,omitempty"`
	WebhookID      string           `json:"webhookId,omitempty"`
	JobID          string           `json:"jobId,omitempty"`
	APIKey         string           `json:"apiKey,omitempty"`
	DeletedAt      collab.Timestamp `json:"deletedAt,omitzero" doc:"Of a thread deleted within the last day"`
	RequestID      string           `json:"requestId,omitempty" doc:"The request that deleted it"`
}

// Find is POST /operator/find.
func Find() rpc.Endpoint {
	return reading("find", rpc.Method((*Service).Find), `
Find objects by id: accounts and API keys. With accountId, it also finds the account's
organizations, events, webhooks and jobs. With organizationId, it also finds folders, documents,
threads and users of the organization.`)
}

func (s *Service) Find(ctx context.Context, call *rpc.Call, req *FindRequest) ([]Found, error) {
	list := []Found{}
	look := func(found Found, read func() error) error {
		err := read()
		if collab.CodeOf(err) == collab.NotFound {
			return nil
		}
		if err == nil {
			list = append(list, found)
		}
		return err
	}
	acct, id := req.AccountID, req.ID
	looks := []struct {
		found Found
		read  func() error
	}{
		{Found{Kind: "account", AccountID: id}, func() error { return s.exists(ctx, id) }},
		{Found{Kind: "API key", APIKey: id}, func() error { _, err := s.Accounts.APIKey(ctx, id); return err }},
	}
	if acct != "" {
		looks = append(looks, []struct {
			found Found
			read  func() error
		}{
			{Found{Kind: "organization", AccountID: acct, OrganizationID: id}, func() error {
				_, err := s.Directory.FindOrganization(ctx, acct, id, false)
				return err
			}},
			{Found{Kind: "event", AccountID: acct, EventID: id}, func() error { _, err := s.Outbox.Event(ctx, acct, id); return err }},
			{Found{Kind: "webhook", AccountID: acct, WebhookID: id}, func() error { _, err := s.Hooks.Webhook(ctx, acct, id); return err }},
			{Found{Kind: "job", AccountID: acct, JobID: id}, func() error { _, err := s.Outbox.JobProgress(ctx, acct, id); return err }},
		}...)
	}
	for _, l := range looks {
		if err := look(l.found, l.read); err != nil {
			return nil, err
		}
	}
	if acct != "" && req.OrganizationID != "" {
		within, err := s.findWithin(ctx, acct, req.OrganizationID, id)
		if err != nil {
			return nil, err
		}
		list = append(list, within...)
	}
	call.Items = len(list)
	switch call.Message = rpc.Count(len(list), "object"); {
	case len(list) > 0:
	case acct == "":
		call.Message = "nothing found: it looks for accounts and API keys, and in an account if one is given"
	case req.OrganizationID == "":
		call.Message = "nothing found: it looks for accounts, API keys, and the account's organizations, events, webhooks and jobs, and in an organization if one is given"
	default:
		call.Message = "nothing found in the account and the organization"
	}
	return list, nil
}

// findWithin searches an organization for an id.
func (s *Service) findWithin(ctx context.Context, acct, organization, id string) (list []Found, err error) {
	org, err := s.Directory.FindOrganization(ctx, acct, organization, false)
	if err != nil {
		return nil, err
	}
	found := Found{AccountID: acct, OrganizationID: organization}
	add := func(kind string, set func(*Found)) {
		f := found
		f.Kind = kind
		set(&f)
		list = append(list, f)
	}
	documents, err := s.Directory.DocumentsByID(ctx, org, []string{id})
	if err != nil {
		return nil, err
	}
	if len(documents) > 0 {
		add("document", func(f *Found) { f.DocumentID = id })
	}
	folders, err := s.Directory.FoldersAbove(ctx, org, []string{id})
	if err != nil {
		return nil, err
	}
	if _, ok := folders[id]; ok {
		add("folder", func(f *Found) { f.FolderID = id })
	}
	if err := s.findThreads(ctx, org, id, add); err != nil {
		return nil, err
	}
	members, err := s.Directory.Members(ctx, org, []string{id})
	if _, ok := members[id]; ok {
		add("member", func(f *Found) { f.UserID = id })
	}
	return list, err
}

// mostThreads limits the documents to search for threads.
const mostThreads = 5

// findThreads searches for threads, and for records of deleted ones.
func (s *Service) findThreads(ctx context.Context, org collab.OrganizationRef, id string, add func(string, func(*Found))) error {
	with, err := s.Threads.DocumentsWith(ctx, org, id, mostThreads)
	if err != nil {
		return err
	}
	current, err := s.withDisabled().Current(ctx, org, with)
	if err != nil {
		return err
	}
	for doc := range current {
		_, err := s.Threads.Head(ctx, doc, id)
		switch {
		case err == nil:
			add("thread", func(f *Found) { f.DocumentID, f.AnnotationID = doc.Document, id })
			continue
		case collab.CodeOf(err) != collab.NotFound:
			return err
		}
		at, request, err := s.Threads.FindDeleted(ctx, doc, id)
		if err != nil {
			return err
		}
		if at != 0 {
			add("deleted thread", func(f *Found) { f.DocumentID, f.DeletedAt, f.RequestID = doc.Document, collab.Timestamp(at), request })
		}
	}
	return nil
}

func (s *Service) withDisabled() *directory.Store { return s.Directory.WithDisabled() }
