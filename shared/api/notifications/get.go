package notifications

import (
	"cmp"
	"context"
	"slices"

	"collabdata/shared/api/rpc"
	"collabdata/shared/collab"
	"collabdata/shared/store/inbox"

	"golang.org/x/sync/errgroup"
)

type GetRequest struct {
	OrganizationID  string         `json:"organizationId" rule:"required,id" person:"in"`
	DocumentID      string         `json:"documentId" rule:"notnull,docid" person:"in" doc:"Of this document; this or userId is required"`
	UserID          string         `json:"userId" rule:"notnull,id" person:"self" doc:"In the inbox of this user; this or documentId is required"`
	AsUserID        *string        `json:"asUserId" rule:"notnull,id" person:"self" doc:"In the inbox of this user, only what the user can see; instead of userId"`
	LocationID      string         `json:"locationId" rule:"notnull,id" doc:"Only at this location"`
	NotificationIDs []string       `json:"notificationIds" rule:"notnull,nonempty,max=30,each=id" person:"in" doc:"Only these; missing ones are skipped"`
	CreatedAfter    *collab.Millis `json:"createdAfter" rule:"notnull,time" person:"in" doc:"Created then or later"`
	UnreadOnly      bool           `json:"unreadOnly" person:"in" doc:"Only those unread by the user; requires userId"`
	Locale          string         `json:"locale" rule:"notnull" person:"in" doc:"Language of comment headlines, a BCP 47 tag such as pt-BR. Default: the user's, else the account's"`
	Order           collab.Order   `json:"order" rule:"notnull" person:"in" doc:"By time: asc is earliest first, desc newest first. Default: desc"`
	rpc.PageRequest
}

// Validate requires userId, asUserId or documentId.
func (r *GetRequest) Validate(m *rpc.Violations) {
	if asUser := collab.Deref(r.AsUserID); asUser != "" {
		if r.UserID = cmp.Or(r.UserID, asUser); r.UserID != asUser {
			m.Add("asUserId", "must be the userId: send only one")
		}
	}
	if r.DocumentID == "" && r.UserID == "" {
		m.Add("userId", "is required without documentId")
	}
	if r.UnreadOnly && r.UserID == "" {
		m.Add("unreadOnly", "requires userId")
	}
	if r.Locale != "" {
		if err := collab.CheckLocale(r.Locale); err != nil {
			m.Add("locale", "%v", err)
		}
	}
}

// Notification is a notification in a response, for a user or for a document.
type Notification struct {
	ID               string                 `json:"id"`
	NotificationID   string                 `json:"notificationId" person:"out"`
	DocumentID       string                 `json:"documentId" person:"out"`
	AnnotationID     string                 `json:"annotationId,omitempty" person:"out" doc:"The thread, for a notification of a comment"`
	CommentIDs       []int64                `json:"commentIds,omitempty" person:"out" doc:"The first comments, at most 3, for a notification of comments"`
	Source           string                 `json:"notificationSource" doc:"custom, comment if a comment created it, or the sent value"`
	SourceData       collab.JSON            `json:"notificationSourceData,omitempty" rule:"object"`
	DocumentName     string                 `json:"documentName,omitempty" person:"out" doc:"The name of the document, if it has one"`
	TargetText       string                 `json:"targetText,omitempty" person:"out" doc:"For comments: the text the thread is about, at most 200 characters"`
	ActionUser       collab.User            `json:"actionUser" person:"out" doc:"The acting user; for comments, with all known fields, such as a picture"`
	Headline         string                 `json:"displayHeadlineMessage" person:"out" doc:"The headline for this user, as plain text; without a user, {recipientUser} remains"`
	Template         string                 `json:"displayHeadlineMessageTemplate"`
	TemplateData     map[string]collab.JSON `json:"displayHeadlineMessageTemplateData,omitempty"`
	Body             string                 `json:"displayBodyMessage" person:"out" doc:"For comments: 2,000 characters of text, from the start or around the first mention, and the names of three files. If a comment has HTML, the text form of the HTML, with signs such as ~~struck out~~, 10^6 and [x]. For a suggestion, its old and new text, and the reason of a rejection"`
	BodyTemplate     string                 `json:"displayBodyMessageTemplate,omitempty"`
	BodyTemplateData map[string]collab.JSON `json:"displayBodyMessageTemplateData,omitempty"`
	Location         collab.JSON            `json:"location,omitempty" rule:"object" person:"out"`
	Metadata         collab.JSON            `json:"metadata" rule:"object" doc:"apiKey, organizationId and documentId, and the sent values"`
	PersistRead      bool                   `json:"persistReadForUsers,omitempty" doc:"Stored for your application"`
	ResolverUsed     bool                   `json:"isNotificationResolverUsed,omitempty" doc:"Your application provides the texts"`
	NotifyAll        bool                   `json:"notifyAll" doc:"It is for everyone in the organization"`
	NotifyUsers      map[string]bool        `json:"notifyUsers" doc:"The recipients by user id, at most 200; each value is true"`
	NotifyUsersByID  map[string]bool        `json:"notifyUsersByUserId" doc:"Same as notifyUsers"`
	Timestamp        collab.Millis          `json:"timestamp" person:"out" doc:"Time of creation, in milliseconds since epoch"`
	CreatedAt        collab.Timestamp       `json:"createdAt" person:"out"`
	Read             *bool                  `json:"read,omitempty" person:"out" doc:"Whether the user read it; absent without a user"`
	ReadAt           collab.Timestamp       `json:"readAt,omitzero" person:"out" doc:"When the user first read it"`
	Clicked          *bool                  `json:"clicked,omitempty" person:"out" doc:"Whether the user clicked it; absent without a user"`
	ClickedAt        collab.Timestamp       `json:"clickedAt,omitzero" person:"out" doc:"When the user first clicked it"`
}

// show returns an entry in the form of a response. recipient has no id if there is none.
func show(call *rpc.Call, org string, e collab.InboxEntry, recipient collab.User) Notification {
	to := make(map[string]bool, len(e.To))
	for _, u := range e.To {
		to[u] = true
	}
	own := rpc.Keyed[any]{{Key: "apiKey", Value: call.APIKey}, {Key: "organizationId", Value: org}, {Key: "documentId", Value: e.DocumentID}}
	n := Notification{
		ID: e.ID, NotificationID: e.ID, DocumentID: e.DocumentID, AnnotationID: e.AnnotationID, CommentIDs: e.CommentIDs,
		DocumentName: e.DocumentName, TargetText: e.TargetText, ActionUser: e.ActionUser,
		Source: cmp.Or(e.Source, "custom"), SourceData: e.SourceData,
		Template: e.Notification.Headline, TemplateData: e.TemplateData, BodyTemplate: e.BodyTemplate, BodyTemplateData: e.BodyData,
		Location: e.Location, Metadata: rpc.WithFurther(own, e.Metadata.Object()), PersistRead: e.PersistRead, ResolverUsed: e.ResolverUsed,
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

// Answered returns an entry of a user's inbox in the form of a response.
func Answered(call *rpc.Call, org string, e collab.InboxEntry, user string) Notification {
	return show(call, org, e, collab.User{UserID: user})
}

// chunk is the number of notifications in memory, besides the page, each at most
// collab.MaxItemBytes.
const chunk = 100

// aheadOfHidden is the minimum number of notifications to read at once after hidden ones.
const aheadOfHidden = 20

// mostAsked is the approximate number of documents to ask a permission provider about for one page.
const mostAsked = 20

// Get is POST /v2/notifications/get.
func Get() rpc.Endpoint {
	return rpc.Endpoint{Path: "/v2/notifications/get", CountsUnread: true, Grants: rpc.ReadTable | rpc.ReadProviders,
		Person:    rpc.PersonInbox,
		Operation: rpc.Method((*Service).Get), Requires: collab.AdvancedQueries, Description: `
List notifications.

Lists the notifications of a user or of a document, in pages. For a user, the list has the user's
own notifications, and notifications to everyone that the user did not cause and wants, by time.
The user need not be a member. Headlines are filled in for this user. Without userId, the list has
all notifications of the document, without 'read' and 'clicked'. Notifications of the last second
can be missing.

documentId, locationId and notificationIds narrow the list. It omits notifications of deleted
documents, threads and comments, and of threads that the user can no longer see. With asUserId, as
for a person with a token, it also omits notifications about documents that the user cannot see, and
those to everyone unless the user is a member of the organization. Comments have their current text. A page can have fewer notifications than asked, even none, and still have a
nextPageToken, which is also returned as pageToken.

The first page of a user has unreadCount, the number of unread notifications in the inbox, unless
createdAfter excludes all of them. It is exact up to 99; 'more' is true if there are more. It
covers the newest 1,000 notifications since the last readUntil; 'more' is also true if there are
older ones. A notification outside this page can count until it is read, even if its thread was
deleted or hidden. With a filter, or in the order 'asc', this also applies to notifications on
this page.

The request fails with NOT_FOUND if the organization, or without userId the document, does not
exist. It fails with FAILED_PRECONDITION if one of them is disabled.`}
}

// Get returns a page of notifications by time, of a user's inbox or of a document.
func (s *Service) Get(ctx context.Context, call *rpc.Call, req *GetRequest) (*rpc.Page[Notification], error) {
	var at string // position before the page
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
		_, _, err = s.fill(ctx, call, page, org, s.Inbox.Reader(org, ""), q, req, at)
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
			return s.counted(ctx, call, org, req, documents)
		})
	}
	var unread int       // on this page
	var older []string   // positions of unread notifications after it
	var next, end string // of the page and the count
	g, within := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		unread, next, err = s.fill(within, call, page, org, reader, q, req, at)
		return err
	})
	if first && !after { // polling without news needs no count
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

// covered returns the documents that the token of the call's person covers; all for a back end.
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

// counted returns the documents of countable notifications: the user's own, and those to everyone.
// With asUserId, a token must cover a document, and the user must see it as far as known without
// the permission provider. Notifications to everyone require membership.
func (s *Service) counted(
	ctx context.Context, call *rpc.Call, org collab.OrganizationRef, req *GetRequest, documents []string,
) (own, all map[string]bool, err error) {
	if own, err = s.covered(ctx, call, org, documents); req.AsUserID == nil || err != nil {
		return own, own, err
	}
	q := collab.StandingQuery{
		Users: []string{req.UserID}, Person: call.Person, Provided: call.Settings.PermissionProvider, Members: true,
	}
	q.Documents = collab.Map(documents, func(d string) collab.DocumentRef {
		return collab.DocumentRef{OrganizationRef: org, Document: d, Incarnation: collab.AnyIncarnation}
	})
	standings, err := s.Directory.Standings(ctx, org, q)
	if err != nil {
		return nil, nil, err
	}
	member := standings.Members[req.UserID].Holds(call.Millis())
	all = map[string]bool{}
	for i, d := range documents {
		own[d] = own[d] && standings.Documents[i][0].Viewer(call.Millis()).May
		all[d] = own[d] && member
	}
	return own, all, nil
}

// fill adds the notifications after a position to a page. It returns the number of unread ones and
// the position of the next page, or "". It can stop early after many excluded notifications.
func (s *Service) fill(
	ctx context.Context, call *rpc.Call, page *rpc.Page[Notification], org collab.OrganizationRef, from *inbox.Reader,
	q collab.NotificationQuery, req *GetRequest, at string,
) (unread int, next string, err error) {
	call.Message = "Notification(s) retrieved successfully."
	documents := map[string]bool{} // of the threads so far
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
		entries, recipient, left, err := s.refresh(ctx, call, org, found, req)
		if err != nil {
			return 0, "", err
		}
		if left > 0 {
			full, found = true, found[:len(found)-left]
			next = found[len(found)-1].Position
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
		if looked += len(found); full || page.Most() == 0 || len(found) == 0 || looked >= collab.MaxPageSize || collab.UsageOf(ctx).PageLeft() <= 0 {
			page.Next(at)
			return unread, at, nil
		}
		if len(entries) < len(found) {
			ahead = aheadOfHidden
		}
	}
}
