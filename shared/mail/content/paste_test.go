package content

import (
	"fmt"
	"strings"
	"testing"

	"collabdata/shared/collab"

	"github.com/google/go-cmp/cmp"
)

// TestMentionAtTheCut checks that the text after a mention is shown, although the mention is among
// the first characters.
func TestMentionAtTheCut(t *testing.T) {
	tags := collab.JSON(`[{"userId":"bob","contact":{"userId":"bob","name":"Bob"}}]`)
	text := strings.Repeat("a ", MaxShown/2-50) + "{{bob}}, please answer. " + strings.Repeat("b ", 100)
	if got := Of(&collab.Comment{Text: &text, TaggedUserContacts: tags}, Reader{UserID: "bob"}); !strings.Contains(got.Text, "@Bob, please answer. b") || !strings.HasPrefix(got.Text, "… a") {
		t.Errorf("%+v", got)
	}
	early := strings.Repeat("a ", 100) + "{{bob}} " + strings.Repeat("b ", MaxShown)
	if got := Of(&collab.Comment{Text: &early, TaggedUserContacts: tags}, Reader{UserID: "bob"}); !strings.HasPrefix(got.Text, "a a") || !got.Cut {
		t.Errorf("%+v", got)
	}
}

// TestSignOfMore checks that formats and pictures never cut a comment, and that excess formats are
// dropped, not text.
func TestSignOfMore(t *testing.T) {
	sent := strings.Repeat("<b>x</b><br>", 1_900)
	got := Of(&collab.Comment{HTML: &sent}, Reader{})
	if got.Cut || strings.Count(got.Text, "x") != 1_900 || len(got.HTML) > 2*maxMarkup {
		t.Errorf("%d of text, %d bytes, cut %v", strings.Count(got.Text, "x"), len(got.HTML), got.Cut)
	}
}

// sentences returns n sentences of 50 characters, each formatted by f.
func sentences(n int, f func(string) string) (list []string, made string) {
	for i := range n {
		s := fmt.Sprintf("This is sentence %02d, and it owns fifty characters.", i+1)
		list = append(list, s)
		made += f(s)
	}
	return list, made
}

// googleDocs returns the HTML of n sentences as Google Docs copies them.
func googleDocs(n int) (list []string, html string) {
	const style = `font-size:11pt;font-family:Arial,sans-serif;color:#000000;background-color:transparent;font-weight:400;font-style:normal;` +
		`font-variant:normal;text-decoration:none;vertical-align:baseline;white-space:pre;white-space:pre-wrap;`
	list, html = sentences(n, func(s string) string {
		return `<p dir="ltr" style="line-height:1.38;margin-top:0pt;margin-bottom:0pt;"><span style="` + style + `">` + s + `</span></p>`
	})
	return list, `<meta charset='utf-8'><b style="font-weight:normal;" id="docs-internal-guid-1d5a1c1e-7fff">` + html + `</b><br class="Apple-interchange-newline">`
}

// word returns the HTML of n sentences as Word copies them, with its style first.
func word(n int) (list []string, html string) {
	list, html = sentences(n, func(s string) string {
		return "<p class=MsoNormal><span lang=EN-US style='mso-ansi-language:EN-US'>" + strings.ReplaceAll(s, " and", "\nand") + "<o:p></o:p></span></p>\n\n"
	})
	style := strings.Repeat("p.MsoNormal, li.MsoNormal, div.MsoNormal {mso-style-unhide:no; margin:0cm; font-size:12.0pt; mso-fareast-language:EN-US;}\n", 70)
	return list, "<html xmlns:o=\"urn:schemas-microsoft-com:office:office\">\n<head>\n<meta name=Generator content=\"Microsoft Word 15\">\n" +
		"<!--[if gte mso 9]><xml><w:WordDocument><w:View>Normal</w:View></w:WordDocument></xml><![endif]-->\n<style>\n<!--\n" + style +
		"-->\n</style>\n</head>\n<body lang=EN-US>\n<!--StartFragment-->\n" + html + "<!--EndFragment-->\n</body>\n</html>"
}

// TestPastes checks that a comment's shown text does not depend on its markup.
func TestPastes(t *testing.T) {
	docs, fromDocs := googleDocs(38)
	long, fromDocsLong := googleDocs(60)
	office, fromWord := word(3)
	data := `<img src="data:image/png;base64,` + strings.Repeat("iVBORw0KGgo", 18_000) + `">`
	for name, test := range map[string]struct{ sent, want string }{
		"Google Docs":                   {fromDocs, strings.Join(docs, "\n\n")},
		"Google Docs, too long":         {fromDocsLong, strings.Join(long[:40], "\n\n") + "\n\n…"},
		"Word":                          {fromWord, strings.Join(office, "\n\n")},
		"a picture as data first":       {data + "<p>Look at this.</p>", "[picture]\nLook at this."},
		"a picture larger than is read": {`<img src="data:image/png;base64,` + strings.Repeat("A", 300_000) + `"><p>Look at this.</p>`, "[picture] …"},
		"more than is read":             {"<p>One.</p>" + strings.Repeat("<i></i>", 50_000) + "<p>Two.</p>", "One.\n…"},
		"blocks of mail programs":       {"<div>One.</div><div><br></div><div>Two <b>bold</b>.</div><h1>Three</h1>four", "One.\n\nTwo bold.\nThree\nfour"},
		"a table":                       {"<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>", "a | b\nc | d"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Of(&collab.Comment{HTML: &test.sent}, Reader{})
			if diff := cmp.Diff(test.want, got.Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if got.Cut != strings.HasSuffix(test.want, "…") || strings.HasPrefix(got.HTML, "<b>") || len(got.HTML) > MaxShown*6+maxMarkup {
				t.Errorf("cut %v: %s", got.Cut, got.HTML)
			}
		})
	}
}

// TestAroundMention checks that a long comment shows the part that mentions the reader.
func TestAroundMention(t *testing.T) {
	tags := collab.JSON(`[{"userId":"bob","contact":{"userId":"bob","name":"Bob"}},{"organizationUserGroupId":"team","text":"The team"}]`)
	list, before := sentences(100, func(s string) string { return s + " " })
	_, after := sentences(100, func(s string) string { return " " + s })
	for _, test := range []struct {
		name, token, want string
		to                Reader
	}{
		{"by oneself", "{{bob}}", "@Bob", Reader{UserID: "bob", Mentioned: true}},
		{"by a group", "{{team}}", "@The team", Reader{UserID: "bob", Mentioned: true}},
		{"another person", "{{bob}}", "", Reader{UserID: "cid"}},
	} {
		tags := tags
		if test.token == "{{team}}" {
			tags = collab.JSON(`[{"organizationUserGroupId":"team","text":"The team"}]`)
		}
		text := before + test.token + after
		html := "<blockquote><ul><li><i>" + before + "</i>" + test.token + "<i>" + after + "</i></li></ul></blockquote>"
		for _, c := range []*collab.Comment{{Text: &text, TaggedUserContacts: tags}, {HTML: &html, TaggedUserContacts: tags}} {
			got := Of(c, test.to)
			shown := strings.Trim(strings.ReplaceAll(got.Text, "- ", ""), "… ")
			if n := len([]rune(shown)); !got.Cut || n > MaxShown || n < MaxShown-100 || !strings.HasSuffix(got.Text, "…") {
				t.Errorf("%s: %d characters, cut %v, end %q", test.name, n, got.Cut, got.Text[len(got.Text)-20:])
			}
			if test.want == "" {
				if !strings.HasPrefix(shown, list[0]) {
					t.Errorf("%s: %q", test.name, got.Text)
				}
				continue
			}
			if got.HTML != "" && !strings.HasPrefix(got.HTML, `<blockquote dir="auto"><ul dir="auto"><li><i>… `) {
				t.Errorf("%s: %.60s", test.name, got.HTML)
			}
			if at := strings.Index(shown, test.want); at < 200 || at > 500 || !strings.Contains(got.Text[:10], "… ") || strings.HasPrefix(shown, list[0]) {
				t.Errorf("%s: the mention is at %d: %q", test.name, at, got.Text)
			}
		}
	}
}
