package content

import (
	"net/url"
	"slices"
	"strings"

	"collabdata/shared/collab"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxDepth is how deep the elements of a comment nest in a mail; within it, more are left out and what they hold is shown.
const maxDepth = 16

// maxMarkup is how many bytes the tags of a comment take; further ones are left out and what they hold is shown.
const maxMarkup = 8_000

// clean returns what a mail shows of a comment's HTML, and whether its end is missing: the forms of text, and links. No images, as they
// would tell their server who reads; no styles and classes, as they could cover the rest of the mail.
//
// It copies no markup. It reads one token after another, builds no tree, and writes tags of its own: those of the elements that are
// allowed, without attributes except the address of a link, each closed. All else is text and escaped.
func clean(sent string, t tags) (text string, cut bool) {
	source := beginning(sent)
	w := t.shown(len(source), func(w *window) {
		c := cleaner{window: w, left: maxMarkup, afterSpace: true, lineStart: true}
		w.escape, w.begin = html.EscapeString, c.reopen
		c.read(source, t)
		w.end(len(source) < len(sent))
		c.closeFrom(0)
	})
	return strings.TrimSpace(w.out.String()), w.cut
}

// beginning returns the part of HTML that is read. Of a picture that it ends in, the tag remains.
func beginning(sent string) string {
	source := collab.Cut(sent, maxSource)
	last := strings.LastIndexByte(source, '<')
	if len(source) == len(sent) || last <= strings.LastIndexByte(source, '>') {
		return source
	}
	if rest := source[last:]; len(rest) > 4 && strings.EqualFold(rest[:4], "<img") {
		return source[:last] + "<img>"
	}
	return source[:last]
}

// read reads HTML until the window is done.
func (c *cleaner) read(source string, t tags) {
	hidden := "" // the element whose text is not shown
	z := html.NewTokenizer(strings.NewReader(source))
	for !c.done {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			if hidden != "" {
				continue
			}
			for piece, id := range t.pieces(string(z.Text())) {
				if c.text(printable(piece), slices.Contains(t.own, id)); c.done {
					break
				}
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, attributes := z.TagName()
			switch element := atom.Lookup(name); element {
			case atom.Script, atom.Style, atom.Title, atom.Iframe, atom.Noembed, atom.Noframes, atom.Noscript, atom.Textarea, atom.Xmp:
				hidden = element.String()
			case atom.Img:
				c.text(" "+t.picture+" ", false)
			default:
				c.start(element, z, attributes)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if string(name) == hidden {
				hidden = ""
			}
			c.end(atom.Lookup(name))
		}
	}
}

// cleaner writes HTML whose elements are all closed, as a browser would read it.
type cleaner struct {
	*window
	left       int       // bytes of tags that may be written
	open       []element // outermost first
	afterSpace bool      // white space that follows is not shown
	lineStart  bool      // no text is on the line
	broke      bool      // the next text begins a line
	blocks     int       // open elements of which nothing stays but the ends of lines
}

// element is an open element, with its tag.
type element struct {
	atom.Atom
	tag string
}

// formats are the elements within a line.
var formats = []atom.Atom{atom.A, atom.B, atom.Strong, atom.I, atom.Em, atom.U, atom.S, atom.Del, atom.Code}

// blocks are the elements whose text has lines of its own, and of which nothing else is shown.
var blocks = []atom.Atom{atom.Div, atom.Tr, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}

// start opens an element of the allowed ones, and closes those that a browser would close there.
func (c *cleaner) start(of atom.Atom, z *html.Tokenizer, attributes bool) {
	tag := "<" + of.String()
	inLine := slices.Contains(formats, of)
	switch {
	case of == atom.Br:
		c.newLine()
		c.tag("<br>")
		c.afterSpace, c.lineStart = true, true
		return
	case slices.Contains(blocks, of):
		c.broke = true
		c.blocks++
		return
	case of == atom.Td || of == atom.Th:
		c.text(" ", false)
		return
	case of == atom.P || of == atom.Blockquote || of == atom.Pre || of == atom.Ul || of == atom.Ol:
		c.end(atom.P)
		tag += ` dir="auto"`
	case of == atom.Li:
		if list := c.last(atom.Ul, atom.Ol); c.last(atom.Li) > list {
			c.end(atom.Li)
		}
		c.end(atom.P)
	case of == atom.A:
		c.end(atom.A)
		link := linkOf(attributeOf(z, attributes, "href"))
		if link == "" {
			return
		}
		tag += ` href="` + html.EscapeString(link) + `"`
	case of == atom.B || of == atom.Strong:
		style := attributeOf(z, attributes, "style")
		if strings.Contains(strings.ReplaceAll(style, " ", ""), "font-weight:normal") {
			return // a paste from Google Docs is in such an element
		}
	case !inLine:
		return
	}
	tag += ">"
	if inLine {
		c.newLine()
	}
	if len(c.open) < maxDepth && c.tag(tag) {
		c.open = append(c.open, element{of, tag})
	}
	if !inLine {
		c.broke, c.lineStart, c.afterSpace = false, true, true
	}
}

// end closes the last open element of a kind with all that is open in it; nothing if none is.
func (c *cleaner) end(of atom.Atom) {
	if slices.Contains(blocks, of) && c.blocks > 0 {
		c.blocks--
		c.broke = true
	}
	if i := c.last(of); i >= 0 {
		c.closeFrom(i)
		if !slices.Contains(formats, of) {
			c.lineStart, c.afterSpace = true, true
		}
	}
}

// last returns the position of the last open element of the kinds, -1 where there is none.
func (c *cleaner) last(kinds ...atom.Atom) int {
	for i := len(c.open) - 1; i >= 0; i-- {
		if slices.Contains(kinds, c.open[i].Atom) {
			return i
		}
	}
	return -1
}

// closeFrom closes the open elements from a position on.
func (c *cleaner) closeFrom(i int) {
	for n := len(c.open) - 1; n >= i; n-- {
		if c.shows() {
			c.out.WriteString("</" + c.open[n].String() + ">")
		}
	}
	c.open = c.open[:i]
}

// shows reports whether tags are written.
func (c *cleaner) shows() bool { return !c.seeking && c.skip == 0 }

// reopen writes the tags of the open elements.
func (c *cleaner) reopen() {
	for _, e := range c.open {
		c.out.WriteString(e.tag)
	}
}

// tag writes a tag if there is room for it and its end tag.
func (c *cleaner) tag(tag string) bool {
	if !c.shows() {
		return true
	}
	n := len(tag) + len("</blockquote>")
	if n > c.left {
		c.broke = true
		return false
	}
	c.left -= n
	c.out.WriteString(tag)
	return true
}

// newLine begins the line that the end of a block asks for, unless there is no room for its tag.
func (c *cleaner) newLine() {
	if c.broke && (c.lineStart || c.tag("<br>")) {
		c.broke, c.lineStart, c.afterSpace = false, true, true
	}
}

// text adds a text, without the white space that HTML does not show.
func (c *cleaner) text(text string, own bool) {
	if c.last(atom.Pre) < 0 {
		if text = collapse(text); c.afterSpace || c.broke {
			text = strings.TrimPrefix(text, " ")
		}
	}
	if text == "" {
		return
	}
	if c.newLine(); c.broke {
		text = " " + text
	}
	c.broke, c.lineStart, c.afterSpace = false, false, strings.HasSuffix(text, " ")
	c.add(text, own)
}

// attributeOf returns an attribute of the current tag; "" for none.
func attributeOf(z *html.Tokenizer, more bool, name string) string {
	for more {
		var key, value []byte
		if key, value, more = z.TagAttr(); string(key) == name {
			return string(value)
		}
	}
	return ""
}

// linkOf returns the address that a link leads to; "" for one that is not to be followed.
func linkOf(href string) string {
	u, err := url.Parse(strings.TrimSpace(href))
	if err == nil && (u.Scheme == "mailto" && u.Opaque != "" || (u.Scheme == "https" || u.Scheme == "http") && u.Host != "") {
		return u.String()
	}
	return ""
}
