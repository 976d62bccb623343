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

// Limits of one email. It only counts the rest.
const (
	maxEvents   = 20
	maxComments = 20 // of an event
	maxEarlier  = 3
	maxSubject  = 150 // characters
	maxDocument = 80  // characters of a document's name in the subject
	maxTopic    = 60  // characters
	// encoded bytes; email programs clip longer emails, and with them the unsubscribe link
	maxSize    = 90_000
	maxHeaders = 4_000 // bytes
	maxRead    = 64    // bytes of comments read per byte of an email
)

// Email is the content of one email to one person.
type Email struct {
	To             collab.User // the recipient, with an address in Email
	Account        string
	OrganizationID string
	Look           collab.MailLook // of the account; the deployment's values fill empty fields
	Words          words.Words     // of the recipient
	Threads        []Thread        // at least one
	More           int             // further events, which are only counted
	Unsubscribe    string          // the recipient's unsubscribe token, or ""
}

// Thread is a thread in an email, or a notification without a thread.
type Thread struct {
	DocumentID   string
	Document     string          // name or id; "" for none
	AnnotationID string          // "" for a notification without a thread
	Quote        string          // the annotated text, or ""
	First        *collab.Comment // of the thread, for the subject; may be nil if there is a quote
	Suggestion   *content.Suggestion
	Events       []Event           // at least one, oldest first
	Earlier      []*collab.Comment // before Events, oldest first; the last three are shown
	Names        map[string]string // present names of users by id
}

// Event is an event in an email. Its texts are plain: they contain no markup or templates.
type Event struct {
	Time     collab.Millis
	Headline string            // one line
	Body     string            // further text, or ""; shortened to content.MaxShown characters
	Comments []*collab.Comment // oldest first

	Mentioned bool // a comment mentions the recipient
}

// Content is a rendered email.
type Content struct {
	FromName    string // name of the sender; "" for the deployment's
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

// Data of the templates.
type (
	view struct {
		words.Words
		Look        collab.MailLook
		Button      string // color of the button's text
		Subject     string
		Preview     string       // a hidden first line, which email programs show in lists
		Threads     []threadView // at least one
		Several     bool         // there are several
		More        int          // further events
		Unsubscribe string
	}
	threadView struct {
		AnnotationID string // "" for a notification, with a headline in any language
		Document     string
		Quote        string
		Suggestion   *content.Suggestion
		Link         string // to the thread or document
		Open         string // text key of the link
		Events       []eventView
		MoreEvents   int
		Earlier      []commentView
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
		Text   string        // without markup; "" for none
		HTML   template.HTML // clean; "" if there is only text
		Files  string        // a line; "" for none
		None   string        // shown if there is neither
		Rest   string        // link to the complete comment if it is cut
		Words  words.Words
	}
)

// Render renders the email for a notice.
func (m *Mailer) Render(n Email) (Content, error) {
	n.Look = n.Look.Or(m.options.Look)
	n.Look.Color = cmp.Or(n.Look.Color, "#0b57d0")
	v := view{
		Words: n.Words, Look: n.Look, Button: textOn(n.Look.Color), More: n.More, Unsubscribe: m.unsubscribeURL(n), Several: len(n.Threads) > 1,
	}
	left, all := maxSize-maxHeaders, n.More
	for i, t := range n.Threads {
		if len(t.Events) == 0 {
			return Content{}, errors.New("email: a thread without events")
		}
		if all += len(t.Events); left < 0 && i > 0 {
			v.More += len(t.Events)
			continue
		}
		v.Threads = append(v.Threads, n.view(&t, &left))
	}
	if v.Threads == nil {
		return Content{}, errors.New("email: a notice without threads")
	}
	v.Subject, v.Preview = n.subject(all), n.preview(all)
	for {
		c := Content{FromName: cmp.Or(n.Look.FromName, n.Look.Product), Subject: v.Subject, Unsubscribe: v.Unsubscribe}
		err := m.execute(&v, &c)
		excess := encoded(c.Text) + encoded(c.HTML) - (maxSize - maxHeaders)
		if err != nil || excess <= 0 {
			return c, err
		}
		shrunk := v.shrink()
		if shrunk == 0 {
			return c, nil
		}
		for excess -= shrunk; excess > 0 && shrunk > 0; excess -= shrunk {
			shrunk = v.shrink()
		}
	}
}

func (m *Mailer) execute(v *view, c *Content) error {
	var text, html strings.Builder
	if err := m.templates.text.Execute(&text, v); err != nil {
		return fmt.Errorf("email as text: %w", err)
	}
	if err := m.templates.html.Execute(&html, v); err != nil {
		return fmt.Errorf("email as HTML: %w", err)
	}
	c.Text, c.HTML = text.String(), html.String()
	return nil
}

// encoded returns the maximum encoded size of a text, in quoted-printable or base64, with line
// ends.
func encoded(text string) int {
	quoted := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			quoted += len("=20\r\n")
		case c < ' ' || c > '~' || c == '=':
			quoted += len("=FF")
		default:
			quoted++
		}
	}
	return max(quoted+quoted/24, len(text)*4/3*78/76) + len("==\r\n")
}

// shrink omits the least important part, which is then only counted. It returns the approximate
// bytes saved, or 0 if nothing can be omitted.
func (v *view) shrink() int {
	last := &v.Threads[len(v.Threads)-1]
	event := &last.Events[len(last.Events)-1]
	switch {
	case len(last.Earlier) > 0:
		size := last.Earlier[0].size()
		last.Earlier = last.Earlier[1:]
		return size
	case len(event.Comments) > 0:
		size := event.Comments[len(event.Comments)-1].size()
		event.Comments = event.Comments[:len(event.Comments)-1]
		event.MoreComments++
		return size
	case len(last.Events) > 1:
		last.Events = last.Events[:len(last.Events)-1]
		last.MoreEvents++
		return event.size()
	case len(v.Threads) > 1:
		v.More += len(last.Events) + last.MoreEvents
		v.Threads = v.Threads[:len(v.Threads)-1]
		return event.size() + last.size()
	case last.Link != "":
		size := last.size()
		last.Link = ""
		return size
	}
	return 0
}

// Sizes are approximate, for both the text and the HTML form.

func (c commentView) size() int {
	html := string(c.HTML)
	if html == "" {
		html = template.HTMLEscapeString(c.Text)
	}
	return encoded(c.Text) + encoded(html) + 2*encoded(c.Author+c.Files+c.Rest) + 400
}

func (e eventView) size() int {
	texts := e.Headline + e.Body
	return encoded(texts) + encoded(template.HTMLEscapeString(texts)) + 200
}

func (t threadView) size() int {
	change := ""
	if s := t.Suggestion; s != nil {
		change = s.Old + s.New + s.Reason
	}
	return 2*encoded(t.Document+t.Quote+t.Link) + encoded(change) + encoded(template.HTMLEscapeString(change)) + 600
}

// textOn returns a readable text color for a background #rrggbb, by its luma of ITU-R BT.601.
func textOn(color string) string {
	var r, g, b int
	if _, err := fmt.Sscanf(color, "#%02x%02x%02x", &r, &g, &b); err == nil && 299*r+587*g+114*b > 150_000 {
		return "#1f2328"
	}
	return "#ffffff"
}

// view renders a thread, and subtracts its bytes from left.
func (n *Email) view(t *Thread, left *int) threadView {
	v := threadView{
		AnnotationID: t.AnnotationID, Document: t.name(), Quote: collab.Isolate(content.Line(t.Quote)), Open: "openDocument", Link: n.link(t, t.firstComment()),
	}
	if t.AnnotationID != "" {
		v.Open = "openThread"
	}
	if v.Suggestion = t.Suggestion; v.Suggestion != nil && v.Suggestion.Old == content.Lines(t.Quote) {
		v.Quote = ""
	}
	*left -= v.size()
	for i, e := range t.Events[:min(len(t.Events), maxEvents)] {
		ev := eventView{Headline: e.headline(), Body: collab.Shorten(content.Lines(e.Body), content.MaxShown)}
		if len(e.Comments) == 0 { // otherwise each comment has a link
			ev.Time = n.time(e.Time)
		}
		if *left -= ev.size(); *left < 0 && i > 0 {
			break
		}
		for _, c := range e.Comments[:min(len(e.Comments), maxComments)] {
			if *left < 0 {
				break
			}
			shown := n.comment(t, c, e.Mentioned)
			*left -= max(shown.size(), (len(collab.Deref(c.HTML))+len(collab.Deref(c.Text)))/maxRead)
			ev.Comments = append(ev.Comments, shown)
		}
		ev.MoreComments = len(e.Comments) - len(ev.Comments)
		v.Events = append(v.Events, ev)
	}
	v.MoreEvents = len(t.Events) - len(v.Events)
	for _, c := range t.Earlier[max(0, len(t.Earlier)-maxEarlier):] {
		if *left > 0 {
			v.Earlier = append(v.Earlier, n.comment(t, c, false))
		}
	}
	return v
}

// link returns the link to a comment of a thread, or to the thread if comment is 0.
func (n *Email) link(t *Thread, comment int64) string {
	return n.Look.LinkTo(n.OrganizationID, t.DocumentID, t.AnnotationID, comment)
}

// comment renders a comment. See package content.
func (n *Email) comment(t *Thread, c *collab.Comment, mentioned bool) commentView {
	to := content.Reader{UserID: n.To.UserID, Mentioned: mentioned, Words: n.Words, Names: t.Names}
	shown := content.Of(c, to)
	v := commentView{
		Author: cmp.Or(collab.Isolate(content.Author(c, to)), n.Words.Text("somebody")), Time: n.time(c.CreatedAt),
		Text: shown.Text, HTML: template.HTML(shown.HTML), Files: shown.Files, Words: n.Words,
	}
	if shown.Text == "" && shown.HTML == "" && shown.Files == "" {
		v.None = n.Words.Text("withoutText")
	}
	if shown.Cut {
		v.Rest = n.link(t, c.ID)
	}
	return v
}

// time formats a time; "" for 0.
func (n *Email) time(t collab.Millis) string {
	if t == 0 {
		return ""
	}
	return n.Words.Time(time.UnixMilli(t))
}

// firstComment returns the id of the first new comment, or 0.
func (t *Thread) firstComment() int64 {
	for _, e := range t.Events {
		if len(e.Comments) > 0 {
			return e.Comments[0].ID
		}
	}
	return 0
}

// name returns the document's name as one line.
func (t *Thread) name() string {
	return collab.Isolate(collab.Shorten(content.Line(t.Document), content.MaxName))
}

func (e *Event) headline() string { return content.Line(collab.Cut(e.Headline, collab.MaxHeadline)) }

// subject returns the subject of an email about the number of events. All emails about a thread to
// a recipient have the same.
func (n *Email) subject(events int) string {
	t := &n.Threads[0]
	switch {
	case len(n.Threads) > 1:
		return n.Words.Count("digest", events)
	case t.AnnotationID == "": // headlines of notifications are unchanged
		return n.preview(events)
	}
	document := collab.Isolate(collab.Shorten(content.Line(t.Document), maxDocument))
	if topic := n.topic(t); topic != "" && document != "" {
		return n.Words.Text("threadSubject", "document", document, "topic", topic)
	} else if document == "" {
		return topic
	}
	return document
}

// topic returns the quote of a thread, or else the beginning of its first comment, as one line.
func (n *Email) topic(t *Thread) string {
	topic := content.Line(t.Quote)
	if topic == "" && t.First != nil {
		topic = content.Line(content.Of(t.First, content.Reader{Words: n.Words, Names: t.Names}).Body())
	}
	if topic == "" && t.Suggestion != nil {
		topic = content.Line(t.Suggestion.New)
	}
	return collab.Isolate(collab.Shorten(topic, maxTopic))
}

// preview returns the first headline, and the number of further events.
func (n *Email) preview(events int) string {
	text := collab.Shorten(n.Threads[0].Events[0].headline(), maxSubject)
	if events > 1 {
		return n.Words.Count("subjectMore", events-1, "subject", collab.Isolate(text))
	}
	return text
}

// quote prefixes each line with `> `, so that a comment cannot imitate the email.
func quote(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }
