package notifications

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/store/inbox"
	"collabdata/shared/words"

	"golang.org/x/sync/errgroup"
)

// GetRequest is the data of POST /v2/notifications/get.
type GetRequest struct {
	OrganizationID  string         `json:"organizationId" rule:"required,id" person:"in"`
	DocumentID      string         `json:"documentId" rule:"notnull,docid" person:"in" doc:"Those of this document; required unless userId is there"`
	UserID          string         `json:"userId" rule:"notnull,id" person:"self" doc:"Those in the inbox of this user; required unless documentId is there"`
	LocationID      string         `json:"locationId" rule:"notnull,id" doc:"Those at this location alone"`
	NotificationIDs []string       `json:"notificationIds" rule:"notnull,nonempty,max=30,each=id" person:"in" doc:"These alone; those that do not exist are left out"`
	CreatedAfter    *collab.Millis `json:"createdAfter" rule:"notnull,time" person:"in" doc:"Made then or later"`
	UnreadOnly      bool           `json:"unreadOnly" person:"in" doc:"Those that the user has not read alone; with userId"`
	Locale          string         `json:"locale" rule:"notnull" person:"in" doc:"The language of the headlines of comments, as a BCP 47 tag such as pt-BR; by default the user's, else the account's"`
	Order           collab.Order   `json:"order" rule:"notnull" person:"in" doc:"By time: asc for the earliest first, desc for the newest first, also where it is left out"`
	rpc.PageRequest
}

// Validate checks that the request says whose notifications it asks for.
func (r *GetRequest) Validate(m *rpc.Violations) {
	if r.DocumentID == "" && r.UserID == "" {
		m.Add("userId", "is required unless documentId is there")
	}
	if r.UnreadOnly && r.UserID == "" {
		m.Add("unreadOnly", "needs userId")
	}
	if r.Locale != "" {
		if err := words.CheckLocale(r.Locale); err != nil {
			m.Add("locale", "%v", err)
		}
	}
}

// Notification is a notification as it is answered: to a user as the user reads it, or as one of its document.
type Notification struct {
	ID               string                 `json:"id"`
	NotificationID   string                 `json:"notificationId" person:"out"`
	DocumentID       string                 `json:"documentId" person:"out"`
	AnnotationID     string                 `json:"annotationId,omitempty" person:"out" doc:"Of one that a comment made"`
	CommentIDs       []int64                `json:"commentIds,omitempty" person:"out" doc:"Of one that comments made: the first of these, at most 3"`
	Source           string                 `json:"notificationSource" doc:"custom, comment for one that a comment made, or what was sent"`
	SourceData       collab.JSON            `json:"notificationSourceData,omitempty" rule:"object"`
	DocumentName     string                 `json:"documentName,omitempty" person:"out" doc:"The name of the document; none if it has none"`
	TargetText       string                 `json:"targetText,omitempty" person:"out" doc:"Of one that a comment made: the text that the thread is about, at most 200 characters"`
	ActionUser       collab.User            `json:"actionUser" person:"out" doc:"The acting user: of one that a comment made, with the fields that the thread or the organization has, such as a picture"`
	Headline         string                 `json:"displayHeadlineMessage" person:"out" doc:"The headline for this user, as plain text; without a user, {recipientUser} stays"`
	Template         string                 `json:"displayHeadlineMessageTemplate"`
	TemplateData     map[string]collab.JSON `json:"displayHeadlineMessageTemplateData,omitempty"`
	Body             string                 `json:"displayBodyMessage" person:"out" doc:"Of one that a comment made: the first 2,000 characters of its text, or those around the first mention of the user if it comes later, with … for what is missing"`
	BodyTemplate     string                 `json:"displayBodyMessageTemplate,omitempty"`
	BodyTemplateData map[string]collab.JSON `json:"displayBodyMessageTemplateData,omitempty"`
	Location         collab.JSON            `json:"location,omitempty" rule:"object" person:"out"`
	Metadata         collab.JSON            `json:"metadata" rule:"object" doc:"apiKey, organizationId and documentId, beside what was sent"`
	PersistRead      bool                   `json:"persistReadForUsers,omitempty" doc:"Kept for your application"`
	ResolverUsed     bool                   `json:"isNotificationResolverUsed,omitempty" doc:"Your application shows the texts"`
	NotifyAll        bool                   `json:"notifyAll" doc:"It is for everyone of the organization"`
	NotifyUsers      map[string]bool        `json:"notifyUsers" doc:"The recipients by user id, each true: at most 200 of them"`
	NotifyUsersByID  map[string]bool        `json:"notifyUsersByUserId" doc:"The same"`
	Timestamp        collab.Millis          `json:"timestamp" person:"out" doc:"When it was made, in milliseconds since epoch"`
	CreatedAt        collab.Timestamp       `json:"createdAt" person:"out"`
	Read             *bool                  `json:"read,omitempty" person:"out" doc:"Whether the user read it; none without a user"`
	ReadAt           collab.Timestamp       `json:"readAt,omitzero" person:"out" doc:"When the user first read it"`
	Clicked          *bool                  `json:"clicked,omitempty" person:"out" doc:"Whether the user clicked it; none without a user"`
	ClickedAt        collab.Timestamp       `json:"clickedAt,omitzero" person:"out" doc:"When the user first clicked it"`
}

// show returns an entry as it is answered to a request; recipient is the user who has it, without an id for none.
func show(call *rpc.Call, org string, e collab.InboxEntry, recipient collab.User) Notification {
	to := make(map[string]bool, len(e.To))
	for _, u := range e.To {
		to[u] = true
	}
	n := Notification{
		ID: e.ID, NotificationID: e.ID, DocumentID: e.DocumentID, AnnotationID: e.AnnotationID, CommentIDs: e.CommentIDs,
		DocumentName: e.DocumentName, TargetText: e.TargetText, ActionUser: e.ActionUser,
		Source: cmp.Or(e.Source, "custom"), SourceData: e.SourceData,
		Template: e.Notification.Headline, TemplateData: e.TemplateData, BodyTemplate: e.BodyTemplate, BodyTemplateData: e.BodyData,
		Location: e.Location, Metadata: metadataOf(e.Metadata, call.APIKey, org, e.DocumentID), PersistRead: e.PersistRead, ResolverUsed: e.ResolverUsed,
		NotifyAll: e.ToAll, NotifyUsers: to, NotifyUsersByID: to, Timestamp: e.CreatedAt, CreatedAt: collab.Timestamp(e.CreatedAt),
	}
	reader := recipient
	if recipient.UserID == "" {
		reader.UserID = "{" + collab.RecipientUser + "}"
	} else {
		n.Read, n.ReadAt = new(e.ReadAt != 0), collab.Timestamp(e.ReadAt)
		n.Clicked, n.ClickedAt = new(e.ClickedAt != 0), collab.Timestamp(e.ClickedAt)
	}
	n.Headline, n.Body = e.RenderHeadline().For(reader), e.BodyFor(reader)
	return n
}

// Answered returns an entry of a user's inbox as it is answered to a request.
func Answered(call *rpc.Call, org string, e collab.InboxEntry, user string) Notification {
	return show(call, org, e, collab.User{UserID: user})
}

// metadataOf returns the metadata of a notification: what was sent, beside the service's own fields, which win.
func metadataOf(sent collab.JSON, apiKey, org, document string) collab.JSON {
	own := rpc.Keyed[any]{{Key: "apiKey", Value: apiKey}, {Key: "organizationId", Value: org}, {Key: "documentId", Value: document}}
	for name, value := range rpc.Members(sent) {
		if _, taken := own[:3].Get(name); !taken {
			own = append(own, rpc.Member[any]{Key: name, Value: value})
		}
	}
	return rpc.JSON(own)
}

// chunk is how many notifications are in memory beside the page, each collab.MaxItemBytes at most.
const chunk = 100

// aheadOfHidden is how many notifications are read at once, however few are wanted, where some were hidden.
const aheadOfHidden = 20

// mostAsked is about how many documents a permission provider is asked for one page.
const mostAsked = 20

// Get is POST /v2/notifications/get.
func Get() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/get", CountsUnread: true, Grants: rpc.ReadTable | rpc.ReadProviders,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).Get), Requires: collab.AdvancedQueries, Description: `
Lists notifications of a user or of a document, in pages. Those of a user are, by time, the user's own notifications, and those to everyone
that the user did not cause and wants. The user need not be a member. A notification of the last second may be missing. Headlines are filled in for this user. Without a userId it returns
all notifications of the document, without read and clicked. documentId, locationId and notificationIds narrow; what does not exist is left
out, as is what is of a document, thread or comment that was deleted, and of a thread that the user may not see by now. A comment has the
text that it has by now. A page may have fewer notifications than asked for, even none, and have a nextPageToken, which is answered as
pageToken, too.

The first page of a user says as unreadCount how many notifications of the inbox the user has not read, unless createdAfter leaves nothing:
exactly up to 99, and more true if there are more. It looks at the newest 1,000 since the last readUntil: if these are not all, more is true, too. One that is not on this page may count until it is read, although its thread is gone, or
hidden from the user by now. With a filter, or in the order asc, so may one on this page.

NOT_FOUND when the organization does not exist, or without a userId the document; FAILED_PRECONDITION when one of them is disabled.`}
}

// Get returns a page of notifications by time: of a user's inbox, in which are the user's own and those to everyone of the organization
// that the user did not cause and wants, or of a document. A page ends at pageSize, or before its answer is larger than 5 MB. Whether the
// user is a member does not matter.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) (*rpc.Page[Notification], error) {
	var at string // after which the page begins
	page, err := rpc.NewPage[Notification](call, "notification", req.PageRequest, &at)
	if err != nil {
		return nil, err
	}
	page.BothTokens()
	q := collab.NotificationQuery{
		NotificationFilter: collab.NotificationFilter{Document: req.DocumentID, Location: req.LocationID, User: req.UserID},
		IDs:                rpc.Distinct(req.NotificationIDs), Earliest: req.Order == collab.Ascending, After: collab.Deref(req.CreatedAfter),
		Unread: req.UnreadOnly,
	}
	if req.UserID == "" {
		if q.Of, err = s.Directory.OpenDocument(ctx, call.Account, req.OrganizationID, req.DocumentID, collab.CreateFlags{}); err != nil {
			return nil, err
		}
		org := q.Of.OrganizationRef
		_, _, err = s.fill(ctx, call, page, org, s.Inbox.Reader(org, ""), q, req.Locale, at)
		return page, err
	}
	org, err := s.Directory.OpenOrganization(ctx, call.Account, req.OrganizationID)
	if err != nil {
		return nil, err
	}
	reader := s.Inbox.Reader(org, req.UserID)
	first, after := at == "", req.CreatedAfter != nil
	count := func(ctx context.Context, position string) ([]string, string, error) {
		return reader.Unread(ctx, position, func(documents []string) (own, all map[string]bool, err error) {
			return s.counted(ctx, call, org, documents)
		})
	}
	var unread int       // on this page
	var older []string   // positions of the unread behind it
	var next, end string // of the page, and of the count
	g, within := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		unread, next, err = s.fill(within, call, page, org, reader, q, req.Locale, at)
		return err
	})
	if first && !after { // a look that finds nothing new counts nothing
		g.Go(func() (err error) {
			older, end, err = count(within, "")
			return err
		})
	}
	if err := g.Wait(); err != nil || !first || after && page.Len() == 0 {
		return page, err
	}
	if after {
		if older, end, err = count(ctx, ""); err != nil {
			return nil, err
		}
	}
	switch narrow := q.Document != "" || q.Location != "" || q.IDs != nil || after || q.Earliest; {
	case narrow:
		unread = 0
	case next == "":
		older, end = nil, ""
	default:
		enough := len(older) > inbox.MostUnread
		older = collab.Where(older, func(position string) bool { return position < next })
		if enough && unread+len(older) <= inbox.MostUnread {
			var further []string
			if further, end, err = count(ctx, min(next, end)); err != nil {
				return nil, err
			}
			older = append(older, further...)
		}
	}
	unread += len(older)
	call.Unread = &rpc.Unread{Count: min(unread, inbox.MostUnread), More: unread > inbox.MostUnread || end != ""}
	return page, nil
}

// covered returns which of the documents the token of a call's person covers; all for a back end.
func (s *Service) covered(ctx context.Context, call *rpc.Call, org collab.OrganizationRef, documents []string) (map[string]bool, error) {
	covered := make(map[string]bool, len(documents))
	for _, d := range documents {
		covered[d] = call.Person == nil
	}
	if call.Person == nil {
		return covered, nil
	}
	roles, err := call.Covered(ctx, org, documents)
	for d := range roles {
		covered[d] = true
	}
	return covered, err
}

// counted returns the documents whose notifications count as unread: the user's own, and those for everyone. For a person these are documents
// that the token covers and the person may see, as far as that is known without the permission provider, and the latter need membership.
func (s *Service) counted(
	ctx context.Context, call *rpc.Call, org collab.OrganizationRef, documents []string,
) (own, all map[string]bool, err error) {
	if own, err = s.covered(ctx, call, org, documents); call.Person == nil || err != nil {
		return own, own, err
	}
	q := collab.StandingQuery{
		Users: []string{call.Person.UserID}, Person: call.Person, Provided: call.Settings.PermissionProvider, Members: true,
	}
	q.Documents = collab.Map(documents, func(d string) collab.DocumentRef {
		return collab.DocumentRef{OrganizationRef: org, Document: d, Incarnation: collab.AnyIncarnation}
	})
	of, err := s.Directory.Standings(ctx, org, q)
	if err != nil {
		return nil, nil, err
	}
	member := of.Members[call.Person.UserID].Holds(call.Millis())
	all = map[string]bool{}
	for i, d := range documents {
		own[d] = own[d] && of.Documents[i][0].Viewer(call.Millis()).May
		all[d] = own[d] && member
	}
	return own, all, nil
}

// fill fills a page with the notifications after a position, and returns how many of them are unread and the position of the next page, ""
// for none. It may end earlier where many in a row are not meant, or not to be seen.
func (s *Service) fill(
	ctx context.Context, call *rpc.Call, page *rpc.Page[Notification], org collab.OrganizationRef, from *inbox.Reader,
	q collab.NotificationQuery, locale, at string,
) (unread int, next string, err error) {
	call.Message = "Notification(s) retrieved successfully."
	documents := map[string]bool{} // of the threads met so far
	for looked, ahead := 0, 0; ; {
		found, next, err := from.Notifications(ctx, q, at, min(max(page.Most(), ahead), chunk))
		if err != nil {
			return 0, "", err
		}
		full := false
		if call.Settings.PermissionProvider && q.User != "" {
			i := slices.IndexFunc(found, func(e collab.InboxEntry) bool {
				documents[e.DocumentID] = true
				return len(documents) > mostAsked
			})
			if full = i >= 0; full {
				found, next = found[:i], at
				if i > 0 {
					next = found[i-1].Position
				}
			}
		}
		entries, recipient, err := s.asItIs(ctx, call, org, found, q.User, locale)
		if err != nil {
			return 0, "", err
		}
		for _, e := range entries {
			if !page.Add(show(call, org.Organization, e, recipient)) {
				page.Next(at)
				return unread, at, nil
			}
			if at = e.Position; e.ReadAt == 0 {
				unread++
			}
		}
		if next == "" {
			return unread, "", nil
		}
		at = next
		if looked += len(found); full || page.Most() == 0 || len(found) == 0 || looked >= collab.MaxPageSize {
			page.Next(at)
			return unread, at, nil
		}
		if len(entries) < len(found) {
			ahead = aheadOfHidden
		}
	}
}
