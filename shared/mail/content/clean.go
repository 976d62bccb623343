package content

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxDepth is how deep the elements of a comment nest in a mail; within it, more are left out and what they hold is shown.
const maxDepth = 16

// clean returns what a mail shows of a comment's HTML, at most MaxText bytes: the forms of text, and links. No images, as they would tell
// their server who reads; no styles and classes, as they could cover the rest of the mail.
//
// It copies no markup. It reads one token after another, builds no tree, and writes tags of its own: those of the elements that are
// allowed, without attributes except the address of a link, each closed. All else is text and escaped.
func clean(text string, names tagged) string {
	c := cleaner{left: MaxText - maxDepth*len("</blockquote>")}
	var hidden atom.Atom // the element whose text is not shown, 0 for none
	for z := html.NewTokenizer(strings.NewReader(text)); c.left > 0; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		switch token := z.Token(); kind {
		case html.TextToken:
			if hidden == 0 {
				c.text(names.in(printable(token.Data)))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			switch token.DataAtom {
			case atom.Script, atom.Style, atom.Title, atom.Iframe, atom.Noembed, atom.Noframes, atom.Noscript, atom.Textarea, atom.Xmp:
				hidden = token.DataAtom
			default:
				c.start(token)
			}
		case html.EndTagToken:
			if token.DataAtom == hidden {
				hidden = 0
			}
			c.end(token.DataAtom)
		}
	}
	c.closeFrom(0)
	return strings.TrimSpace(c.out.String())
}

// cleaner writes HTML whose elements are all closed, as a browser would read it.
type cleaner struct {
	out  strings.Builder
	left int         // bytes that may be written, without the end tags of open elements
	open []atom.Atom // elements
}

// start opens an element of the allowed ones, and closes those that a browser would close there.
func (c *cleaner) start(token html.Token) {
	element, link := token.DataAtom, ""
	switch element {
	case atom.Br:
		c.tag("<br>")
		return
	case atom.P, atom.Blockquote, atom.Pre, atom.Ul, atom.Ol:
		c.end(atom.P)
	case atom.Li:
		if list := c.last(atom.Ul, atom.Ol); c.last(atom.Li) > list {
			c.end(atom.Li)
		}
		c.end(atom.P)
	case atom.A:
		c.end(atom.A)
		if link = linkOf(token); link == "" {
			return
		}
		link = ` href="` + html.EscapeString(link) + `"`
	case atom.B, atom.Strong, atom.I, atom.Em, atom.U, atom.S, atom.Del, atom.Code:
	default:
		return
	}
	if len(c.open) < maxDepth && c.tag("<"+element.String()+link+">") {
		c.open = append(c.open, element)
	}
}

// end closes the last open element of a kind with all that is open in it; nothing where none is.
func (c *cleaner) end(element atom.Atom) {
	if i := c.last(element); i >= 0 {
		c.closeFrom(i)
	}
}

// last returns the position of the last open element of the kinds, -1 where there is none.
func (c *cleaner) last(kinds ...atom.Atom) int {
	for i := len(c.open) - 1; i >= 0; i-- {
		if slices.Contains(kinds, c.open[i]) {
			return i
		}
	}
	return -1
}

func (c *cleaner) closeFrom(i int) {
	for n := len(c.open) - 1; n >= i; n-- {
		c.out.WriteString("</" + c.open[n].String() + ">")
	}
	c.open = c.open[:i]
}

// tag writes a tag where there is room for it and its end tag.
func (c *cleaner) tag(tag string) bool {
	if n := len(tag) + len("</blockquote>"); n > c.left {
		c.left = 0
		return false
	}
	c.left -= len(tag) + len("</blockquote>")
	c.out.WriteString(tag)
	return true
}

// text writes as much of a text as there is room for.
func (c *cleaner) text(text string) {
	for i, r := range text {
		n := utf8.RuneLen(r)
		switch r {
		case '<', '>':
			n = len("&lt;")
		case '&', '\'', '"':
			n = len("&amp;")
		}
		if n > c.left {
			c.left, text = 0, text[:i]
			break
		}
		c.left -= n
	}
	c.out.WriteString(html.EscapeString(text))
}

// linkOf returns where a link leads, "" where it is not to be followed.
func linkOf(token html.Token) string {
	for _, a := range token.Attr {
		if a.Key != "href" {
			continue
		}
		u, err := url.Parse(strings.TrimSpace(a.Val))
		if err == nil && (u.Scheme == "mailto" && u.Opaque != "" || (u.Scheme == "https" || u.Scheme == "http") && u.Host != "") {
			return u.String()
		}
		return ""
	}
	return ""
}
