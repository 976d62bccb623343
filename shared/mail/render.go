package mail

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"strings"
	texttemplate "text/template"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
)

// Limits on what one mail shows. What is left out is counted.
const (
	maxEvents   = 20
	maxComments = 20 // of one event
	maxEarlier  = 3
	maxSubject  = 150    // characters
	maxQuote    = 300    // bytes of the text that a thread is about
	maxShown    = 60_000 // bytes of all comments and texts: programs clip mails of more than 100 KB
)

// Notice is the content of one mail to one person: events on one thread, or a notification.
type Notice struct {
	To             collab.User // the recipient, with an address in Email
	Account        string
	Look           collab.MailLook // the account's: what is empty is as the deployment has it
	OrganizationID string
	DocumentID     string
	AnnotationID   string    // "" for a notification that belongs to no thread
	Document       string    // its name, or else its id; "" for none
	Quote          string    // the text that the thread is about, or ""
	Events         []Event   // at least one, oldest first
	Earlier        []Comment // of the thread, oldest first: the last three that are not among Events are shown
	Further        []Notice  // on other threads, of which the fields from DocumentID to Earlier are used
	More           int       // further events, which are only counted
	Unsubscribe    string    // the recipient's token for the page to unsubscribe by, or ""
}

// Event is one thing that happened. Its texts are shown as they are: nothing in them is markup or a template.
type Event struct {
	Time     collab.Millis
	Headline string    // one line: who did what
	Body     string    // further text, or "": its first 4,000 bytes are shown
	Comments []Comment // what was written, oldest first
}

// Comment is a comment as mails show it, the same to every recipient.
type Comment struct {
	ID     int64
	Author string
	Time   string
	Text   string        // without markup; "" when there is none
	HTML   template.HTML // clean; "" when there is text alone
}

// NewComment renders a comment: see package content.
func NewComment(c *collab.Comment) Comment {
	text, html := content.Of(c)
	return Comment{ID: c.ID, Author: content.Author(c), Time: utc(c.CreatedAt), Text: text, HTML: template.HTML(html)}
}

// Content is a rendered mail.
type Content struct {
	FromName    string // the sender's, "" for the deployment's
	Subject     string // one line
	Text        string
	HTML        string
	Unsubscribe string // URL
}

type templates struct {
	html *template.Template
	text *texttemplate.Template
}

//go:embed notice.html.tmpl
var htmlTemplate string

//go:embed notice.txt.tmpl
var textTemplate string

func newTemplates() templates {
	return templates{
		html: template.Must(template.New("notice").Parse(htmlTemplate)),
		text: texttemplate.Must(texttemplate.New("notice").Funcs(texttemplate.FuncMap{"quote": quote}).Parse(textTemplate)),
	}
}

// What the templates see.
type (
	view struct {
		Subject     string
		Product     string
		Threads     []threadView // at least one
		Several     bool         // there are several
		More        int          // further events
		Unsubscribe string
	}
	threadView struct {
		Document   string
		Quote      string
		Link       string // to the thread or document
		Thread     bool   // Link leads to a thread
		Events     []eventView
		MoreEvents int
		Earlier    []Comment
	}
	eventView struct {
		Headline     string
		Body         string
		Time         string
		Comments     []Comment
		MoreComments int
	}
)

// Render returns the mail for a notice.
func (m *Mailer) Render(n Notice) (Content, error) {
	if len(n.Events) == 0 {
		return Content{}, errors.New("mail: a notice without events")
	}
	look := n.Look.Or(m.options.Look)
	v := view{Product: look.Product, More: n.More, Unsubscribe: m.unsubscribeURL(n), Several: len(n.Further) > 0}
	left, more := maxShown, n.More-1
	for i, t := range append([]Notice{n}, n.Further...) {
		more += len(t.Events)
		if left < 0 && i > 0 {
			v.More += len(t.Events)
			continue
		}
		t.OrganizationID = n.OrganizationID
		v.Threads = append(v.Threads, t.view(look, &left))
	}
	v.Subject = subject(n.Events[0], more)

	var text, html strings.Builder
	if err := m.templates.text.Execute(&text, v); err != nil {
		return Content{}, fmt.Errorf("mail as text: %w", err)
	}
	if err := m.templates.html.Execute(&html, v); err != nil {
		return Content{}, fmt.Errorf("mail as HTML: %w", err)
	}
	return Content{FromName: look.FromName, Subject: v.Subject, Text: text.String(), HTML: html.String(), Unsubscribe: v.Unsubscribe}, nil
}

// view returns what a mail shows of a thread, and takes its bytes off left.
func (n *Notice) view(look collab.MailLook, left *int) threadView {
	v := threadView{
		Document: content.Line(collab.Cut(n.Document, content.MaxName)), Quote: content.Line(n.Quote),
		Link: look.LinkTo(n.OrganizationID, n.DocumentID, n.AnnotationID, firstComment(n.Events)), Thread: n.AnnotationID != "",
	}
	if len(v.Quote) > maxQuote {
		v.Quote = collab.Cut(v.Quote, maxQuote) + "…"
	}
	shown := make(map[int64]bool)
	for i, e := range n.Events[:min(len(n.Events), maxEvents)] {
		ev := eventView{
			Headline: content.Line(collab.Cut(e.Headline, collab.MaxHeadline)),
			Body:     content.Lines(collab.Cut(e.Body, content.MaxText)),
			Time:     utc(e.Time),
		}
		if *left -= len(ev.Headline) + len(ev.Body); *left < 0 && i > 0 {
			break
		}
		for _, c := range e.Comments[:min(len(e.Comments), maxComments)] {
			if *left -= len(c.Text) + len(c.HTML); *left < 0 {
				break
			}
			ev.Comments = append(ev.Comments, c)
		}
		ev.MoreComments = len(e.Comments) - len(ev.Comments)
		v.Events = append(v.Events, ev)
	}
	v.MoreEvents = len(n.Events) - len(v.Events)
	for _, e := range n.Events {
		for _, c := range e.Comments {
			shown[c.ID] = true
		}
	}
	for _, c := range n.Earlier {
		if !shown[c.ID] {
			v.Earlier = append(v.Earlier, c)
		}
	}
	v.Earlier = v.Earlier[max(0, len(v.Earlier)-maxEarlier):]
	return v
}

// firstComment returns the id of the first new comment of a mail, 0 for none.
func firstComment(events []Event) int64 {
	for _, e := range events {
		if len(e.Comments) > 0 {
			return e.Comments[0].ID
		}
	}
	return 0
}

// subject returns the subject of a mail about an event, and more events.
func subject(first Event, more int) string {
	s := []rune(content.Line(collab.Cut(first.Headline, collab.MaxHeadline)))
	if len(s) > maxSubject {
		s = append(s[:maxSubject-1], '…')
	}
	if more > 0 {
		return fmt.Sprintf("%s (and %d more)", string(s), more)
	}
	return string(s)
}

// quote puts `> ` before each line, so that no comment looks like a part of the mail.
func quote(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }

// utc is a time for people, "" for none.
func utc(t collab.Millis) string {
	if t == 0 {
		return ""
	}
	return time.UnixMilli(t).UTC().Format("2 Jan 2006 15:04 UTC")
}
