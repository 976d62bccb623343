package mail

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"collabdata/shared/collab"
	"collabdata/shared/mail/content"
	"collabdata/shared/testing/must"
	"collabdata/shared/words"
)

// TestMeaning checks that both parts of an email have the whole meaning of a comment.
func TestMeaning(t *testing.T) {
	files := func(names ...string) collab.JSON {
		var list []string
		for i, name := range names {
			list = append(list, fmt.Sprintf(`{"attachmentId":%d,"name":%q}`, i, name))
		}
		return collab.JSON("[" + strings.Join(list, ",") + "]")
	}
	const code = "if x:\n    return 1"
	for name, test := range map[string]struct {
		comment    collab.Comment
		text, html string
	}{
		"struck out":   {collab.Comment{HTML: new("<p>Pay <del>old</del><ins>new</ins></p>")}, "> Pay ~~old~~ new\n", "Pay <del>old</del><ins>new</ins>"},
		"powers":       {collab.Comment{HTML: new("10<sup>6</sup> m<sub>2</sub>")}, "> 10^6 m_2\n", "10<sup>6</sup> m<sub>2</sub>"},
		"a list":       {collab.Comment{HTML: new("<ol start=3><li>first<li>second</ol>")}, "> 3. first\n> 4. second\n", `<ol dir="auto" start="3"><li>first</li><li>second</li></ol>`},
		"cells":        {collab.Comment{HTML: new("<table><tr><td>Q<td>1<tr><td>A<td>2</table>")}, "> Q | 1\n> A | 2\n", "Q | 1<br>A | 2"},
		"boxes":        {collab.Comment{HTML: new("<input type=checkbox checked>a<br><input type=checkbox>b")}, "> [x] a\n> [ ] b\n", "<span>☑</span> a<br><span>☐</span> b"},
		"a summary":    {collab.Comment{HTML: new("<details><summary>Sum</summary>Hidden</details>")}, "> Sum\n> Hidden\n", "Sum<br>Hidden"},
		"code":         {collab.Comment{HTML: new("<pre><code>" + code + "</code></pre>")}, "> if x:\n>     return 1\n", "<pre dir=\"auto\"><code>" + code + "</code></pre>"},
		"plain code":   {collab.Comment{Text: new(code)}, "> if x:\n>     return 1\n", `<div dir="auto" style="white-space:pre-wrap">` + code + "</div>"},
		"opposites":    {collab.Comment{Text: new("I agree"), HTML: new("<p>I do NOT agree</p>")}, "> I do NOT agree\n", `<p dir="auto">I do NOT agree</p>`},
		"a file alone": {collab.Comment{Attachments: files("budget.xlsx")}, "> Attached: budget.xlsx\n", ">Attached: budget.xlsx</div>"},
		"files":        {collab.Comment{Text: new("See"), Attachments: files("a.txt", "b.txt", "c.txt", "d.txt", "e.txt")}, "> See\n> Attached: a.txt, b.txt, c.txt and 2 more\n", ">Attached: a.txt, b.txt, c.txt and 2 more</div>"},
		"a turned name": {collab.Comment{Attachments: files("inv\u202exslx.exe", "x\n-- \ny", strings.Repeat("n", 200)+".pdf", "")},
			"> Attached: invxslx.exe, x -- y, " + strings.Repeat("n", 55) + "….pdf and 1 more\n", ">Attached: invxslx.exe, x -- y, "},
		"a nameless file": {collab.Comment{Attachments: collab.JSON(`[{"attachmentId":1}]`)}, "> Attached: [file]\n", ">Attached: [file]</div>"},
	} {
		got, err := newMailer(t, "").Render(notice(Event{Headline: "Ada commented", Comments: []*collab.Comment{&test.comment}}))
		must.Do(t, err)
		if !strings.Contains(got.Text, "Someone:\n"+test.text) {
			t.Errorf("%s: no %q in the text\n%s", name, test.text, got.Text)
		}
		if !strings.Contains(got.HTML, test.html) || strings.Contains(got.HTML+got.Text, "(without text)") {
			t.Errorf("%s: no %q in the HTML\n%s", name, test.html, got.HTML)
		}
		checkHTML(t, got.HTML)
	}
}

// TestSignature checks that an email names the agent with which a person wrote a comment.
func TestSignature(t *testing.T) {
	for agent, want := range map[string]string{
		``: "Ann:", `{"agentName":"Helper"}`: "Ann, with Helper:", `{"agentName":"Ann"}`: "Ann:", `{"agentName":1}`: "Ann:", `{"agentName":""}`: "Ann:",
		`{"agentName":"<b>\n"}`: "Ann, with <b>:",
	} {
		c := collab.Comment{From: collab.JSON(`{"userId":"ann","name":"Ann"}`), Text: new("x"), Agent: collab.JSON(agent)}
		got, err := newMailer(t, "").Render(notice(Event{Headline: "Ann commented", Comments: []*collab.Comment{&c}}))
		must.Do(t, err)
		if !strings.Contains(got.Text, "\n"+want+"\n> x\n") {
			t.Errorf("%s: no %q in\n%s", agent, want, got.Text)
		}
		checkHTML(t, got.HTML)
	}
	nameless := collab.Comment{From: collab.JSON(`{"userId":"bot-7"}`), Text: new("x"), Agent: collab.JSON(`{"agentName":"Helper"}`)}
	got, err := newMailer(t, "").Render(notice(Event{Headline: "A comment was added", Comments: []*collab.Comment{&nameless}}))
	must.Do(t, err)
	if !strings.Contains(got.Text, "\nHelper:\n> x\n") {
		t.Errorf("no name of the agent alone in\n%s", got.Text)
	}
}

// TestSuggestion checks that an email shows the old and the new text of a suggestion, and the
// reason of a rejection, in every language.
func TestSuggestion(t *testing.T) {
	for _, l := range words.Languages() {
		n := notice(Event{Headline: "Ann rejected a suggestion"})
		n.Words = words.In(nil, l)
		on := &n.Threads[0]
		on.AnnotationID, on.Quote = "a", "price is 10"
		on.Suggestion = &content.Suggestion{Old: "price is 10", New: "price is\n  <12>", Reason: "too much"}
		got, err := newMailer(t, "").Render(n)
		must.Do(t, err)
		want := fmt.Sprintf("\n%s\n> price is 10\n%s\n> price is\n>   <12>\n%s\n> too much\n", n.Words.Text("oldText"), n.Words.Text("newText"), n.Words.Text("rejectReason"))
		if !strings.Contains(got.Text, want) || strings.Contains(got.Text, n.Words.Text("about", "quote", "price is 10")) {
			t.Errorf("%s: no %q in\n%s", l, want, got.Text)
		}
		for _, part := range []string{"<del>price is 10</del>", ">price is\n  &lt;12&gt;</div>", ">too much</div>"} {
			if !strings.Contains(got.HTML, part) {
				t.Errorf("%s: no %q in\n%s", l, part, got.HTML)
			}
		}
		checkHTML(t, got.HTML)
	}
	n := notice(Event{Headline: "Ann suggested a change"})
	n.Threads[0].Suggestion = &content.Suggestion{Old: "all of it"}
	got, err := newMailer(t, "").Render(n)
	must.Do(t, err)
	if !strings.Contains(got.Text, "Old text:\n> all of it\nNew text:\n(without text)\n") || !strings.Contains(got.HTML, "(without text)</div>") {
		t.Errorf("a removal: %s\n%s", got.Text, got.HTML)
	}
	n.Threads[0].Suggestion = &content.Suggestion{Unknown: true, Reason: "too late"}
	got, err = newMailer(t, "").Render(n)
	must.Do(t, err)
	if strings.Contains(got.Text+got.HTML, "ew text") || !strings.Contains(got.Text, "> too late\n") || !strings.Contains(got.HTML, ">too late</div>") {
		t.Errorf("a rejection of an unknown text: %s\n%s", got.Text, got.HTML)
	}
}

// TestOneSubject checks that all emails about a thread have one subject, and the event in the first
// line and in the preview.
func TestOneSubject(t *testing.T) {
	first := comment(1, "", "<p>Is 10<sup>6</sup> right, {{u2}}?</p><p>And more "+strings.Repeat("x", 100)+"</p>")
	for _, test := range []struct {
		quote string
		first *collab.Comment
		want  string
	}{
		{"29 euros", first, "Quarterly report · 29 euros"},
		{"", first, "Quarterly report · Is 10^6 right, @Bob <b>Builder</b> {{u1}}? And more xxxxxxx…"},
		{"", &collab.Comment{Attachments: collab.JSON(`[{"name":"budget.xlsx"}]`)}, "Quarterly report · Attached: budget.xlsx"},
		{"", nil, "Quarterly report"},
	} {
		for _, events := range [][]string{{"Ann mentioned you"}, {"Cat replied"}, {"Bob resolved a thread", "Cat replied", "Dan replied"}} {
			n := notice(collab.Map(events, func(headline string) Event { return Event{Headline: headline} })...)
			n.Threads[0].AnnotationID, n.Threads[0].Quote, n.Threads[0].First = "a", test.quote, test.first
			got, err := newMailer(t, "").Render(n)
			must.Do(t, err)
			preview := events[0]
			if len(events) > 1 {
				preview += " (and 2 more)"
			}
			if got.Subject != test.want || !strings.HasPrefix(got.Text, events[0]+"\n") {
				t.Errorf("subject %q, want %q; text %s", got.Subject, test.want, got.Text)
			}
			_, body, _ := strings.Cut(got.HTML, "<body")
			if _, rest, _ := strings.Cut(body, `<div style="display:none;max-height:0;overflow:hidden">`); !strings.HasPrefix(rest, preview+"</div>") {
				t.Errorf("no preview %q in %s", preview, body)
			}
		}
	}
	n := notice(Event{Headline: "a"}, Event{Headline: "b"})
	n.Threads = append(n.Threads, slices.Clone(n.Threads)...)
	if got, err := newMailer(t, "").Render(n); err != nil || got.Subject != "4 unread notifications" {
		t.Errorf("a digest: %q, %v", got.Subject, err)
	}
}
