package mail

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
	"collabdata/shared/testing/heaptest"
	"collabdata/shared/testing/must"
)

// TestRenderingIsBounded checks that memory and output of rendering do not grow with products of a
// comment's parts.
func TestRenderingIsBounded(t *testing.T) {
	var bolds strings.Builder
	for i := range 500 {
		fmt.Fprintf(&bolds, "<b %d>", i)
	}
	long := strings.Repeat("ä", 5_000)
	var people []map[string]any
	for i := range 50 {
		id := fmt.Sprint("u", i)
		people = append(people, map[string]any{"userId": id, "contact": map[string]string{"userId": id, "name": long}})
	}
	tags, err := json.Marshal(people)
	must.Do(t, err)
	m := newMailer(t, "")
	for name, test := range map[string]struct {
		text string
		tags collab.JSON
		cost uint64 // maximum bytes to render one comment
	}{
		"formats taken up in each paragraph":  {"<p>" + bolds.String() + strings.Repeat("<p>x", 1_000), nil, 2_000_000},
		"deep nesting":                        {strings.Repeat("<blockquote>", 100_000), nil, 2_000_000},
		"attributes":                          {"<b " + strings.Repeat("a=b ", 100_000) + ">x", nil, 2_000_000},
		"an endless comment":                  {"<!--" + strings.Repeat("-", 300_000), nil, 2_000_000},
		"links":                               {strings.Repeat("<a href=https://a.example/"+strings.Repeat("x", 500)+">", 600), nil, 2_000_000},
		"meanings taken up in each paragraph": {"<del><sup>1<sub>2" + strings.Repeat("<p>x", 10_000), nil, 2_000_000},
		"superscripts":                        {strings.Repeat("<sup>", 50_000) + strings.Repeat("1</sup>", 10_000), nil, 2_000_000},
		"spans":                               {strings.Repeat("<span style=vertical-align:sub>1</span>2", 8_000), nil, 2_000_000},
		"boxes":                               {strings.Repeat("<input type=checkbox checked>", 9_000), nil, 2_000_000},
		"lists":                               {strings.Repeat("<ol start=7><li value=9>x", 9_000), nil, 2_000_000},
		"cells":                               {strings.Repeat("<td>", 60_000), nil, 2_000_000},
		"escapes":                             {strings.Repeat("'", 300_000), nil, 2_000_000},
		"open braces":                         {strings.Repeat("{", 300_000) + "}}", nil, 2_000_000},
		// mostly for reading the tags
		"long names": {strings.Repeat("{{u0}}", 1_000), tags, 2_500_000},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []*collab.Comment{
				{HTML: &test.text, TaggedUserContacts: test.tags}, {Text: &test.text, TaggedUserContacts: test.tags},
			} {
				n := notice()
				var shown commentView
				if cost := heaptest.Allocated(func() { shown = n.comment(&n.Threads[0], c, false) }); cost > test.cost {
					t.Errorf("a comment took %d bytes", cost)
				}
				if len(shown.HTML) > 6*content.MaxShown+16_000 || len(shown.Text) > 20_000 {
					t.Errorf("%d bytes of HTML, %d of text", len(shown.HTML), len(shown.Text))
				}
				for range 2 * maxEvents {
					e := Event{Headline: test.text, Body: test.text}
					for range 2 * maxComments {
						e.Comments = append(e.Comments, c)
					}
					n.Threads[0].Events = append(n.Threads[0].Events, e)
				}
				var got Content
				cost := heaptest.Allocated(func() {
					if got, err = m.Render(n); err != nil {
						t.Fatal(err)
					}
				})
				if cost > 8_000_000+maxComments*test.cost {
					t.Errorf("a mail took %d bytes", cost)
				}
				if size := len(got.HTML) + len(got.Text); size > maxSize {
					t.Errorf("a mail of %d bytes", size)
				}
			}
		})
	}
}

// sentBytes returns the encoded size of an email, in the longer of both encodings.
func sentBytes(t *testing.T, m *Mailer, n Email, c Content) int {
	t.Helper()
	size := len(mime.BEncoding.Encode("UTF-8", c.Subject)) + len(mime.BEncoding.Encode("UTF-8", c.FromName))
	for _, h := range m.headers(n, c.Unsubscribe) {
		size += len(*h.Name) + len(*h.Value) + len(": \r\n")
	}
	for _, part := range []string{c.Text, c.HTML} {
		var quoted bytes.Buffer
		w := quotedprintable.NewWriter(&quoted)
		_, err := w.Write([]byte(strings.ReplaceAll(part, "\n", "\r\n")))
		must.Do(t, errors.Join(err, w.Close()))
		base := base64.StdEncoding.EncodedLen(len(strings.ReplaceAll(part, "\n", "\r\n")))
		size += max(quoted.Len(), base+base/76*2+2)
	}
	return size
}

// TestSize checks that email programs show the whole email with its unsubscribe link, whatever the
// encoding of its texts.
func TestSize(t *testing.T) {
	// JSON, which programs write into comments
	object := `{"key": "value", "list": [1, 2, 3], "text": "<a & b>"}, `
	look := collab.MailLook{Product: "Ledger", Link: "https://app.example/{organizationId}/{documentId}#{annotationId}:{commentId}"}
	events := func(threads, events, comments int, text, html string) (list []Thread) {
		for i := range threads {
			on := Thread{DocumentID: strings.Repeat("日", 200), Document: strings.Repeat("本", 100), AnnotationID: fmt.Sprint(i), Quote: strings.Repeat("語", 200)}
			for range events {
				e := Event{Time: noon, Headline: "Ann mentioned you"}
				for id := range comments {
					e.Comments = append(e.Comments, comment(int64(id+1), text, html))
				}
				on.Events = append(on.Events, e)
			}
			on.Earlier = []*collab.Comment{comment(1, text, html), comment(2, text, html), comment(3, text, html)}
			list = append(list, on)
		}
		return list
	}
	for name, test := range map[string]struct {
		threads []Thread
		least   int // minimum bytes, so that the limit is used
	}{
		"15 comments of JSON":           {events(1, 1, 15, strings.Repeat(object, 4_400/len(object)), ""), 70_000},
		"19 comments of quotes":         {events(1, 19, 1, strings.Repeat(`"`, 4_000), ""), 70_000},
		"comments of equals signs":      {events(3, 3, 3, strings.Repeat("=", 4_000), ""), 70_000},
		"comments in Japanese":          {events(20, 20, 20, strings.Repeat("日本語。", 1_000), ""), 50_000},
		"a comment of emojis":           {events(1, 1, 1, strings.Repeat("👨‍👩‍👧‍👦", 1_000), ""), 1_000},
		"comments of formats":           {events(20, 1, 1, "", strings.Repeat("<b>é</b> ", 4_000)), 70_000},
		"comments of links":             {events(5, 5, 5, "", strings.Repeat(`<a href="https://a.example/?a=1&b=2">é</a> `, 4_000)), 60_000},
		"many events without a comment": {events(20, 20, 0, "x", ""), 70_000},
		"headlines and bodies": {[]Thread{{Events: slices.Repeat([]Event{{
			Headline: strings.Repeat("é", 500), Body: strings.Repeat("é=\n", 4_000),
		}}, 20)}}, 60_000},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMailer(t, "https://api.example/unsubscribe")
			n := notice()
			n.Threads, n.Look, n.Unsubscribe, n.More = test.threads, look, strings.Repeat("TOKEN", 300), 9
			all := n.More
			for _, on := range n.Threads {
				all += len(on.Events)
			}
			got, err := m.Render(n)
			must.Do(t, err)
			if size := sentBytes(t, m, n, got); size > 90_000 || size < test.least {
				t.Errorf("%d bytes, want %d to 90,000", size, test.least)
			}
			checkHTML(t, got.HTML)
			for _, part := range []string{got.Text, got.HTML} {
				if !strings.Contains(part, got.Unsubscribe) {
					t.Error("no link to unsubscribe")
				}
			}
			counted := len(regexp.MustCompile(`(?m)^(Ann mentioned you|é{20}.*)$`).FindAllString(got.Text, -1))
			for _, more := range regexp.MustCompile(`… and (\d+) more notifications?`).FindAllStringSubmatch(got.Text, -1) {
				left, err := strconv.Atoi(more[1])
				must.Do(t, err)
				counted += left
			}
			comments := strings.Count(got.Text, "\nAda Lovelace, ")
			for _, more := range regexp.MustCompile(`… and (\d+) more comments?`).FindAllStringSubmatch(got.Text, -1) {
				left, err := strconv.Atoi(more[1])
				must.Do(t, err)
				comments += left
			}
			if shown := strings.Count(got.Text, "Ann mentioned you") * len(test.threads[0].Events[0].Comments); comments < shown {
				t.Errorf("shows and counts %d comments, want %d", comments, shown)
			}
			if counted != all {
				t.Errorf("shows and counts %d events, want %d", counted, all)
			}
		})
	}
}
