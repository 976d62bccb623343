package assistant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"collabdata/shared/client"
	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
)

// Bounds of a result.
const (
	mostThreads       = 20
	mostSearched      = 50 // of a page
	mostComments      = 25
	mostNotifications = 30

	mostDocuments = 30
	mostPages     = 10 // of the service for a result

	longest = 40_000 // characters of a result

	longestText  = 4_000 // characters of a comment
	longestFirst = 500   // characters of a comment in a list

	longestName = 100    // characters of the name of a person or file
	longestSent = 20_000 // characters of a comment that the assistant writes
	mostFiles   = 10     // named of a comment
)

const threads = "/v2/commentannotations"

type listInput struct {
	DocumentID   string `json:"documentId,omitempty" jsonschema:"the document"`
	Status       string `json:"status,omitempty" jsonschema:"only this status, such as OPEN or RESOLVED; default all"`
	UpdatedSince string `json:"updatedSince,omitempty" jsonschema:"only changed since, RFC 3339 such as 2026-01-31T09:00:00Z"`
	Search       string `json:"search,omitempty" jsonschema:"only with this text in a comment, the quote or the suggestion, whatever its case and accents"`
	Cursor       string `json:"cursor,omitempty" jsonschema:"next of the previous result"`
}

type list[T any] struct {
	Notice string `json:"notice"`
	Items  []T    `json:"items"`
	Next   string `json:"next,omitempty"` // cursor of the next result
}

// thread is the head of a thread.
type thread struct {
	AnnotationID string      `json:"annotationId"`
	DocumentID   string      `json:"documentId"`
	Status       string      `json:"status"`
	Quote        string      `json:"quote,omitempty"`
	Suggestion   *suggestion `json:"suggestion,omitempty"`
	LastUpdated  time.Time   `json:"lastUpdated"`
	Comments     int         `json:"comments,omitempty"`
	AtLeast      bool        `json:"commentsAreMore,omitempty"`
	First        *comment    `json:"first,omitempty"`
	Latest       *comment    `json:"latest,omitempty"`
}

// suggestion is the part of a suggestion that an assistant needs.
type suggestion struct {
	OldText any    `json:"oldText,omitempty"`
	NewText any    `json:"newText,omitempty"`
	Status  string `json:"status"`
	Reason  any    `json:"rejectReason,omitempty"`
}

// comment is a comment with names instead of placeholders.
type comment struct {
	ID        int64            `json:"commentId"`
	Author    string           `json:"author"`
	UserID    string           `json:"userId"`
	Agent     string           `json:"agent,omitempty"` // the name of the agent that wrote it
	Time      time.Time        `json:"time"`
	Text      string           `json:"text"`
	Cut       bool             `json:"textIsCut,omitempty"`
	Files     []string         `json:"files,omitempty"`
	Reactions map[string]int64 `json:"reactions,omitempty"`
}

func (s *server) listThreads(ctx context.Context, in listInput) (any, error) {
	document, err := s.document(in.DocumentID)
	if err != nil {
		return nil, err
	}
	d := s.reading(data{"documentId": document, "order": "desc", "pageSize": mostThreads})
	if in.Status != "" {
		d["statusIds"] = []string{in.Status}
	}
	if in.Search != "" {
		d["pageSize"] = mostSearched
	}
	if in.UpdatedSince != "" {
		since, err := time.Parse(time.RFC3339, in.UpdatedSince)
		if err != nil {
			return nil, errors.New("updatedSince must be a time in RFC 3339, such as 2026-01-31T09:00:00Z")
		}
		d["updatedAfter"] = since.UnixMilli()
	}
	l, err := page(ctx, s, threads+"/get", d, in.Cursor, longest-1_000, func(a client.Annotation) (thread, bool) {
		t := headOf(a, longestFirst)
		t.Comments, t.AtLeast = len(a.Comments), a.CommentsTruncated
		for i, c := range a.Comments {
			if i == 0 || i == len(a.Comments)-1 {
				shown := commentOf(c, longestFirst)
				t.First, t.Latest = cmp.Or(t.First, &shown), &shown
			}
		}
		if t.Latest == t.First {
			t.Latest = nil
		}
		return t, in.Search == "" || has(a, in.Search)
	})
	if err == nil && len(l.Items) == 0 && l.Next == "" && in.Cursor == "" && in.Search == "" && in.Status != "" && !slices.Contains(statuses, in.Status) {
		return nil, fmt.Errorf("status %q: no thread of the document has this status, use %s", in.Status, strings.Join(statuses, ", "))
	}
	return l, err
}

// statuses are the ids of the default statuses.
var statuses = []string{"OPEN", "IN_PROGRESS", "RESOLVED"}

// has reports whether a comment, the quote or the suggestion of a thread has a text.
func has(a client.Annotation, search string) bool {
	search = collab.Fold(search)
	in := func(text string) bool { return strings.Contains(collab.Fold(text), search) }
	value := func(v any) string {
		if text, ok := v.(string); ok {
			return text
		}
		return encode(v)
	}
	if a.TargetElement != nil && in(a.TargetElement.TargetText) {
		return true
	}
	if change := headOf(a, math.MaxInt).Suggestion; change != nil && (in(value(change.OldText)) || in(value(change.NewText))) {
		return true
	}
	return slices.ContainsFunc(a.Comments, func(c client.Comment) bool { return in(commentOf(c, math.MaxInt32).Text) })
}

// page returns a page of a list with the items that shown keeps, of at most limit characters. It
// reads more pages of the service while they have no such items.
func page[In, Out any](ctx context.Context, s *server, path string, d data, cursor string, limit int, shown func(In) (Out, bool)) (list[Out], error) {
	l := list[Out]{Notice: notice, Items: []Out{}}
	for range mostPages {
		if cursor != "" {
			d["pageToken"] = cursor
		}
		found, next, err := client.Call[[]In](ctx, s.Client, path, d)
		if err != nil {
			return l, err
		}
		fitting, left := 0, limit
		for _, in := range found {
			out, match := shown(in)
			if match {
				if left -= utf8.RuneCountInString(encode(out)) + 1; left < 0 {
					break
				}
				l.Items = append(l.Items, out)
			}
			fitting++
		}
		if fitting < len(found) { // a smaller page has its own next
			l.Items, d["pageSize"] = l.Items[:0], max(fitting, 1)
			continue
		}
		if l.Next = next; next == "" || len(l.Items) > 0 {
			break
		}
		cursor = next
	}
	return l, nil
}

type readInput struct {
	DocumentID   string `json:"documentId,omitempty" jsonschema:"the document"`
	AnnotationID string `json:"annotationId" jsonschema:"the thread"`
	Cursor       string `json:"cursor,omitempty" jsonschema:"next of the previous result"`
}

// whole is a thread with a page of its comments.
type whole struct {
	list[comment]
	Thread *thread `json:"thread,omitempty"` // on the first page
}

func (s *server) readThread(ctx context.Context, in readInput) (any, error) {
	document, err := s.document(in.DocumentID)
	if err != nil {
		return nil, err
	}
	var w whole
	left := longest - 1_000 // for the cursor and the notice
	if in.Cursor == "" {
		found, _, err := client.Call[[]*client.Annotation](
			ctx, s.Client, threads+"/get", s.reading(data{"documentId": document, "annotationIds": []string{in.AnnotationID}}),
		)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 || found[0] == nil {
			return nil, client.Errorf(client.CodeNotFound, "thread %s does not exist in document %s", in.AnnotationID, document)
		}
		a := *found[0]
		head := headOf(a, longestText)
		w.Thread = &head
		if !a.CommentsTruncated && len(a.Comments) <= mostComments {
			w.Notice, w.Items = notice, []comment{}
			for _, c := range a.Comments {
				w.Items = append(w.Items, commentOf(c, longestText))
			}
			if utf8.RuneCountInString(encode(w)) <= longest {
				return w, nil
			}
		}
		left -= utf8.RuneCountInString(encode(head))
	}
	d := s.reading(data{"documentId": document, "annotationId": in.AnnotationID, "pageSize": mostComments})
	w.list, err = page(ctx, s, threads+"/comments/get", d, in.Cursor, left, func(c client.Comment) (comment, bool) { return commentOf(c, longestText), true })
	return w, err
}

// headOf returns the head of a thread, with at most longest characters of each suggested value.
func headOf(a client.Annotation, longest int) thread {
	t := thread{AnnotationID: a.AnnotationID, DocumentID: a.DocumentID, Status: a.Status.ID, LastUpdated: a.LastUpdated}
	if a.TargetElement != nil {
		t.Quote, _ = cut(a.TargetElement.TargetText, longestFirst)
	}
	var suggested struct {
		OldValue, NewValue, RejectReason any
		Status                           string
	}
	if a.Type == client.AnnotationTypeSuggestion && json.Unmarshal(a.Suggestion, &suggested) == nil {
		t.Suggestion = &suggestion{
			cutValue(suggested.OldValue, longest), cutValue(suggested.NewValue, longest), suggested.Status, cutValue(suggested.RejectReason, longest),
		}
	}
	return t
}

// cutValue returns a value, or the first n characters of a longer text or JSON text.
func cutValue(value any, n int) any {
	text, ok := value.(string)
	if !ok {
		encoded, _ := json.Marshal(value)
		text = string(encoded)
	}
	if short, more := cut(text, n); more {
		return short
	}
	return value
}

// commentOf returns a comment with names and at most longest characters of text.
func commentOf(c client.Comment, longest int) comment {
	shown := comment{ID: c.CommentID, UserID: c.From.UserID, Time: c.CreatedAt}
	shown.Author, _ = cut(cmp.Or(c.From.Name, c.From.UserID), longestName)
	shown.Agent, _ = cut(collab.JSON(c.Agent).Text("agentName"), longestName)
	tags, _ := json.Marshal(collab.Map(c.TaggedUserContacts, tagOf))
	rendered := content.Of(&collab.Comment{Text: &c.CommentText, HTML: &c.CommentHTML, TaggedUserContacts: tags}, content.Reader{Most: longest})
	shown.Text, shown.Cut = cut(rendered.Text, longest)
	shown.Cut = shown.Cut || rendered.Cut
	for _, a := range c.Attachments[:min(len(c.Attachments), mostFiles)] {
		name, _ := cut(a.Name, longestName)
		shown.Files = append(shown.Files, name)
	}
	for _, r := range c.Reactions {
		if shown.Reactions == nil {
			shown.Reactions = map[string]int64{}
		}
		shown.Reactions[r.Emoji] = r.Count
	}
	return shown
}

// tagOf returns a tag with the name of its user or group.
func tagOf(t client.Tag) collab.Tag {
	name := strings.TrimPrefix(t.Text, "@")
	if t.Contact != nil {
		name = cmp.Or(t.Contact.Name, name)
	}
	return collab.Tag{UserID: t.UserID, GroupID: t.OrganizationUserGroupID, Text: name, Contact: &collab.User{UserID: t.UserID, Name: &name}}
}

// cut returns a text of at most n characters of JSON, and whether there are more.
func cut(text string, n int) (string, bool) {
	for i, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			n -= 2
		case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == utf8.RuneError:
			n -= 6
		default:
			n--
		}
		if n < 0 {
			return text[:i] + "…", true
		}
	}
	return text, false
}

type replyInput struct {
	DocumentID   string   `json:"documentId,omitempty" jsonschema:"the document"`
	AnnotationID string   `json:"annotationId" jsonschema:"the thread"`
	Text         string   `json:"text" jsonschema:"the comment, plain text"`
	Mention      []string `json:"mention,omitempty" jsonschema:"userIds of people to mention; @Name in the text mentions this person, too"`
}

// written is the result of a write.
type written struct {
	AnnotationID string   `json:"annotationId,omitempty"`
	CommentIDs   []int64  `json:"commentIds,omitempty"`
	Mentioned    []Person `json:"mentioned,omitempty"`
	Unknown      []string `json:"notMentioned,omitempty"` // that begin with @, and name nobody
}

func (s *server) reply(ctx context.Context, in replyInput) (any, error) {
	document, err := s.document(in.DocumentID)
	if err != nil {
		return nil, err
	}
	text, w, err := s.mention(ctx, "text", document, in.Text, in.Mention)
	if err != nil {
		return nil, err
	}
	request := s.writing(data{"documentId": document, "annotationId": in.AnnotationID, "commentData": []data{s.comment(text, w.Mentioned)}})
	w.CommentIDs, _, err = client.Call[[]int64](ctx, s.Client, threads+"/comments/add", request, s.once("reply", request))
	return w, err
}

type startInput struct {
	DocumentID string   `json:"documentId,omitempty" jsonschema:"the document"`
	Quote      string   `json:"quote" jsonschema:"the passage, exactly as it stands in the document"`
	Text       string   `json:"text" jsonschema:"the comment, plain text"`
	Mention    []string `json:"mention,omitempty" jsonschema:"userIds of people to mention; @Name in the text mentions this person, too"`
}

func (s *server) startThread(ctx context.Context, in startInput) (any, error) {
	return s.addThread(ctx, in.DocumentID, in.Quote, "text", in.Text, in.Mention, nil)
}

type suggestInput struct {
	DocumentID string   `json:"documentId,omitempty" jsonschema:"the document"`
	Quote      string   `json:"quote" jsonschema:"the passage, exactly as it stands in the document"`
	NewText    string   `json:"newText" jsonschema:"the text to put in its place"`
	Why        string   `json:"why" jsonschema:"the reason, for people"`
	Mention    []string `json:"mention,omitempty" jsonschema:"userIds of people to mention; @Name in the text mentions this person, too"`
}

func (s *server) suggest(ctx context.Context, in suggestInput) (any, error) {
	return s.addThread(ctx, in.DocumentID, in.Quote, "why", in.Why, in.Mention, data{
		"type": "suggestion", "suggestion": data{"oldValue": in.Quote, "newValue": in.NewText},
	})
}

// addThread adds a thread about a passage, with the comment of an argument and further fields.
func (s *server) addThread(ctx context.Context, document, quote, argument, text string, mention []string, further data) (any, error) {
	document, err := s.document(document)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(quote) == "" {
		return nil, errors.New("quote must not be empty")
	}
	text, w, err := s.mention(ctx, argument, document, text, mention)
	if err != nil {
		return nil, err
	}
	t := data{"targetElement": data{"targetText": quote}, "commentData": []data{s.comment(text, w.Mentioned)}}
	maps.Copy(t, further)
	request := s.writing(data{"documentId": document, "commentAnnotations": []data{t}})
	added, err := s.bulk(ctx, threads+"/add", request, s.once("add", request))
	w.AnnotationID = added.AnnotationID
	return w, err
}

type threadInput struct {
	DocumentID   string `json:"documentId,omitempty" jsonschema:"the document"`
	AnnotationID string `json:"annotationId" jsonschema:"the thread"`
}

// status returns the tool that gives a thread a status.
func (s *server) status(id string) func(context.Context, threadInput) (any, error) {
	return func(ctx context.Context, in threadInput) (any, error) {
		document, err := s.document(in.DocumentID)
		if err != nil {
			return nil, err
		}
		change := data{"status": data{"id": id}}
		d := s.writing(data{"documentId": document, "annotationIds": []string{in.AnnotationID}, "updatedData": change})
		if s.Agent != nil {
			d["actionUser"], d["triggerNotification"] = s.Person, true
			change["statusUpdatedByUserId"] = s.Person.ID
			if id == "RESOLVED" {
				change["resolvedByUserId"] = s.Person.ID
			}
		}
		if _, err := s.bulk(ctx, threads+"/update", d); err != nil {
			return nil, err
		}
		return data{"status": id}, nil
	}
}

type inboxInput struct {
	UnreadOnly bool   `json:"unreadOnly,omitempty" jsonschema:"only unread ones"`
	Cursor     string `json:"cursor,omitempty" jsonschema:"next of the previous result"`
}

// notification is a notification of the inbox.
type notification struct {
	ID           string    `json:"notificationId"`
	DocumentID   string    `json:"documentId"`
	AnnotationID string    `json:"annotationId,omitempty"`
	Headline     string    `json:"headline"`
	Text         string    `json:"text,omitempty"`
	Time         time.Time `json:"time"`
	Read         bool      `json:"read"`
}

func (s *server) inbox(ctx context.Context, in inboxInput) (any, error) {
	d := s.reading(data{"pageSize": mostNotifications})
	if in.UnreadOnly {
		d["unreadOnly"] = true
	}
	return page(ctx, s, "/v2/notifications/get", d, in.Cursor, longest-1_000, func(n client.Notification) (notification, bool) {
		headline, _ := cut(n.DisplayHeadlineMessage, longestFirst)
		text, _ := cut(n.DisplayBodyMessage, longestFirst)
		return notification{n.NotificationID, n.DocumentID, n.AnnotationID, headline, text, n.CreatedAt, n.Read}, true
	})
}

type markInput struct {
	NotificationIDs []string `json:"notificationIds" jsonschema:"of the inbox, at most 30"`
}

func (s *server) markRead(ctx context.Context, in markInput) (any, error) {
	changes := []data{}
	for _, id := range in.NotificationIDs {
		changes = append(changes, data{"id": id, "readByUserIds": []string{s.Person.ID}})
	}
	if _, err := s.bulk(ctx, "/v2/notifications/update", s.own(data{"notifications": changes})); err != nil {
		return nil, err
	}
	return data{"read": len(changes)}, nil
}
