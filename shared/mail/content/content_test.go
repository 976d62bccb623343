package content

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"<p>one<p>two":                                    `<p dir="auto">one</p><p dir="auto">two</p>`,
		"<b>x<p>y</b>z</p>":                               `<b>x<p dir="auto">y</p></b>z`,
		"x</p></b></div></blockquote>y":                   "xy",
		"<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e":         `<ul dir="auto"><li>a</li><li>b<ul dir="auto"><li>c</li></ul></li><li>d</li></ul>e`,
		"<p>a<blockquote>b</blockquote>c":                 `<p dir="auto">a</p><blockquote dir="auto">b</blockquote>c`,
		"<a href=https://a.example>a<a href=//b>b</a>c":   `<a href="https://a.example">a</a>bc`,
		"<a href='java\nscript:x'>a</a>":                  "a",
		"<a href=' JaVaScRiPt:x'>a</a>":                   "a",
		"<a href=data:text/html,x>a</a>":                  "a",
		"<a href=/relative>a</a>":                         "a",
		"<a href='https:'>a</a>":                          "a",
		"<a href='https://x/\"><script>'>a</a>":           `<a href="https://x/%22%3E%3Cscript%3E">a</a>`,
		"<a href=mailto:a@b.example onclick=x>a</a>":      `<a href="mailto:a@b.example">a</a>`,
		"<script>x</script>a<style>b</style>c":            "ac",
		"<svg><style><img src=x onerror=alert(1)>":        "",
		"<svg/onload=alert(1)>a":                          "a",
		"<textarea></textarea ><b>x":                      "<b>x</b>",
		"<!-- c --><!doctype x><?php y?>a":                "a",
		"<B CLASS=x>a</B >b":                              "<b>a</b>b",
		"<br/>a<br></br>":                                 "<br>a<br>",
		"a < b && c > 'd' \"e\"":                          "a &lt; b &amp;&amp; c &gt; &#39;d&#39; &#34;e&#34;",
		"&lt;script&gt;":                                  "&lt;script&gt;",
		"nul\x00, bell&#7;":                               "nul, bell",
		"<table><tr><td>a<td>b<tr><th>c</th><th>d</th>":   "a | b<br>c | d",
		"<input type=checkbox checked>a<input type=text>": "[x] a",
		"<strike>a</strike><ol start=3><li>b</ol>":        `<s>a</s><ol dir="auto" start="3"><li>b</li></ol>`,
		"<details><summary>Sum</summary>Hidden</details>": "Sum<br>Hidden",
		strings.Repeat("<i>", 100) + "deep":               strings.Repeat("<i>", maxDepth) + "deep" + strings.Repeat("</i>", maxDepth),
	} {
		if got, _ := clean(in, tags{picture: "[picture]"}); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTags(t *testing.T) {
	names := tags{names: map[string]string{"u1": "Una", "a&b": "<Ab>", "u2": "{{u1}}", "": "none"}}
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
		"<del>old</del><ins>new</ins>, un<s>done</s>":            "~~old~~ new, un ~~done~~",
		"10<sup>6</sup> m<sup>2</sup>, x<sub>i+1</sub>th":        "10^6 m^2, x_(i+1) th",
		"<ol><li>a<ol><li>b</li></ol></li><li>c</li></ol>d":      "1. a\n\n  1. b\n\n2. c\nd",
		`<ol start="7"><li>a</li><li>b</li></ol>`:                "7. a\n8. b",
	} {
		if got := textOf(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
