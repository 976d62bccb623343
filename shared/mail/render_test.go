package mail

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
	"collabdata/shared/testing/golden"
	"collabdata/shared/testing/must"
	"collabdata/shared/words"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sesv2/types"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func newMailer(t testing.TB, unsubscribe string) *Mailer {
	t.Helper()
	m, err := New(aws.Config{Region: "us-east-1"}, Options{From: "Collab <service@collab.example>", Unsubscribe: unsubscribe})
	must.Do(t, err)
	return m
}

const noon = 1772366400000

// comment returns a comment by Ada that tags Bob. Empty text or HTML is absent.
func comment(id int64, plain, html string) *collab.Comment {
	c := &collab.Comment{
		ID: id, From: collab.JSON(`{"userId":"u1","name":"Ada Lovelace"}`), CreatedAt: noon + id*60_000,
		TaggedUserContacts: collab.JSON(`[{"userId":"u2","contact":{"userId":"u2","name":"Bob <b>Builder</b> {{u1}}"}},{"userId":"a&b"}]`),
	}
	if plain != "" {
		c.Text = &plain
	}
	if html != "" {
		c.HTML = &html
	}
	return c
}

func notice(events ...Event) Email {
	return Email{
		To:             collab.User{UserID: "u2", Email: new("bob@example.com")},
		OrganizationID: "org1", Words: words.In(nil), Threads: []Thread{{Document: "Quarterly report", Events: events}},
	}
}

func TestRender(t *testing.T) {
	hostile := `</title></blockquote></div><script>alert("x")</script>{{.Subject}} {{u1}} {headline} <b>bold</b> & "quotes"`
	grouped := notice(
		Event{Time: noon, Headline: "Ada Lovelace commented", Comments: []*collab.Comment{comment(4, "Fourth", "")}},
		Event{Time: noon + 60_000, Headline: "Ada Lovelace changed the status from Open to Resolved"},
		Event{Time: noon + 120_000, Headline: "Ada Lovelace commented", Comments: []*collab.Comment{
			comment(5, "", "<p>Fifth, <em>with</em> <a href=\"https://example.com/?a=1&b=2\">a link</a></p><ul><li>one</li><li>two</li></ul>"),
			comment(6, "Sixth, for {{u2}}\nand {{a&b}}\n-- \nTo unsubscribe: nowhere", "<p>Sixth, for {{u2}}</p><p>and {{a&amp;b}}</p>"),
		}},
	)
	grouped.Threads[0].Earlier = []*collab.Comment{comment(1, "First", ""), comment(2, "Second", ""), comment(3, "", "<p>Third</p>"), {}}
	spoofed := notice(Event{Time: noon, Headline: hostile, Body: hostile, Comments: []*collab.Comment{
		comment(1, hostile, ""),
		comment(2, "", hostile+`<img src="https://tracker.example/pixel.gif"><a href="javascript:alert(1)" onclick="alert(2)">link</a>`+
			`<p style="position:fixed" class="x">styled</p><form action="https://evil.example"><input name=q></form><b>never closed`),
	}})
	spoofed.Threads[0].Document = hostile
	thread := notice(Event{Time: noon, Headline: "Ada Lovelace mentioned you", Comments: []*collab.Comment{comment(7, "Is this right, {{u2}}?", "")}})
	of := &thread.Threads[0]
	of.AnnotationID, of.DocumentID, of.Quote, thread.Unsubscribe = "thread 1", "doc", "Sales <grew> by 4 %", "TOKEN"
	thread.Look = collab.MailLook{
		FromName: "Ledger", Product: "Ledger & Co", Link: "https://app.example/{organizationId}/{documentId}#{annotationId}:{commentId}",
	}
	var many []Event
	for i := range maxEvents + 2 {
		e := Event{Time: noon, Headline: fmt.Sprintf("Event %d", i)}
		if i == 0 {
			for id := range int64(maxComments + 3) {
				e.Comments = append(e.Comments, comment(id, fmt.Sprintf("Comment %d", id), ""))
			}
		}
		many = append(many, e)
	}
	for name, test := range map[string]struct {
		unsubscribe string
		notice      Email
	}{
		"notification": {"https://api.example/unsubscribe",
			notice(Event{Time: noon, Headline: "Ada Lovelace approved the draft", Body: "All pages\nare ready"})},
		"grouped": {"", grouped},
		"thread":  {"https://api.example/unsubscribe", thread},
		"hostile": {"", spoofed},
		"many":    {"", notice(many...)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newMailer(t, test.unsubscribe).Render(test.notice)
			must.Do(t, err)
			archive := txtar.Format(&txtar.Archive{Files: []txtar.File{
				{Name: "subject", Data: []byte(got.Subject + "\n")},
				{Name: "unsubscribe", Data: []byte(got.Unsubscribe + "\n")},
				{Name: "text", Data: []byte(got.Text)},
				{Name: "html", Data: []byte(got.HTML)},
			}})
			golden.Check(t, filepath.Join("testdata", name+".txtar"), string(archive))
			checkHTML(t, got.HTML)
		})
	}
}

// elements are the HTML elements of an email.
var elements = strings.Fields("html head meta style img title body div h2 h3 span p br a b strong i em u ins s del sup sub code pre blockquote ul ol li")

// checkHTML parses an email like a browser. It must not run, load or cover anything, and must be in
// one block.
func checkHTML(t *testing.T, text string) {
	t.Helper()
	document, err := html.Parse(strings.NewReader(text))
	must.Do(t, err)
	for node := range document.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(elements, node.Data) {
			t.Errorf("element %s", node.Data)
		}
		for _, a := range node.Attr {
			switch {
			case node.DataAtom == atom.Img && (a.Key == "src" && strings.HasPrefix(a.Val, "https:") || a.Key == "alt" || a.Key == "height"):
			case a.Key == "class":
			case node.DataAtom == atom.Ol && a.Key == "start", node.DataAtom == atom.Li && a.Key == "value":
			case a.Key == "dir" && a.Val == "auto":
			case a.Key == "style" && !strings.Contains(a.Val, "position"), a.Key == "lang", node.DataAtom == atom.Meta && a.Key != "http-equiv":
			case a.Key == "href" && (strings.HasPrefix(a.Val, "https:") || strings.HasPrefix(a.Val, "http:") || strings.HasPrefix(a.Val, "mailto:")):
			default:
				t.Errorf("attribute %s=%q of %s", a.Key, a.Val, node.Data)
			}
		}
		if node.DataAtom == atom.Body {
			blocks := 0
			for child := range node.ChildNodes() {
				if child.Type == html.ElementNode {
					blocks++
				}
			}
			if blocks != 1 {
				t.Errorf("the body has %d blocks, want 1: an element has been ended by a comment", blocks)
			}
		}
	}
}

// TestValuesAreShownAsText checks that all parts show values unchanged and replace nothing in them:
// of the event, document, comment, author and tagged users.
func TestValuesAreShownAsText(t *testing.T) {
	for _, value := range []string{
		"{{u2}}", "{{.Subject}}", "{{template \"comment\" .}}", "{actionUser}", "<b>bold</b>", "<script>alert(1)</script>", "a & b &amp; c",
		`"quoted" 'single'`, "%s %d", "${x}", "<!-- -->", "]]>",
	} {
		user, err := json.Marshal(map[string]string{"userId": "u3", "name": value})
		must.Do(t, err)
		c := func(text, html *string) *collab.Comment {
			return &collab.Comment{Text: text, HTML: html, From: user, TaggedUserContacts: fmt.Appendf(nil, `[{"userId":"u3","contact":%s}]`, user)}
		}
		n := notice(Event{Headline: value, Body: value, Comments: []*collab.Comment{
			// each with its author
			c(&value, nil), c(new("{{u3}}"), nil), c(nil, new("<p>{{u3}}</p>")),
		}})
		n.Threads[0].Document, n.Threads[0].AnnotationID, n.Threads[0].First = value, "a1", c(&value, nil)
		n.Threads[0].Suggestion = &content.Suggestion{Old: value, New: value, Reason: value}
		got, err := newMailer(t, "").Render(n)
		must.Do(t, err)
		if want := value + " · " + value; got.Subject != want {
			t.Errorf("subject %q, want %q", got.Subject, want)
		}
		if n := strings.Count(got.Text, value); n != 6+6 {
			t.Errorf("the text shows %q %d times, want 12:\n%s", value, n, got.Text)
		}
		document, err := html.Parse(strings.NewReader(got.HTML))
		must.Do(t, err)
		shown := 0
		for node := range document.Descendants() {
			if node.Type == html.TextNode {
				shown += strings.Count(node.Data, value)
			}
		}
		if shown != 9+6 { // two in the title, preview, headline, body, three of the suggestion, document; the comments
			t.Errorf("the HTML shows %q %d times, want 15:\n%s", value, shown, got.HTML)
		}
		checkHTML(t, got.HTML)
	}
}

// TestLanguages renders an email with all elements in each language: the text part and the subject.
func TestLanguages(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	must.Do(t, err)
	for _, l := range words.Languages() {
		t.Run(l, func(t *testing.T) {
			w := words.In(collab.Texts{"de": {"unsubscribe": "Schluss"}}, l)
			w.Zone = berlin
			comments := []*collab.Comment{{ID: 9, CreatedAt: noon}}
			for id := range int64(maxComments + 2) {
				comments = append(comments, comment(10+id, "x", ""))
			}
			n := notice(
				Event{Time: noon, Headline: w.Text("mentioned", "actionUser", "Ada"), Comments: comments},
				Event{Time: noon, Headline: w.Text("replied", "actionUser", "Ada")},
			)
			of := &n.Threads[0]
			n.Words, of.AnnotationID, of.DocumentID, of.Quote = w, "thread", "doc", "Sales"
			n.Look = collab.MailLook{Product: "Ledger", Link: "https://app.example/{documentId}", Logo: "https://app.example/logo.png", Color: "#ffcc00", Footer: "Ledger Inc., Springfield"}
			of.Earlier = []*collab.Comment{comment(3, "Earlier", "")}
			got, err := newMailer(t, "https://api.example/unsubscribe").Render(n)
			must.Do(t, err)
			n.Threads, n.More = append(n.Threads, Thread{Document: "Budget", Events: of.Events[1:]}), 5
			digest, err := newMailer(t, "https://api.example/unsubscribe").Render(n)
			must.Do(t, err)
			checkHTML(t, got.HTML)
			for _, part := range []string{`lang="` + l + `"`, `src="https://app.example/logo.png" alt="Ledger"`, "background:#ffcc00;color:#1f2328", "Ledger Inc., Springfield"} {
				if !strings.Contains(got.HTML, part) {
					t.Errorf("the HTML has no %s:\n%s", part, got.HTML)
				}
			}
			golden.Check(t, filepath.Join("testdata", "language_"+l+".txtar"), string(txtar.Format(&txtar.Archive{Files: []txtar.File{
				{Name: "subject", Data: []byte(got.Subject + "\n")}, {Name: "text", Data: []byte(got.Text)},
				{Name: "subject of several threads", Data: []byte(digest.Subject + "\n")}, {Name: "text of several threads", Data: []byte(digest.Text)},
			}})))
		})
	}
}

func TestSubjectIsOneLine(t *testing.T) {
	long := strings.Repeat("ä", 500)
	for headline, want := range map[string]string{
		"Hello\r\nBcc: victim@example.com":       "Hello Bcc: victim@example.com",
		"Hello\nBcc: a\rCc: b\u2028X:\u0085 y\t": "Hello Bcc: a Cc: b X: y",
		"nul\x00 bell\x07 escape\x1b[31m":        "nul bell escape[31m",
		"broken \xff UTF-8":                      "broken \uFFFD UTF-8",
		long:                                     long[:2*(maxSubject-1)] + "…",
	} {
		n := notice(Event{Headline: headline})
		n.Threads[0].Document = ""
		got, err := newMailer(t, "").Render(n)
		must.Do(t, err)
		if got.Subject != want {
			t.Errorf("subject of %q: %q, want %q", headline, got.Subject, want)
		}
	}
}

// TestDirection checks that names do not change the direction of other text, and that cuts do not
// split characters.
func TestDirection(t *testing.T) {
	const turned, isolated = "Ann \u202egnorw", "\u2068Ann \u202egnorw\u2069"
	n := notice(Event{Time: noon, Headline: (&collab.Notification{Headline: "{actionUser} replied", ActionUser: collab.User{UserID: "u", Name: new(turned)}}).RenderHeadline().For(collab.User{})})
	c := comment(1, "{{u2}}: see", "")
	c.From = collab.JSON(`{"userId":"u","name":"` + turned + `"}`)
	c.TaggedUserContacts = collab.JSON(`[{"userId":"u2","contact":{"userId":"u2","name":"` + turned + `\u2069"}}]`)
	of := &n.Threads[0]
	of.Document, of.AnnotationID, of.First, of.Events[0].Comments = turned, "a1", c, []*collab.Comment{c}
	got, err := newMailer(t, "").Render(n)
	must.Do(t, err)
	if want := isolated + " · \u2068@" + isolated + ": see\u2069"; got.Subject != want {
		t.Errorf("subject %q, want %q", got.Subject, want)
	}
	for _, part := range []string{got.Text, got.HTML} {
		if strings.Count(part, turned) != strings.Count(part, isolated) {
			t.Errorf("a name is not isolated: %q", part)
		}
	}
	of.Document = strings.Repeat("x", 65) + strings.Repeat("👨‍👩‍👧‍👦", 3)
	of.Quote = "e"
	got, err = newMailer(t, "").Render(n)
	must.Do(t, err)
	if want := strings.Repeat("x", 65) + strings.Repeat("👨‍👩‍👧‍👦", 2) + "… · e"; got.Subject != want {
		t.Errorf("subject %q, want %q", got.Subject, want)
	}
}

// TestMentionByGroup checks that an email shows a long comment's mention of a group to its members.
func TestMentionByGroup(t *testing.T) {
	for mentioned, want := range map[bool]bool{true: true, false: false} {
		c := comment(1, strings.Repeat("word ", 1_000)+"{{team}} decide", "")
		c.TaggedUserContacts = collab.JSON(`[{"organizationUserGroupId":"team","text":"The team"}]`)
		n := notice(Event{Headline: "a", Comments: []*collab.Comment{c}, Mentioned: mentioned})
		n.Look.Link, n.Threads[0].DocumentID = "https://app.example/{documentId}#{commentId}", "doc"
		got, err := newMailer(t, "").Render(n)
		must.Do(t, err)
		for _, part := range []string{got.Text, got.HTML} {
			if strings.Contains(part, "@The team decide") != want || strings.Contains(part, "…") != true || !want && !strings.Contains(part, "https://app.example/doc#1") {
				t.Errorf("mentioned %v: %s", mentioned, part)
			}
		}
	}
}

// TestFromName checks that an email comes from the sender's name, else the product's.
func TestFromName(t *testing.T) {
	for _, test := range []struct{ account, deployment, want collab.MailLook }{
		{collab.MailLook{FromName: "Ann", Product: "Ledger"}, collab.MailLook{FromName: "All", Product: "Suite"}, collab.MailLook{FromName: "Ann"}},
		{collab.MailLook{Product: "Ledger"}, collab.MailLook{Product: "Suite"}, collab.MailLook{FromName: "Ledger"}},
		{collab.MailLook{Product: "Ledger"}, collab.MailLook{FromName: "All"}, collab.MailLook{FromName: "All"}},
		{collab.MailLook{}, collab.MailLook{Product: "Suite"}, collab.MailLook{FromName: "Suite"}},
		{collab.MailLook{}, collab.MailLook{}, collab.MailLook{}},
	} {
		m := newMailer(t, "")
		m.options.Look = test.deployment
		n := notice(Event{Headline: "a"})
		n.Look = test.account
		got, err := m.Render(n)
		must.Do(t, err)
		if got.FromName != test.want.FromName {
			t.Errorf("%+v, %+v: from %q, want %q", test.account, test.deployment, got.FromName, test.want.FromName)
		}
	}
}

func TestUnsubscribe(t *testing.T) {
	const page, mailto = "https://api.example/v2/notifications/unsubscribe", "mailto:service@collab.example?subject=unsubscribe"
	for _, test := range []struct{ page, token, want string }{
		{page, "a-_b", page + "?token=a-_b"},
		{page, "a&b>\r\n", page + "?token=a%26b%3E%0D%0A"},
		{page, strings.Repeat("x", maxHeader), page + "?token=" + strings.Repeat("x", maxHeader)},
		{page, "", mailto},
		{"", "token", mailto},
	} {
		n := notice(Event{Headline: "a"})
		n.Unsubscribe = test.token
		m := newMailer(t, test.page)
		got, err := m.Render(n)
		must.Do(t, err)
		header := func(name string) bool {
			return slices.ContainsFunc(m.headers(n, got.Unsubscribe), func(h types.MessageHeader) bool { return *h.Name == name })
		}
		short, click := len(test.want) <= maxHeader-2, strings.HasPrefix(test.want, "https:")
		if header("List-Unsubscribe") != short || header("List-Unsubscribe-Post") != (short && click) || !strings.Contains(got.Text, test.want) {
			t.Errorf("%q for a token of %d bytes: in the header %v, want %v; text %s", test.page, len(test.token), !short, short, got.Text)
		}
		if got.Unsubscribe != test.want {
			t.Errorf("%q for %q: %q, want %q", test.page, test.token, got.Unsubscribe, test.want)
		}
	}
}

func TestRenderNothing(t *testing.T) {
	for _, n := range []Email{notice(), {Words: words.In(nil)}} {
		if got, err := newMailer(t, "").Render(n); err == nil {
			t.Errorf("a notice without events: %+v", got)
		}
	}
}

// FuzzComment checks that an email stays complete and harmless with any comment.
func FuzzComment(f *testing.F) {
	for _, seed := range []string{
		"<p>x</p>", "</div></div><script>1</script>", "<a href='java\nscript:1'>x", "{{u2}}<b title='{{u2}}'>", "<svg><style><img src=x onerror=1>",
		"<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=1&gt;\">",
		"<noscript><p title=\"</noscript><img src=x>\">",
		"<template><b>", "<plaintext>", "<textarea></div>", "<select><b>", strings.Repeat("<b>", 600), "<table><td></div>", "&lt;script&gt;",
		"<form><form>", "<li></li></ul><p><ul>", "<pre>\n<li>", "<a href=https://a><a href=https://b>", "\x00<scr\x00ipt>",
		"<b><del>a</b>b<sup>1<sub>2</sup>", "<table><tr><td><p>a<td><input type=checkbox checked>", "<ol start=-5><li value=99999><ul><li><pre>\n  x",
		"<span style='text-decoration:line-through'><s>a</span>b", strings.Repeat("<ol><li><sup>1</sup>", 300), strings.Repeat("<del>a</b><p>", 300),
	} {
		f.Add(seed)
	}
	m := newMailer(f, "")
	f.Fuzz(func(t *testing.T, text string) {
		c := comment(1, "", text)
		shown := content.Of(c, content.Reader{})
		if len(shown.HTML) > 40_000 || utf8.RuneCountInString(shown.Text) > 20_000 {
			t.Errorf("%d bytes of HTML and %d of text", len(shown.HTML), len(shown.Text))
		}
		checkSigns(t, shown)
		got, err := m.Render(notice(Event{Headline: text, Body: text, Comments: []*collab.Comment{c, comment(2, text, "")}}))
		must.Do(t, err)
		checkHTML(t, got.HTML)
		if strings.ContainsAny(got.Subject, "\r\n") {
			t.Errorf("subject %q", got.Subject)
		}
	})
}

// checkSigns checks that the text form has signs for each format of the HTML that changes the
// meaning.
func checkSigns(t *testing.T, shown content.Shown) {
	t.Helper()
	document, err := html.Parse(strings.NewReader(shown.HTML))
	must.Do(t, err)
	for node := range document.Descendants() {
		if node.Type != html.TextNode || strings.TrimSpace(node.Data) == "" || node.Parent == nil {
			continue
		}
		sign := map[atom.Atom]string{atom.Del: "~~", atom.S: "~~", atom.Sup: "^", atom.Sub: "_"}[node.Parent.DataAtom]
		if !strings.Contains(shown.Text, sign) && !shown.Cut {
			t.Errorf("no %s for %q in %q", sign, node.Data, shown.Text)
		}
	}
}

// TestSeveralThreads checks that an email shows many threads below their documents, newest first,
// counts omitted ones, and is small enough for email programs.
func TestSeveralThreads(t *testing.T) {
	n := notice()
	n.Threads, n.More = nil, 70
	for i := range 50 {
		n.Threads = append(n.Threads, Thread{Document: fmt.Sprintf("Plan %d", i+1), AnnotationID: fmt.Sprint("thread", i), Events: []Event{{
			Time: noon, Headline: "Ann mentioned you", Comments: []*collab.Comment{comment(int64(i), strings.Repeat("x", 3_000), "")},
		}}})
	}
	got, err := newMailer(t, "").Render(n)
	must.Do(t, err)
	if got.Subject != "120 unread notifications" {
		t.Errorf("subject %q", got.Subject)
	}
	for name, text := range map[string]string{"text": got.Text, "HTML": got.HTML} {
		first, second := strings.Index(text, "Plan 1"), strings.Index(text, "Plan 2")
		if len(text) > 100_000 || first < 0 || second < first || strings.Contains(text, "Document: ") || !strings.Contains(text, "more notifications") {
			t.Errorf("%s of %d bytes:\n%s", name, len(text), text)
		}
	}
}
