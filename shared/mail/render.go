package mail

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"strings"
	texttemplate "text/template"
	"time"
	"unicode"

	"collabdata/shared/collab"

	"github.com/microcosm-cc/bluemonday"
)

// Limits on what one mail shows. What is left out is counted.
const (
	maxEvents   = 20
	maxComments = 20 // of one event
	maxEarlier  = 3
	maxSubject  = 150 // characters
)

// Notice is what one mail tells one person: one event or several on one thread, or a notification.
type Notice struct {
	To             collab.User // who is told; Email is where it is sent to
	OrganizationID string
	Document       string                // its name, or else its id; "" for none
	Events         []Event               // at least one, oldest first
	Earlier        []collab.EventComment // of the thread, oldest first: the last three that are not among Events are shown
}

// Event is one thing that happened. Its texts are shown as they are: nothing in them is markup or a template.
type Event struct {
	Time      collab.Millis
	Headline  string                // one line: who did what
	Body      string                // further text, or ""
	Comments  []collab.EventComment // what was written, oldest first: HTML is cleaned, and tags become names
	Truncated bool                  // texts were cut, or comments left out
}

// Content is a rendered mail.
type Content struct {
	Subject     string // one line
	Text        string
	HTML        string
	Unsubscribe string // URL
}

type templates struct {
	html   *template.Template
	text   *texttemplate.Template
	policy *bluemonday.Policy
}

//go:embed notice.html.tmpl
var htmlTemplate string

//go:embed notice.txt.tmpl
var textTemplate string

func newTemplates() templates {
	return templates{
		html:   template.Must(template.New("notice").Parse(htmlTemplate)),
		text:   texttemplate.Must(texttemplate.New("notice").Funcs(texttemplate.FuncMap{"quote": quote}).Parse(textTemplate)),
		policy: newPolicy(),
	}
}

// What the templates see: texts, and HTML that was cleaned.
type (
	view struct {
		Subject     string
		Document    string
		Events      []eventView
		MoreEvents  int
		Earlier     []commentView
		Unsubscribe string
	}
	eventView struct {
		Headline     string
		Body         string
		Time         string
		Comments     []commentView
		MoreComments int
		Truncated    bool
	}
	commentView struct {
		Author string
		Time   string
		Text   string
		HTML   template.HTML // "" when there is text alone
	}
)

// Render returns the mail for a notice.
func (m *Mailer) Render(n Notice) (Content, error) {
	if len(n.Events) == 0 {
		return Content{}, errors.New("mail: a notice without events")
	}
	v := view{Subject: subject(n.Events), Document: line(n.Document), Unsubscribe: m.unsubscribeURL(n)}
	shown := make(map[int64]bool)
	for _, e := range n.Events {
		for _, c := range e.Comments {
			shown[c.CommentID] = true
		}
	}
	for _, e := range n.Events[:min(len(n.Events), maxEvents)] {
		v.Events = append(v.Events, m.templates.event(e))
	}
	v.MoreEvents = len(n.Events) - len(v.Events)
	var earlier []collab.EventComment
	for _, c := range n.Earlier {
		if !shown[c.CommentID] {
			earlier = append(earlier, c)
		}
	}
	for _, c := range earlier[max(0, len(earlier)-maxEarlier):] {
		v.Earlier = append(v.Earlier, m.templates.comment(c))
	}

	var text, html strings.Builder
	if err := m.templates.text.Execute(&text, v); err != nil {
		return Content{}, fmt.Errorf("mail as text: %w", err)
	}
	if err := m.templates.html.Execute(&html, v); err != nil {
		return Content{}, fmt.Errorf("mail as HTML: %w", err)
	}
	return Content{Subject: v.Subject, Text: text.String(), HTML: html.String(), Unsubscribe: v.Unsubscribe}, nil
}

func subject(events []Event) string {
	s := []rune(line(events[0].Headline))
	if len(s) > maxSubject {
		s = append(s[:maxSubject-1], '…')
	}
	if more := len(events) - 1; more > 0 {
		return fmt.Sprintf("%s (and %d more)", string(s), more)
	}
	return string(s)
}

func (t templates) event(e Event) eventView {
	v := eventView{Headline: line(e.Headline), Body: lines(e.Body), Time: utc(e.Time), Truncated: e.Truncated}
	for _, c := range e.Comments[:min(len(e.Comments), maxComments)] {
		v.Comments = append(v.Comments, t.comment(c))
	}
	v.MoreComments = len(e.Comments) - len(v.Comments)
	return v
}

func (t templates) comment(c collab.EventComment) commentView {
	v := commentView{Author: line(authorOf(c)), Time: utc(c.CreatedAt)}
	names := taggedNames(c.TaggedUserContacts)
	if html := collab.Deref(c.HTML); html != "" {
		clean := t.clean(names.inHTML(html))
		v.HTML = template.HTML(clean)
		v.Text = lines(textOf(clean))
	}
	if text := collab.Deref(c.Text); text != "" {
		v.Text = lines(names.inText(text))
	}
	return v
}

func authorOf(c collab.EventComment) string {
	var author collab.User
	if len(c.From) == 0 || json.Unmarshal(c.From, &author) != nil {
		return "Somebody"
	}
	return author.DisplayName()
}

// line makes a text one line, lines keeps its line ends; both drop control characters, which no mail shows.
func line(text string) string { return strings.Join(strings.Fields(lines(text)), " ") }

func lines(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text))
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
