package mail

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
	"collabdata/shared/testing/heaptest"
	"collabdata/shared/testing/must"
)

// TestRenderingIsBounded: whatever comments hold, what rendering them takes and gives grows with no product of what they hold.
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
		cost uint64 // of rendering one comment at most, in bytes
	}{
		"formats taken up in each paragraph": {"<p>" + bolds.String() + strings.Repeat("<p>x", 1_000), nil, 200_000},
		"deep nesting":                       {strings.Repeat("<blockquote>", 100_000), nil, 200_000},
		"attributes":                         {"<b " + strings.Repeat("a=b ", 100_000) + ">x", nil, 200_000},
		"an endless comment":                 {"<!--" + strings.Repeat("-", 300_000), nil, 200_000},
		"links":                              {strings.Repeat("<a href=https://a.example/"+strings.Repeat("x", 500)+">", 600), nil, 200_000},
		"escapes":                            {strings.Repeat("'", 300_000), nil, 200_000},
		"open braces":                        {strings.Repeat("{", 300_000) + "}}", nil, 200_000},
		"long names":                         {strings.Repeat("{{u0}}", 1_000), tags, 800_000}, // most of it is reading the tags
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []*collab.Comment{
				{HTML: &test.text, TaggedUserContacts: test.tags}, {Text: &test.text, TaggedUserContacts: test.tags},
			} {
				n := notice()
				var shown commentView
				if cost := heaptest.Allocated(func() { shown = n.comment(c) }); cost > test.cost {
					t.Errorf("a comment took %d bytes", cost)
				}
				if len(shown.HTML) > content.MaxText || len(shown.Text) > content.MaxText {
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
				if size := len(got.HTML) + len(got.Text); size > 8*maxShown {
					t.Errorf("a mail of %d bytes", size)
				}
			}
		})
	}
}
