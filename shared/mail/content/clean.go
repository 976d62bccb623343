package content

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"collabdata/shared/collab"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxDepth limits the nesting of elements. Deeper elements are omitted, and their content is shown.
const maxDepth = 16

// maxMarkup limits the bytes of a comment's tags. Further tags are omitted, and their content is
// shown.
const maxMarkup = 8_000

// clean returns the HTML of a comment for an email, and whether its end is missing. It keeps text
// formats and links. It drops images, which would show their server that the email was opened, and
// styles and classes, which could cover the rest of the email.
//
// It copies no markup and builds no tree. It reads tokens and writes new tags for allowed elements,
// each closed, without attributes except the address of a link. All other tokens become escaped
// text.
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

// beginning returns the part of the HTML to read. If it ends in a picture, it keeps the tag.
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

func (c *cleaner) read(source string, t tags) {
	hidden := "" // hidden is the element with hidden text
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

// cleaner writes HTML with all elements closed, as a browser would parse it.
type cleaner struct {
	*window
	left       int       // remaining bytes for tags
	open       []element // outermost first
	afterSpace bool      // skip following white space
	lineStart  bool      // no text on the line yet
	broke      bool      // the next text starts a line
	blocks     int       // open elements that only keep their line ends
}

type element struct {
	atom.Atom
	tag string
}

// formats are inline elements.
var formats = []atom.Atom{
	atom.A, atom.B, atom.Strong, atom.I, atom.Em, atom.U, atom.S, atom.Del, atom.Ins, atom.Code, atom.Sup, atom.Sub,
}

// blocks are elements that only keep their line ends.
var blocks = []atom.Atom{
	atom.Div, atom.Tr, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Summary, atom.Details, atom.Section, atom.Article, atom.Dt, atom.Dd,
	atom.Caption, atom.Figcaption,
}

// start opens an allowed element. It closes the elements that a browser would close there.
func (c *cleaner) start(of atom.Atom, z *html.Tokenizer, attributes bool) {
	if of == atom.Strike {
		of = atom.S
	}
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
		if !c.lineStart && !c.broke {
			c.text(" | ", false)
		}
		return
	case of == atom.Input:
		c.checkbox(z, attributes)
		return
	case of == atom.P || of == atom.Blockquote || of == atom.Pre || of == atom.Ul || of == atom.Ol:
		c.end(atom.P)
		tag += ` dir="auto"`
		if of == atom.Ol {
			if n, err := strconv.Atoi(attributeOf(z, attributes, "start")); err == nil && n > 1 && n < maxStart {
				tag += fmt.Sprintf(` start="%d"`, n)
			}
		}
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
			return // pastes from Google Docs are in such an element
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

// maxStart bounds the first number of a list.
const maxStart = 1_000_000_000

// checkbox writes a box and whether it is ticked.
func (c *cleaner) checkbox(z *html.Tokenizer, more bool) {
	box, ticked := false, "[ ] "
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "type":
			box = strings.EqualFold(string(value), "checkbox")
		case "checked":
			ticked = "[x] "
		}
	}
	if box {
		c.text(ticked, false)
	}
}

// end closes the last open element of a kind and all elements in it, if there is one.
func (c *cleaner) end(of atom.Atom) {
	if of == atom.Strike {
		of = atom.S
	}
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

// last returns the position of the last open element of the kinds, or -1.
func (c *cleaner) last(kinds ...atom.Atom) int {
	for i := len(c.open) - 1; i >= 0; i-- {
		if slices.Contains(kinds, c.open[i].Atom) {
			return i
		}
	}
	return -1
}

func (c *cleaner) closeFrom(i int) {
	for n := len(c.open) - 1; n >= i; n-- {
		if c.shows() {
			c.out.WriteString("</" + c.open[n].String() + ">")
		}
	}
	c.open = c.open[:i]
}

func (c *cleaner) shows() bool { return !c.seeking && c.skip == 0 }

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

// newLine starts a line after a block, if there is room for its tag.
func (c *cleaner) newLine() {
	if c.broke && (c.lineStart || c.tag("<br>")) {
		c.broke, c.lineStart, c.afterSpace = false, true, true
	}
}

// text adds a text with collapsed white space.
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

// attributeOf returns an attribute of the current tag, or "".
func attributeOf(z *html.Tokenizer, more bool, name string) string {
	for more {
		var key, value []byte
		if key, value, more = z.TagAttr(); string(key) == name {
			return string(value)
		}
	}
	return ""
}

// linkOf returns the address of a link, or "" if it is unsafe.
func linkOf(href string) string {
	u, err := url.Parse(strings.TrimSpace(href))
	if err == nil && (u.Scheme == "mailto" && u.Opaque != "" || (u.Scheme == "https" || u.Scheme == "http") && u.Host != "") {
		return u.String()
	}
	return ""
}
