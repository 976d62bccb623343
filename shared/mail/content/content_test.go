package content

import (
	"strings"
	"testing"

	"collabdata/shared/collab"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"<p>one<p>two":                                  `<p dir="auto">one</p><p dir="auto">two</p>`,
		"<b>x<p>y</b>z</p>":                             `<b>x<p dir="auto">y</p></b>z`,
		"x</p></b></div></blockquote>y":                 "xy",
		"<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e":       `<ul dir="auto"><li>a</li><li>b<ul dir="auto"><li>c</li></ul></li><li>d</li></ul>e`,
		"<p>a<blockquote>b</blockquote>c":               `<p dir="auto">a</p><blockquote dir="auto">b</blockquote>c`,
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
		if got, _ := clean(in, tags{picture: "[picture]", limit: MaxShown}); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTags(t *testing.T) {
	names := tags{limit: MaxShown, names: map[string]string{"u1": "Una", "a&b": "<Ab>", "u2": "{{u1}}", "": "none"}}
	for in, want := range map[string]string{
		"{{u1}} and {{a&b}}": "@Una and @<Ab>",
		"{{u2}}":             "@{{u1}}",
		"{{{u1}}}":           "{@Una}",
		"{{nobody}} {{u1}}":  "{{nobody}} @Una",
		"{{u1} {{u1":         "{{u1} {{u1",
		"{{x{{u1}}":          "{{x@Una",
		"{{}}":               "@none",
		"@{{u1}}":            "@Una",
		"plain":              "plain",
	} {
		if got, _ := names.shorten(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTextOf(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                          "plain",
		"<p>one</p><p>two</p>":           "one\n\ntwo",
		"one<br>two<br/>three":           "one\ntwo\nthree",
		"  a \n <b>b</b>\t c  ":          "a b c",
		"a<b> b</b>c":                    "a bc",
		"<ul><li>x</li><li>y</li></ul>z": "- x\n- y\nz",
		"<pre>a  b\n  c</pre>d":          "a  b\n  c\nd",
		"1 &lt; 2 &amp; &quot;3&quot;":   `1 < 2 & "3"`,
		`<a href="https://a.example/?x=1&amp;y=2">there</a>`:     "there (https://a.example/?x=1&y=2)",
		`<a href="https://a.example/">https://a.example/</a> ok`: "https://a.example/ ok",
		"<blockquote>said</blockquote>answered":                  "said\nanswered",
		"":                                                       "",
	} {
		if got := textOf(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestMeaning checks that the text form keeps the meaning of formats, and that a comment without
// room for one ends before it.
func TestMeaning(t *testing.T) {
	for in, want := range map[string]string{
		"<del>old</del><ins>new</ins>":                                  "~~old~~ new",
		"<p>Not <s>a</s>, <strike>b</strike></p>":                       "Not ~~a~~, ~~b~~",
		"<del> old </del>new":                                           "~~old~~ new",
		"a<del>b</del><del>c</del>":                                     "a ~~b~~ ~~c~~",
		"<del>a<s>b</s>c</del>":                                         "~~abc~~",
		"<b><del>a</b>b</del>c":                                         "~~a~~ ~~b~~ c",
		"<p><del>a<p>b</del>":                                           "~~a~~\n\n~~b~~",
		"<del><p>a</p><p>b</p></del>":                                   "~~a\n\nb~~",
		"<del></del>a":                                                  "a",
		`<span style="text-decoration: line-through">a</span>b`:         "~~a~~ b",
		`<s>a<span style="text-decoration:line-through">b</span>c</s>d`: "~~abc~~ d",
		`10<span style="vertical-align:super">6</span>`:                 "10^6",
		"10<sup>6</sup> m<sup>2</sup>":                                  "10^6 m^2",
		"10<sup>6</sup>5, 10<sup>-6</sup>, x<sup>n+1</sup>":             "10^(6)5, 10^-6, x^(n+1)",
		"x<sub>1</sub><sup>2</sup>, 2<sup>3<sup>4</sup></sup>":          "x_1^2, 2^(3^4)",
		"<del>5</del><sup>2</sup>":                                      "~~5~~ ^2",
		"<ol><li>first<li>second</ol>":                                  "1. first\n2. second",
		"<ol start=9><li>a<li>b<li value=20>c<li>d</ol>e":               "9. a\n10. b\n20. c\n21. d\ne",
		"<ol><li>a<ul><li>b<li>c<ol><li>d</ol></ul>e<li>f</ol>":         "1. a\n   - b\n   - c\n     1. d\n   e\n2. f",
		"<ul><li><p>a</p></li><li><p>b</p><p>c</p></li></ul>":           "- a\n- b\n\n  c",
		"<ul><li><input type=checkbox checked> done<li><label><input type=checkbox disabled>to do</label></ul>": "- [x] done\n- [ ] to do",
		"☑ <input type=text>":                           "☑",
		"<table><tr><th>Q<th>A<tr><td>1<td></table>end": "Q | A\n1 |\nend",
		"<table><tr><td><p>a</p><p>b</p></td><td><div>c</div></td></tr><tr><td>d</td><td>e</td></tr></table>": "a\nb | c\nd | e",
		"<details><summary>Sum</summary>Hidden</details>after":                                                "Sum\nHidden\nafter",
		"<pre>\n  if x:\n    <b>y</b>\n\n\n  z</pre>a":                                                        "  if x:\n    y\n\n  z\na",
		strings.Repeat("<i>", 100) + "<del>a</del>":                                                           "~~a~~",
		"a" + strings.Repeat("<ol><li>", 20) + "b<li>c":                                                       "a\n1. 1. 1. 1. 1. 1. 1. 1. b\n                        c",
		"a" + strings.Repeat("<b>x</b>", 2_000):                                                               "a" + strings.Repeat("x", 1_999) + "…",
	} {
		got := Of(&collab.Comment{HTML: &in}, Reader{})
		if got.Text != want {
			t.Errorf("%.200q: %.300q, want %.300q; HTML %.300s", in, got.Text, want, got.HTML)
		}
	}
	deep := strings.Repeat("<sup>", 30) + "1"
	if got := Of(&collab.Comment{HTML: &deep}, Reader{}); !got.Cut || strings.Contains(got.Text, "1") {
		t.Errorf("%+v", got)
	}
	paragraphs := strings.Repeat("<p>1</p>2", 400)
	if got := Of(&collab.Comment{HTML: &paragraphs}, Reader{}); len(strings.Fields(got.Text)) != 800 {
		t.Errorf("%q", got.Text)
	}
	cut := strings.Repeat("1<sup>2</sup> ", 600)
	got := Of(&collab.Comment{HTML: &cut}, Reader{})
	if n := strings.Count(got.Text, "1^2 "); !got.Cut || n < 300 || got.Text != strings.Repeat("1^2 ", n)+"1…" {
		t.Errorf("%d powers, cut %v: %q", n, got.Cut, got.Text)
	}
	tags := collab.JSON(`[{"userId":"bob"}]`)
	long := "<ol><li>" + strings.Repeat("a ", MaxShown) + "<li>b<li>{{bob}}<li>c</ol>"
	got = Of(&collab.Comment{HTML: &long, TaggedUserContacts: tags}, Reader{UserID: "bob"})
	if !strings.HasPrefix(got.Text, "1. … a") || !strings.HasSuffix(got.Text, "2. b\n3. @bob\n4. c") {
		t.Errorf("%q", got.Text)
	}
	items := "<ol>" + strings.Repeat("<li>"+strings.Repeat("a ", 500), 8) + "<li>{{bob}}</ol>"
	got = Of(&collab.Comment{HTML: &items, TaggedUserContacts: tags}, Reader{UserID: "bob"})
	if !strings.HasPrefix(got.Text, "8. … a") || !strings.HasSuffix(got.Text, "9. @bob") {
		t.Errorf("%q", got.Text)
	}
}

// TestOneOfBoth checks that a comment with a text and an HTML that differ is shown as its HTML.
func TestOneOfBoth(t *testing.T) {
	tags := collab.JSON(`[{"userId":"bob","contact":{"userId":"bob","name":"Bob"}}]`)
	for html, want := range map[string]string{"<p>I do NOT agree</p>": "I do NOT agree", "<script>1</script>": "I agree, @Bob", "<p> </p>": "I agree, @Bob"} {
		got := Of(&collab.Comment{Text: new("I agree, {{bob}}"), HTML: &html, TaggedUserContacts: tags}, Reader{})
		if got.Text != want || strings.Contains(got.HTML, "agree") == strings.Contains(want, "@") {
			t.Errorf("%q: %+v", html, got)
		}
	}
}
