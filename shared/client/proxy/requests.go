package proxy

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"collabdata/shared/client"
)

const (
	newestPage   = 100  // threads of the first answer about a document
	olderPage    = 150  // of each answer about older ones: one of them comes straight after the first
	changedPage  = 250  // of an answer about what changed
	maxThreads   = 100  // that are asked for by id
	inboxPage    = 30   // notifications of an answer
	maxPeople    = 1000 // of the organization, and of the document, who may be mentioned
	maxConnected = 30   // documents of one connection
	maxMentions  = 30   // people whom a comment mentions, and for whom alone a thread is begun

	// overlap is how far a look for what is new goes back before the last one: a time is the start of a request, not the moment at which
	// its data can be read.
	overlap = 30 * time.Second

	// delay is how far a look at an inbox goes back before the last one: it takes some time until people are told.
	delay = 5 * time.Minute
)

// request is what a browser may send. Each request takes the fields that requests lists for it.
type request struct {
	DocumentID      string         `json:"documentId"`
	AnnotationID    string         `json:"annotationId"`
	AnnotationIDs   []string       `json:"annotationIds"`
	CommentID       int64          `json:"commentId"`
	RequestID       string         `json:"requestId"`
	Text            string         `json:"text"`
	TargetElement   *targetElement `json:"targetElement"`
	Visibility      *visibility    `json:"visibility"`
	Resolved        bool           `json:"resolved"`
	Read            bool           `json:"read"`
	Since           int64          `json:"since"`
	PageToken       string         `json:"pageToken"`
	NotificationIDs []string       `json:"notificationIds"`
	Clicked         bool           `json:"clicked"`
	Config          *channels      `json:"config"`
	DocumentIDs     []string       `json:"documentIds"`
	Inbox           bool           `json:"inbox"`
}

// requests are the requests by name, with their fields and the right that each needs on its document, if it has one.
var requests = map[string]struct {
	fields string
	writes bool // it counts as a write, else as a look; preferences does where it sets some
	right  func(*Caller) func(context.Context, string) (bool, error)
	do     func(*exchange, *request) (any, error)
}{
	"threads":        {"documentId annotationIds since pageToken", false, read, (*exchange).threads},
	"add-thread":     {"documentId requestId text targetElement visibility", true, write, (*exchange).addThread},
	"add-comment":    {"documentId annotationId requestId text", true, write, (*exchange).addComment},
	"edit-comment":   {"documentId annotationId commentId text", true, write, (*exchange).editComment},
	"delete-comment": {"documentId annotationId commentId", true, write, (*exchange).deleteComment},
	"resolve-thread": {"documentId annotationId resolved", true, write, (*exchange).resolveThread},
	"read-thread":    {"documentId annotationId read", true, read, (*exchange).readThread},
	"people":         {"documentId", false, read, (*exchange).people},
	"preferences":    {"documentId config", false, read, (*exchange).preferences},
	"inbox":          {"since pageToken", false, nil, (*exchange).inbox},
	"connect":        {"documentIds inbox", false, nil, (*exchange).connect},
	"read-inbox":     {"notificationIds clicked", true, nil, (*exchange).readInbox},
}

func read(c *Caller) func(context.Context, string) (bool, error)  { return c.CanRead }
func write(c *Caller) func(context.Context, string) (bool, error) { return c.CanWrite }

// What browsers see has the names of the service's answers. What is not named here does not reach them: e-mail addresses, contexts.
type (
	person struct {
		UserID   string `json:"userId"`
		Name     string `json:"name,omitempty"`
		PhotoURL string `json:"photoUrl,omitempty"`
	}
	targetElement struct {
		ElementID  string `json:"elementId,omitempty"`
		TargetText string `json:"targetText,omitempty"`
		Occurrence int64  `json:"occurrence,omitzero"`
	}
	annotation struct {
		AnnotationID  string         `json:"annotationId"`
		TargetElement *targetElement `json:"targetElement,omitempty"`
		Status        struct {
			ID   string `json:"id"`
			Name string `json:"name,omitempty"`
			Type any    `json:"type,omitempty"`
		} `json:"status"`
		ResolvedByUserID string `json:"resolvedByUserId,omitempty"`
		CreatedAt        string `json:"createdAt"`
		LastUpdated      string `json:"lastUpdated"`
		Visibility       struct {
			visibility
			UserIDs []string `json:"userIds,omitempty"` // as the service names the people
		} `json:"visibility"`
		Comments          []comment `json:"comments"`
		CommentsTruncated bool      `json:"commentsTruncated,omitzero"`
		Unread            *bool     `json:"unread,omitempty"`
		Deleted           bool      `json:"deleted,omitzero"` // such a one does not reach the browser
	}
	// visibility says who sees a thread. In a request only the ids of the people count.
	visibility struct {
		Type   string   `json:"type"`
		People []person `json:"people,omitempty"`
	}
	comment struct {
		CommentID          int64  `json:"commentId"`
		CommentText        string `json:"commentText,omitempty"`
		CommentHTML        string `json:"commentHtml,omitempty"`
		From               person `json:"from"`
		TaggedUserContacts []struct {
			UserID  string  `json:"userId"`
			Contact *person `json:"contact,omitempty"`
		} `json:"taggedUserContacts,omitempty"`
		CreatedAt   string `json:"createdAt"`
		LastUpdated string `json:"lastUpdated"`
	}
	notification struct {
		NotificationID         string `json:"notificationId"`
		DocumentID             string `json:"documentId"`
		AnnotationID           string `json:"annotationId,omitempty"`
		ActionUser             person `json:"actionUser"`
		DisplayHeadlineMessage string `json:"displayHeadlineMessage"`
		DisplayBodyMessage     string `json:"displayBodyMessage,omitempty"`
		CreatedAt              string `json:"createdAt"`
		Read                   bool   `json:"read"`
	}
	channels struct {
		Inbox string `json:"inbox,omitempty"`
		Email string `json:"email,omitempty"`
	}
)

func (u User) person() person { return person{u.ID, u.Name, u.PhotoURL} }

// threads answers the newest threads of a document, older ones by pageToken, what changed since a time, or those of some ids.
func (x *exchange) threads(r *request) (any, error) {
	since := time.Now().Add(-overlap).UnixMilli()
	if len(r.AnnotationIDs) > maxThreads {
		return nil, mistake("annotationIds", "must be at most %d", maxThreads)
	}
	canWrite, err := x.who.CanWrite(x.ctx, r.DocumentID)
	if err != nil {
		return nil, err
	}
	data := fields{"documentId": r.DocumentID, "asUserId": x.who.User.ID, "unreadFor": x.who.User.ID}
	switch {
	case len(r.AnnotationIDs) > 0:
		data["annotationIds"] = r.AnnotationIDs
	case r.Since != 0:
		data["updatedAfter"], data["includeDeleted"], data["pageSize"] = r.Since, true, changedPage
	case r.PageToken != "":
		data["order"], data["pageSize"] = "desc", olderPage
	default:
		data["order"], data["pageSize"] = "desc", newestPage
	}
	if r.PageToken != "" {
		data["pageToken"] = r.PageToken
	}
	list, next, err := call[[]*annotation](x, "/v2/commentannotations/get", data)
	if code := client.CodeOf(err); code == client.CodeNotFound || code == client.CodeFailedPrecondition && r.Since != 0 {
		since, err = 0, nil // what the browser knows is void
	}
	threads, deleted := []annotation{}, []string{}
	for _, a := range list {
		switch {
		case a == nil: // one that was asked for
		case a.Deleted:
			deleted = append(deleted, a.AnnotationID)
		default:
			threads = append(threads, *a)
		}
	}
	if err == nil {
		err = x.nameSeers(r.DocumentID, threads)
	}
	return fields{
		"threads": threads, "deleted": deleted, "nextPageToken": next, "since": since, "user": x.who.User.person(), "canWrite": canWrite,
	}, err
}

// thread returns a thread that the caller sees. One that they may not see fails as one that does not exist, with the same words.
func (x *exchange) thread(documentID, id string) (annotation, error) {
	selected := fields{"documentId": documentID, "asUserId": x.who.User.ID, "annotationIds": []string{id}}
	threads, _, err := find[[]*annotation](x, "/v2/commentannotations/get", selected)
	if err == nil && (len(threads) == 0 || threads[0] == nil) {
		err = client.Errorf(client.CodeNotFound, "the thread does not exist")
	}
	if err != nil {
		return annotation{}, err
	}
	return *threads[0], nil
}

// changed answers a thread as it is after a change, or the error of the change.
func (x *exchange) changed(r *request, id string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	thread, err := x.thread(r.DocumentID, id)
	if err != nil {
		return nil, err
	}
	threads := []annotation{thread}
	if err := x.nameSeers(r.DocumentID, threads); err != nil {
		return nil, err
	}
	return fields{"thread": threads[0]}, nil
}

// nameSeers puts people in the place of the users for whom alone threads of a document are. One whom the caller may not mention has no name.
func (x *exchange) nameSeers(documentID string, threads []annotation) error {
	var ids []string
	for i := range threads {
		if v := &threads[i].Visibility; v.Type != "restricted" {
			v.Type, v.UserIDs = "public", nil
		}
		ids = append(ids, threads[i].Visibility.UserIDs...)
	}
	if len(ids) == 0 {
		return nil
	}
	if ids = slices.Compact(slices.Sorted(slices.Values(ids))); len(ids) > maxMentions {
		ids = nil // all people are looked up at once
	}
	people, err := x.mentionable(documentID, ids)
	if err != nil {
		return err
	}
	known := map[string]person{}
	for _, u := range append(people, x.who.User) {
		known[u.ID] = u.person()
	}
	for i := range threads {
		v := &threads[i].Visibility
		for _, id := range v.UserIDs {
			p := known[id]
			p.UserID = id
			v.People = append(v.People, p)
		}
		v.UserIDs = nil
	}
	return nil
}

func (x *exchange) addThread(r *request) (any, error) {
	comment, err := x.written(r)
	if err != nil {
		return nil, err
	}
	added := fields{"commentData": []fields{comment}}
	if r.TargetElement != nil {
		added["targetElement"] = r.TargetElement
	}
	if r.Visibility != nil {
		if added["visibility"], err = x.visibleTo(r); err != nil {
			return nil, err
		}
	}
	thread := fields{"documentId": r.DocumentID, "commentAnnotations": []fields{added}}
	if x.DocumentName == nil {
		thread["createOrganization"], thread["createDocument"] = true, true
	}
	key := x.key("add-thread", r)
	id, err := x.change("/v2/commentannotations/add", thread, key)
	if x.DocumentName != nil && client.CodeOf(err) == client.CodeNotFound {
		if err = x.addDocument(r.DocumentID); err == nil {
			id, err = x.change("/v2/commentannotations/add", thread, key)
		}
	}
	return x.changed(r, id, err)
}

// visibleTo returns who may see a thread that the caller begins: the caller, and people whom they may mention.
func (x *exchange) visibleTo(r *request) (fields, error) {
	var ids []string
	for _, p := range r.Visibility.People {
		if p.UserID != x.who.User.ID && !slices.Contains(ids, p.UserID) {
			ids = append(ids, p.UserID)
		}
	}
	switch r.Visibility.Type {
	case "public":
		if len(ids) > 0 {
			return nil, mistake("visibility.people", "must be left out where everyone sees the thread")
		}
		return fields{"type": "public"}, nil
	case "restricted":
		if len(ids) == 0 || len(ids) > maxMentions {
			return nil, mistake("visibility.people", "must be 1 to %d others", maxMentions)
		}
	default:
		return nil, mistake("visibility.type", "must be public or restricted")
	}
	people, err := x.mentionable(r.DocumentID, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(people, func(u User) bool { return u.ID == id }) {
			return nil, mistake("visibility.people", "must be people whom you may mention")
		}
	}
	return fields{"type": "restricted", "userIds": append(ids, x.who.User.ID)}, nil
}

// addDocument adds a document, and its organization where it is missing, with the name that the application has for it. That somebody else
// added it meanwhile is no error.
func (x *exchange) addDocument(id string) error {
	name, err := x.DocumentName(x.ctx, x.who, id)
	if err != nil {
		return err
	}
	document := fields{"documentId": id}
	if name != "" {
		document["documentName"] = name
	}
	_, err = x.change("/v2/organizations/documents/add", fields{"createOrganization": true, "documents": []fields{document}})
	if client.CodeOf(err) == client.CodeAlreadyExists {
		err = nil
	}
	return err
}

func (x *exchange) addComment(r *request) (any, error) {
	comment, err := x.written(r)
	if err == nil {
		_, err = x.thread(r.DocumentID, r.AnnotationID)
	}
	if err == nil {
		data := fields{"documentId": r.DocumentID, "annotationId": r.AnnotationID, "commentData": []fields{comment}}
		_, _, err = call[any](x, "/v2/commentannotations/comments/add", data, x.key("add-comment", r))
	}
	return x.changed(r, r.AnnotationID, err)
}

// written returns a new comment of the caller's, which tells those concerned.
func (x *exchange) written(r *request) (fields, error) {
	if r.RequestID == "" {
		return nil, mistake("requestId", "is required")
	}
	comment, err := x.content(r)
	if err == nil {
		comment["from"], comment["triggerNotification"] = x.who.User, true
	}
	return comment, err
}

// token is a mention in a text.
var token = regexp.MustCompile(`\{\{([^{}]+)\}\}`)

// content returns a text with those whom its tokens mention. A token of somebody whom the caller may not mention stays a text.
func (x *exchange) content(r *request) (fields, error) {
	if strings.TrimSpace(r.Text) == "" {
		return nil, mistake("text", "must not be empty")
	}
	var ids []string
	for _, m := range token.FindAllStringSubmatch(r.Text, -1) {
		if !slices.Contains(ids, m[1]) {
			ids = append(ids, m[1])
		}
	}
	if len(ids) > maxMentions {
		return nil, mistake("text", "must mention at most %d people", maxMentions)
	}
	tags := []fields{}
	if len(ids) > 0 {
		people, err := x.mentionable(r.DocumentID, ids)
		if err != nil {
			return nil, err
		}
		for _, u := range people {
			if slices.Contains(ids, u.ID) {
				tags = append(tags, fields{"userId": u.ID, "contact": u})
			}
		}
		if err := x.take(mentions, len(tags)); err != nil {
			return nil, err
		}
	}
	return fields{"commentText": r.Text, "taggedUserContacts": tags}, nil
}

// own returns how an operation selects the comment, which the caller must have written.
func (x *exchange) own(r *request) (fields, error) {
	selected := fields{"documentId": r.DocumentID, "annotationId": r.AnnotationID, "commentIds": []int64{r.CommentID}}
	selected["asUserId"] = x.who.User.ID
	comments, _, err := call[[]*comment](x, "/v2/commentannotations/comments/get", selected)
	if err != nil {
		return nil, err
	}
	if len(comments) == 0 || comments[0] == nil {
		return nil, client.Errorf(client.CodeNotFound, "the comment does not exist")
	}
	if comments[0].From.UserID != x.who.User.ID {
		return nil, client.Errorf(client.CodePermissionDenied, "the comment is not yours")
	}
	delete(selected, "asUserId")
	return selected, nil
}

func (x *exchange) editComment(r *request) (any, error) {
	data, err := x.own(r)
	if err != nil {
		return nil, err
	}
	content, err := x.content(r)
	if err == nil {
		content["commentHtml"] = nil
		data["updatedData"] = content
		_, err = x.change("/v2/commentannotations/comments/update", data)
	}
	return x.changed(r, r.AnnotationID, err)
}

// deleteComment deletes a comment. Its thread stays, even without comments: so other windows learn of it.
func (x *exchange) deleteComment(r *request) (any, error) {
	data, err := x.own(r)
	if err == nil {
		_, err = x.change("/v2/commentannotations/comments/delete", data)
	}
	return x.changed(r, r.AnnotationID, err)
}

func (x *exchange) resolveThread(r *request) (any, error) {
	did := fields{"status": fields{"id": "OPEN", "name": "Open", "type": "default"}, "statusUpdatedByUserId": x.who.User.ID}
	if r.Resolved {
		did["status"], did["resolvedByUserId"] = fields{"id": "RESOLVED", "name": "Resolved", "type": "terminal"}, x.who.User.ID
	}
	_, err := x.thread(r.DocumentID, r.AnnotationID)
	if err == nil {
		_, err = x.change("/v2/commentannotations/update", fields{
			"documentId": r.DocumentID, "annotationIds": []string{r.AnnotationID}, "updatedData": did,
		})
	}
	return x.changed(r, r.AnnotationID, err)
}

// readThread says that the caller has seen the comments of a thread, or none of them.
func (x *exchange) readThread(r *request) (any, error) {
	_, err := x.thread(r.DocumentID, r.AnnotationID)
	if err == nil {
		_, err = x.change("/v2/commentannotations/read/set", fields{
			"documentId": r.DocumentID, "userId": x.who.User.ID, "annotationIds": []string{r.AnnotationID}, "read": r.Read,
		})
	}
	return fields{}, err
}

// inbox answers a page of the caller's notifications, newest first, those alone that were made since a time where there is one, and without those of documents that the caller may not read.
func (x *exchange) inbox(r *request) (any, error) {
	since := time.Now().Add(-delay).UnixMilli()
	data := fields{"userId": x.who.User.ID, "pageSize": inboxPage}
	if r.Since != 0 {
		data["createdAfter"] = r.Since
	}
	if r.PageToken != "" {
		data["pageToken"] = r.PageToken
	}
	list, next, err := find[[]notification](x, "/v2/notifications/get", data)
	if err != nil {
		return nil, err
	}
	shown := []notification{}
	readable := map[string]bool{}
	for _, n := range list {
		may, asked := readable[n.DocumentID]
		if !asked {
			if may, err = x.who.CanRead(x.ctx, n.DocumentID); err != nil {
				return nil, err
			}
			readable[n.DocumentID] = may
		}
		if may {
			shown = append(shown, n)
		}
	}
	return fields{"notifications": shown, "nextPageToken": next, "since": since, "user": x.who.User.person()}, nil
}

// How long a page waits before it asks for a connection once more.
const (
	noConnections = time.Hour       // where the deployment has none
	noConnection  = 5 * time.Minute // where this page gets none
)

// connect answers the address of a connection by which the service tells of changes, of those documents that the caller may read; an empty
// one, and after how many seconds to ask again, where there is none.
func (x *exchange) connect(r *request) (any, error) {
	if len(r.DocumentIDs) > maxConnected {
		return nil, mistake("documentIds", "must be at most %d", maxConnected)
	}
	ticket := client.LiveAddTicketsRequest{OrganizationID: x.who.OrganizationID, UserID: x.who.User.ID, Inbox: r.Inbox}
	for _, id := range r.DocumentIDs {
		may, err := x.who.CanRead(x.ctx, id)
		if err != nil {
			return nil, err
		}
		if may {
			ticket.DocumentIDs = append(ticket.DocumentIDs, id)
		}
	}
	none := func(after time.Duration) (any, error) {
		return fields{"url": "", "retryAfter": int(math.Ceil(after.Seconds()))}, nil
	}
	if !r.Inbox && ticket.DocumentIDs == nil {
		return none(noConnection)
	}
	answer, err := x.Client.Live.AddTickets(x.ctx, &ticket)
	switch client.CodeOf(err) {
	case client.CodeFailedPrecondition:
		return none(noConnections)
	case client.CodeNotFound, client.CodePermissionDenied:
		return none(noConnection)
	case client.CodeResourceExhausted:
		e, _ := errors.AsType[*client.Error](err)
		return none(max(noConnection, e.RetryAfter))
	case client.CodeUnauthenticated:
		return nil, &client.Error{Code: client.CodeInternal, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return fields{"url": answer.URL, "retryAfter": 0}, nil
}

// readInbox marks notifications of the caller's as read, or as clicked, too. Those that the caller does not have are passed over.
func (x *exchange) readInbox(r *request) (any, error) {
	by := "readByUserIds"
	if r.Clicked {
		by = "clickedByUserIds"
	}
	list := []fields{}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(r.NotificationIDs))) {
		list = append(list, fields{"id": id, by: []string{x.who.User.ID}})
	}
	data := fields{"userId": x.who.User.ID, "notifications": list}
	_, _, err := call[any](x, "/v2/notifications/update", data)
	return fields{}, err
}

// preferences answers what the caller is notified of in a document, after setting it where the request says what.
func (x *exchange) preferences(r *request) (any, error) {
	if r.Config != nil {
		data := fields{"userIds": []string{x.who.User.ID}, "documentIds": []string{r.DocumentID}, "config": r.Config}
		if _, _, err := call[any](x, "/v2/notifications/config/set", data); err != nil {
			return nil, err
		}
	}
	type configured struct {
		Config channels `json:"config"`
	}
	data := fields{"userId": x.who.User.ID, "documentIds": []string{r.DocumentID}}
	list, _, err := call[[1]configured](x, "/v2/notifications/config/get", data)
	return list[0], err
}

// people answers those whom the caller may mention in a document.
func (x *exchange) people(r *request) (any, error) {
	list, err := x.mentionable(r.DocumentID, nil)
	people := make([]person, len(list))
	for i, u := range list {
		people[i] = u.person()
	}
	return fields{"people": people}, err
}

// mentionable returns those whom the caller may mention in a document, of ids where these are not nil.
func (x *exchange) mentionable(documentID string, ids []string) (all []User, err error) {
	if x.People != nil {
		all, err = x.People(x.ctx, x.who, documentID, ids)
	} else {
		all, err = x.users(documentID, ids)
	}
	return slices.DeleteFunc(slices.Clone(all), func(u User) bool { return u.ID == x.who.User.ID }), err
}

// users returns the users of the organization and of a document, as the service knows them, of ids where these are not nil.
func (x *exchange) users(documentID string, ids []string) (all []User, err error) {
	for _, data := range []fields{{}, {"documentId": documentID}} {
		if data["pageSize"] = maxPeople; ids != nil {
			data["userIds"] = ids
		}
		users, _, err := find[[]User](x, "/v2/users/get", data)
		if err != nil {
			return nil, err
		}
		for _, u := range users {
			if !slices.ContainsFunc(all, func(o User) bool { return o.ID == u.ID }) {
				all = append(all, u)
			}
		}
	}
	return all, nil
}
