package content

import (
	"testing"

	"collabdata/shared/collab"
)

// TestOf checks the text of comments whose HTML says something else, and of comments with files.
func TestOf(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, test := range []struct {
		name    string
		comment collab.Comment
		text    string
		html    string
	}{
		{"text alone", collab.Comment{Text: text("I agree")}, "I agree", ""},
		{"other HTML", collab.Comment{Text: text("I agree"), HTML: text("<p>I do NOT agree</p>")}, "I do NOT agree", `<p dir="auto">I do NOT agree</p>`},
		{"empty HTML", collab.Comment{Text: text("I agree"), HTML: text("<p></p>")}, "I agree", `<p dir="auto"></p>`},
		{"a file alone", collab.Comment{Attachments: collab.JSON(`[{"name": "budget.xlsx"}]`)}, "📎 budget.xlsx", ""},
		{"files", collab.Comment{
			Text: text("See"), Attachments: collab.JSON(`[{"name": "a\u202e.b"}, {"url": "https://x"}, {"name": " c "}, {"name": "d"}, {"name": "e"}]`),
		}, "See\n📎 a.b, …, c, +2", ""},
		{"a file with HTML", collab.Comment{HTML: text("<b>x</b>"), Attachments: collab.JSON(`[{"name": "<i>"}]`)}, "x\n📎 <i>", `<b>x</b><p dir="auto">📎 &lt;i&gt;</p>`},
	} {
		if got := Of(&test.comment, Reader{}); got.Text != test.text || got.HTML != test.html {
			t.Errorf("%s: %q, %q", test.name, got.Text, got.HTML)
		}
	}
}
