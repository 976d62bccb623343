package mail

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/testing/heaptest"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"<p>one<p>two":                                  "<p>one</p><p>two</p>",
		"<b>x<p>y</b>z</p>":                             "<b>x<p>y</p></b>z",
		"x</p></b></div></blockquote>y":                 "xy",
		"<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e":       "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>e",
		"<p>a<blockquote>b</blockquote>c":               "<p>a</p><blockquote>b</blockquote>c",
		"<a href=https://a.example>a<a href=//b>b</a>c": `<a href="https://a.example">a</a>bc`,
		"<a href='java\nscript:x'>a</a>":                "a",
		"<a href=' JaVaScRiPt:x'>a</a>":                 "a",
		"<a href=data:text/html,x>a</a>":                "a",
		"<a href=/relative>a</a>":                       "a",
		"<a href='https:'>a</a>":                        "a",
		"<a href='https://x/\"><script>'>a</a>":         `<a href="https://x/%22%3E%3Cscript%3E">a</a>`,
		"<a href=mailto:a@b.example onclick=x>a</a>":    `<a href="mailto:a@b.example">a</a>`,
		"<script>x</script>a<style>b</style>c":          "ac",
		"<svg><style><img src=x onerror=alert(1)>":      "",
		"<svg/onload=alert(1)>a":                        "a",
		"<textarea></textarea ><b>x":                    "<b>x</b>",
		"<!-- c --><!doctype x><?php y?>a":              "a",
		"<B CLASS=x>a</B >b":                            "<b>a</b>b",
		"<br/>a<br></br>":                               "<br>a<br>",
		"a < b && c > 'd' \"e\"":                        "a &lt; b &amp;&amp; c &gt; &#39;d&#39; &#34;e&#34;",
		"&lt;script&gt;":                                "&lt;script&gt;",
		"nul\x00, bell&#7;":                             "nul, bell",
		strings.Repeat("<i>", 100) + "deep":             strings.Repeat("<i>", maxDepth) + "deep" + strings.Repeat("</i>", maxDepth),
	} {
		if got := clean(in, nil); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTags(t *testing.T) {
	names := tagged{"u1": "Una", "a&b": "<Ab>", "u2": "{{u1}}", "": "none"}
	for in, want := range map[string]string{
		"{{u1}} and {{a&b}}": "Una and <Ab>",
		"{{u2}}":             "{{u1}}",
		"{{{u1}}}":           "{Una}",
		"{{nobody}} {{u1}}":  "{{nobody}} Una",
		"{{u1} {{u1":         "{{u1} {{u1",
		"{{x{{u1}}":          "{{xUna",
		"{{}}":               "none",
		"plain":              "plain",
	} {
		if got := names.in(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestRenderingIsBounded: whatever comments hold, what rendering them takes and gives grows with no product of what they hold.
func TestRenderingIsBounded(t *testing.T) {
	var bolds strings.Builder
	for i := range 500 {
		fmt.Fprintf(&bolds, "<b %d>", i)
	}
	long := strings.Repeat("ä", 5_000)
	var people []map[string]any
	for i := range 200 {
		id := fmt.Sprint("u", i)
		people = append(people, map[string]any{"userId": id, "contact": map[string]string{"userId": id, "name": long}})
	}
	tags, err := json.Marshal(people)
	if err != nil {
		t.Fatal(err)
	}
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
		"long names":                         {strings.Repeat("{{u0}}", 1_000), tags, 3_000_000}, // most of it is reading the tags
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []collab.EventComment{
				{HTML: &test.text, TaggedUserContacts: test.tags}, {Text: &test.text, TaggedUserContacts: test.tags},
			} {
				var shown Comment
				if cost := heaptest.Allocated(func() { shown = NewComment(c) }); cost > test.cost {
					t.Errorf("a comment took %d bytes", cost)
				}
				if len(shown.HTML) > maxText || len(shown.Text) > maxText {
					t.Errorf("%d bytes of HTML, %d of text", len(shown.HTML), len(shown.Text))
				}
				n := notice()
				for range 2 * maxEvents {
					e := Event{Headline: test.text, Body: test.text}
					for range 2 * maxComments {
						e.Comments = append(e.Comments, shown)
					}
					n.Events = append(n.Events, e)
				}
				var got Content
				cost := heaptest.Allocated(func() {
					if got, err = m.Render(n); err != nil {
						t.Fatal(err)
					}
				})
				if cost > 4_000_000 {
					t.Errorf("a mail took %d bytes", cost)
				}
				if size := len(got.HTML) + len(got.Text); size > 8*maxShown {
					t.Errorf("a mail of %d bytes", size)
				}
			}
		})
	}
}
