package mail

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"strings"
	texttemplate "text/template"
	"time"

	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
	"collabdata/shared/words"
)

// Limits of one mail. The rest is counted.
const (
	maxEvents   = 20
	maxComments = 20 // of one event
	maxEarlier  = 3
	maxSubject  = 150    // characters
	maxQuote    = 300    // bytes of the text that a thread is about
	maxShown    = 60_000 // bytes of all comments and texts: programs clip mails of more than 100 KB
)

// Notice is the content of one mail to one person.
type Notice struct {
	To             collab.User // the recipient, with an address in Email
	Account        string
	OrganizationID string
	Look           collab.MailLook // the account's: the deployment's fills in what is empty
	Words          words.Words     // of the recipient
	Threads        []Thread        // at least one
	More           int             // further events, which are only counted
	Unsubscribe    string          // the recipient's token for the page to unsubscribe by, or ""
}

// Thread is what a mail says of a thread, or of a notification that belongs to none.
type Thread struct {
	DocumentID   string
	Document     string            // its name, or else its id; "" for none
	AnnotationID string            // "" for a notification that belongs to no thread
	Quote        string            // the text that the thread is about, or ""
	Events       []Event           // at least one, oldest first
	Earlier      []*collab.Comment // before Events, oldest first: the last three are shown
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

// The data of the templates. Their texts come from the words.
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
	n.Look = n.Look.Or(m.options.Look)
	n.Look.Color = cmp.Or(n.Look.Color, "#0b57d0")
	v := view{
		Words: n.Words, Look: n.Look, Button: textOn(n.Look.Color), More: n.More, Unsubscribe: m.unsubscribeURL(n), Several: len(n.Threads) > 1,
	}
	left, all := maxShown, n.More
	for i, t := range n.Threads {
		if len(t.Events) == 0 {
			return Content{}, errors.New("mail: a thread without events")
		}
		if all += len(t.Events); left < 0 && i > 0 {
			v.More += len(t.Events)
			continue
		}
		v.Threads = append(v.Threads, n.view(&t, &left))
	}
	if v.Threads == nil {
		return Content{}, errors.New("mail: a notice without threads")
	}
	v.Subject = n.subject(all)

	var text, html strings.Builder
	if err := m.templates.text.Execute(&text, v); err != nil {
		return Content{}, fmt.Errorf("mail as text: %w", err)
	}
	if err := m.templates.html.Execute(&html, v); err != nil {
		return Content{}, fmt.Errorf("mail as HTML: %w", err)
	}
	return Content{FromName: n.Look.FromName, Subject: v.Subject, Text: text.String(), HTML: html.String(), Unsubscribe: v.Unsubscribe}, nil
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
func (n *Notice) view(t *Thread, left *int) threadView {
	v := threadView{
		Document: t.name(), Quote: content.Line(t.Quote), Open: "openDocument",
		Link: n.Look.LinkTo(n.OrganizationID, t.DocumentID, t.AnnotationID, t.firstComment()),
	}
	if t.AnnotationID != "" {
		v.Open = "openThread"
	}
	if len(v.Quote) > maxQuote {
		v.Quote = collab.Cut(v.Quote, maxQuote) + "…"
	}
	for i, e := range t.Events[:min(len(t.Events), maxEvents)] {
		ev := eventView{Headline: e.headline(), Body: content.Lines(collab.Cut(e.Body, content.MaxText)), Time: n.time(e.Time)}
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
	v.MoreEvents = len(t.Events) - len(v.Events)
	for _, c := range t.Earlier[max(0, len(t.Earlier)-maxEarlier):] {
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

// firstComment returns the id of the first new comment, 0 for none.
func (t *Thread) firstComment() int64 {
	for _, e := range t.Events {
		if len(e.Comments) > 0 {
			return e.Comments[0].ID
		}
	}
	return 0
}

// name returns the name of the document as one line.
func (t *Thread) name() string { return content.Line(collab.Cut(t.Document, content.MaxName)) }

func (e *Event) headline() string { return content.Line(collab.Cut(e.Headline, collab.MaxHeadline)) }

// subject returns the subject of a mail that is about that many events.
func (n *Notice) subject(events int) string {
	if len(n.Threads) > 1 {
		return n.Words.Count("digest", events)
	}
	t := &n.Threads[0]
	text := t.Events[0].headline()
	if t.AnnotationID != "" && t.Document != "" { // the headlines of notifications are as they were sent
		text = n.Words.Text("subject", "headline", text, "document", t.name())
	}
	if s := []rune(text); len(s) > maxSubject {
		text = string(s[:maxSubject-1]) + "…"
	}
	if events > 1 {
		return n.Words.Count("subjectMore", events-1, "subject", text)
	}
	return text
}

// quote puts `> ` before each line, so that no comment looks like a part of the mail.
func quote(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }
