package mail

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"
	texttemplate "text/template"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
	"collabdata/shared/words"
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

// Notice is the content of one mail to one person: events on threads, or a notification.
type Notice struct {
	To             collab.User // the recipient, with an address in Email
	Account        string
	Look           collab.MailLook // the account's: what is empty is as the deployment has it
	Words          words.Words     // of the recipient
	OrganizationID string
	DocumentID     string
	AnnotationID   string            // "" for a notification that belongs to no thread
	Document       string            // its name, or else its id; "" for none
	Quote          string            // the text that the thread is about, or ""
	Events         []Event           // at least one, oldest first
	Earlier        []*collab.Comment // of the thread, oldest first: the last three that are not among Events are shown
	Further        []Notice          // on other threads, of which the fields from DocumentID to Earlier are used
	More           int               // further events, which are only counted
	Unsubscribe    string            // the recipient's token for the page to unsubscribe by, or ""
}

// Event is one thing that happened. Its texts are shown as they are: nothing in them is markup or a template.
type Event struct {
	Time     collab.Millis
	Headline string            // one line: who did what
	Body     string            // further text, or "": its first 4,000 bytes are shown
	Comments []*collab.Comment // that were written, oldest first
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

// What the templates see. Their texts come from the words.
type (
	view struct {
		words.Words
		Look        collab.MailLook
		Button      string // the color of the text on the button
		Subject     string
		Threads     []threadView // at least one
		Several     bool         // there are several
		More        int          // further events
		Unsubscribe string
	}
	threadView struct {
		Document   string
		Quote      string
		Link       string // to the thread or document
		Open       string // the key of the text on the link
		Events     []eventView
		MoreEvents int
		Earlier    []commentView
	}
	eventView struct {
		Headline     string
		Body         string
		Time         string
		Comments     []commentView
		MoreComments int
	}
	commentView struct {
		Author string
		Time   string
		Text   string        // without markup; "" when there is none
		HTML   template.HTML // clean; "" when there is text alone
		None   string        // is shown when there is neither
	}
)

// Render returns the mail for a notice.
func (m *Mailer) Render(n Notice) (Content, error) {
	if len(n.Events) == 0 {
		return Content{}, errors.New("mail: a notice without events")
	}
	if n.Words.Language == "" {
		n.Words = words.In(nil)
	}
	look := n.Look.Or(m.options.Look)
	look.Color = cmp.Or(look.Color, "#0b57d0")
	v := view{
		Words: n.Words, Look: look, Button: textOn(look.Color), More: n.More, Unsubscribe: m.unsubscribeURL(n), Several: len(n.Further) > 0,
	}
	left, more := maxShown, n.More-1
	for i, t := range append([]Notice{n}, n.Further...) {
		more += len(t.Events)
		if left < 0 && i > 0 {
			v.More += len(t.Events)
			continue
		}
		t.OrganizationID, t.Words = n.OrganizationID, n.Words
		v.Threads = append(v.Threads, t.view(look, &left))
	}
	v.Subject = n.subject(more)

	var text, html strings.Builder
	if err := m.templates.text.Execute(&text, v); err != nil {
		return Content{}, fmt.Errorf("mail as text: %w", err)
	}
	if err := m.templates.html.Execute(&html, v); err != nil {
		return Content{}, fmt.Errorf("mail as HTML: %w", err)
	}
	return Content{FromName: look.FromName, Subject: v.Subject, Text: text.String(), HTML: html.String(), Unsubscribe: v.Unsubscribe}, nil
}

// textOn returns the color of text that is readable on a color, #rrggbb: by its luma of ITU-R BT.601.
func textOn(color string) string {
	var r, g, b int
	if _, err := fmt.Sscanf(color, "#%02x%02x%02x", &r, &g, &b); err == nil && 299*r+587*g+114*b > 150_000 {
		return "#1f2328"
	}
	return "#ffffff"
}

// view returns what a mail shows of a thread, and takes its bytes off left.
func (n *Notice) view(look collab.MailLook, left *int) threadView {
	v := threadView{
		Document: content.Line(collab.Cut(n.Document, content.MaxName)), Quote: content.Line(n.Quote), Open: "openDocument",
		Link: look.LinkTo(n.OrganizationID, n.DocumentID, n.AnnotationID, firstComment(n.Events)),
	}
	if n.AnnotationID != "" {
		v.Open = "openThread"
	}
	if len(v.Quote) > maxQuote {
		v.Quote = collab.Cut(v.Quote, maxQuote) + "…"
	}
	shown := make(map[int64]bool)
	for i, e := range n.Events[:min(len(n.Events), maxEvents)] {
		ev := eventView{
			Headline: content.Line(collab.Cut(e.Headline, collab.MaxHeadline)),
			Body:     content.Lines(collab.Cut(e.Body, content.MaxText)),
			Time:     n.time(e.Time),
		}
		if *left -= len(ev.Headline) + len(ev.Body); *left < 0 && i > 0 {
			break
		}
		for _, c := range e.Comments[:min(len(e.Comments), maxComments)] {
			if *left < 0 {
				break
			}
			shown := n.comment(c)
			if *left -= len(shown.Text) + len(shown.HTML); *left < 0 {
				break
			}
			ev.Comments = append(ev.Comments, shown)
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
	earlier := slices.DeleteFunc(slices.Clone(n.Earlier), func(c *collab.Comment) bool { return shown[c.ID] })
	for _, c := range earlier[max(0, len(earlier)-maxEarlier):] {
		v.Earlier = append(v.Earlier, n.comment(c))
	}
	return v
}

// comment renders a comment: see package content.
func (n *Notice) comment(c *collab.Comment) commentView {
	text, html := content.Of(c)
	v := commentView{
		Author: cmp.Or(content.Author(c), n.Words.Text("somebody")), Time: n.time(c.CreatedAt), Text: text, HTML: template.HTML(html),
	}
	if text == "" && html == "" {
		v.None = n.Words.Text("withoutText")
	}
	return v
}

// time is a time for people, "" for none.
func (n *Notice) time(t collab.Millis) string {
	if t == 0 {
		return ""
	}
	return n.Words.Time(time.UnixMilli(t))
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

// subject returns the subject of the mail, which tells of more events than the first.
func (n *Notice) subject(more int) string {
	if len(n.Further) > 0 {
		return n.Words.Count("digest", more+1)
	}
	text := content.Line(collab.Cut(n.Events[0].Headline, collab.MaxHeadline))
	if n.AnnotationID != "" && n.Document != "" { // the headlines of notifications are as they were sent
		text = n.Words.Text("subject", "headline", text, "document", content.Line(collab.Cut(n.Document, content.MaxName)))
	}
	if s := []rune(text); len(s) > maxSubject {
		text = string(s[:maxSubject-1]) + "…"
	}
	if more > 0 {
		return n.Words.Count("subjectMore", more, "subject", text)
	}
	return text
}

// quote puts `> ` before each line, so that no comment looks like a part of the mail.
func quote(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }
