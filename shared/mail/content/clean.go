package content

import (
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
// each closed, without attributes except the address of a link and the number of a list's item. All
// other tokens become escaped text.
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
			case atom.Span:
				c.startSpan(attributeOf(z, attributes, "style"))
			case atom.Input:
				c.box(z, attributes)
			default:
				c.start(element, z, attributes)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if string(name) == hidden {
				hidden = ""
			}
			if element := atom.Lookup(name); element == atom.Span {
				c.endSpan()
			} else {
				c.end(element)
			}
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

	blocks    int // open elements that only keep their line ends
	lost      int // open lists without a tag
	spans     []atom.Atom
	cells     int  // of the row so far
	cell      bool // in a cell
	cellStart bool // no text in the cell yet
}

type element struct {
	atom.Atom
	tag    string
	number int // of the last item of an ordered list
}

// formats are inline elements.
var formats = []atom.Atom{
	atom.A, atom.B, atom.Strong, atom.I, atom.Em, atom.U, atom.Ins, atom.Code, atom.S, atom.Del, atom.Sup, atom.Sub,
}

// meaning are the formats without which a text says something else. A comment is cut before one
// that finds no room.
var meaning = []atom.Atom{atom.S, atom.Del, atom.Sup, atom.Sub}

// Room for formats with a meaning, beyond the limits of others.
const (
	meaningDepth  = 4
	meaningMarkup = 2_000 // bytes
)

// blocks are elements that only keep their line ends.
var blocks = []atom.Atom{
	atom.Div, atom.Tr, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Summary, atom.Details, atom.Dt, atom.Dd, atom.Caption,
	atom.Figure, atom.Figcaption, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Aside, atom.Address,
}

// start opens an allowed element. It closes the elements that a browser would close there.
func (c *cleaner) start(name atom.Atom, z *html.Tokenizer, attributes bool) {
	if name == atom.Strike {
		name = atom.S
	}
	tag := "<" + name.String()
	number := 0
	inLine := slices.Contains(formats, name)
	switch {
	case slices.Contains(meaning, name):
		c.startMeaning(element{Atom: name, tag: tag + ">"})
		return
	case name == atom.Br:
		c.newLine()
		c.tag("<br>")
		c.afterSpace, c.lineStart = true, true
		return
	case slices.Contains(blocks, name) || name == atom.P && c.cell:
		if name == atom.Tr {
			c.cells, c.cell = 0, false
		}
		c.broke = c.broke || !c.cell || !c.cellStart
		if name != atom.P {
			c.blocks++
		}
		return
	case name == atom.Td || name == atom.Th:
		if c.cells++; c.cells > 1 {
			c.broke = false
			c.text(" | ", false)
		}
		c.cell, c.cellStart = true, true
		return
	case name == atom.Hr || name == atom.Table:
		c.broke, c.cells, c.cell = true, 0, false
		return
	case name == atom.P || name == atom.Blockquote || name == atom.Pre || name == atom.Ul || name == atom.Ol:
		c.end(atom.P)
		tag += ` dir="auto"`
		if first, ok := numberOf(attributeOf(z, attributes && name == atom.Ol, "start")); ok {
			number = first - 1
			tag += numbered("start", first)
		}
	case name == atom.Li && c.lost > 0:
		c.broke = true
		return
	case name == atom.Li:
		list := c.last(atom.Ul, atom.Ol)
		if c.last(atom.Li) > list {
			c.end(atom.Li)
		}
		c.end(atom.P)
		if list >= 0 {
			c.open[list].number++
			if n, ok := numberOf(attributeOf(z, attributes, "value")); ok && c.open[list].Atom == atom.Ol {
				c.open[list].number = n
				tag += numbered("value", n)
			}
		}
	case name == atom.A:
		c.end(atom.A)
		link := linkOf(attributeOf(z, attributes, "href"))
		if link == "" {
			return
		}
		tag += ` href="` + html.EscapeString(link) + `"`
	case name == atom.B || name == atom.Strong:
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
		if c.open = append(c.open, element{name, tag, number}); !inLine {
			c.broke, c.lineStart, c.afterSpace = false, true, true
		}
		return
	}
	c.broke = c.broke || !inLine
	if name == atom.Ul || name == atom.Ol {
		c.lost++
	}
}

// numberOf parses the number of an item.
func numberOf(text string) (n int, ok bool) {
	if text == "" || len(text) > len("-999999") {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func numbered(attribute string, n int) string { return " " + attribute + `="` + strconv.Itoa(n) + `"` }

// startMeaning opens a format with a meaning, or cuts the comment if there is no room.
func (c *cleaner) startMeaning(e element) {
	c.newLine()
	if len(c.open) >= maxDepth+meaningDepth {
		c.window.end(true)
		return
	}
	if c.left += meaningMarkup; !c.tag(e.tag) {
		c.window.end(true)
	} else {
		c.open = append(c.open, e)
	}
	c.left -= meaningMarkup
}

// startSpan opens the format that a style stands for, as in pastes from Google Docs.
func (c *cleaner) startSpan(style string) {
	var name atom.Atom
	switch style = strings.ReplaceAll(style, " ", ""); {
	case strings.Contains(style, "line-through"):
		name = atom.S
	case strings.Contains(style, "vertical-align:super"):
		name = atom.Sup
	case strings.Contains(style, "vertical-align:sub"):
		name = atom.Sub
	}
	c.spans = append(c.spans, name)
	if name != 0 {
		c.startMeaning(element{Atom: name, tag: "<" + name.String() + ">"})
	}
}

func (c *cleaner) endSpan() {
	if n := len(c.spans) - 1; n >= 0 {
		if c.spans[n] != 0 {
			c.end(c.spans[n])
		}
		c.spans = c.spans[:n]
	}
}

// Signs of boxes to tick. In clean HTML they are in a span, which textOf reads.
const ticked, unticked = "☑", "☐"

// box shows a box to tick.
func (c *cleaner) box(z *html.Tokenizer, more bool) {
	sign, checked := unticked, false
	for more {
		var key, value []byte
		switch key, value, more = z.TagAttr(); string(key) {
		case "type":
			checked = strings.EqualFold(string(value), "checkbox")
		case "checked":
			sign = ticked
		}
	}
	if !checked {
		return
	}
	c.newLine()
	shown := c.shows() && c.tag("<span>")
	c.text(sign, false)
	if shown {
		c.out.WriteString("</span>")
	}
	if !c.done {
		c.text(" ", false)
	}
}

// end closes the last open element of a kind and all elements in it, if there is one.
func (c *cleaner) end(name atom.Atom) {
	switch {
	case name == atom.Strike:
		name = atom.S
	case c.lost > 0 && (name == atom.Ul || name == atom.Ol):
		c.lost--
		c.broke = true
		return
	case c.lost > 0 && name == atom.Li:
		return
	case name == atom.P && c.cell:
		c.broke = !c.cellStart
		return
	case name == atom.Table:
		c.broke, c.cells, c.cell = true, 0, false
	}
	if slices.Contains(blocks, name) && c.blocks > 0 {
		c.blocks--
		c.broke = true
	}
	if i := c.last(name); i >= 0 {
		further := collab.Where(c.open[i+1:], func(e element) bool { return slices.Contains(meaning, e.Atom) })
		c.closeFrom(i)
		if !slices.Contains(formats, name) {
			c.lineStart, c.afterSpace = true, true
		}
		for _, e := range further { // a browser continues them
			c.startMeaning(e)
		}
	} else if c.left <= 0 && !slices.Contains(formats, name) {
		c.broke = true
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

// reopen writes the tags of the open elements. An ordered list continues its numbers.
func (c *cleaner) reopen() {
	for i, e := range c.open {
		tag := e.tag
		if e.Atom == atom.Ol {
			first := e.number + 1
			if i+1 < len(c.open) && c.open[i+1].Atom == atom.Li {
				first--
			}
			tag = `<ol dir="auto"` + numbered("start", first) + ">"
		}
		c.out.WriteString(tag)
	}
}

// tag writes a tag if there is room for it and its end tag.
func (c *cleaner) tag(tag string) bool {
	if !c.shows() {
		return true
	}
	n := len(tag) + len("</blockquote>")
	if n > c.left {
		c.left = min(c.left, 0)
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
	c.broke, c.lineStart, c.cellStart, c.afterSpace = false, false, false, strings.HasSuffix(text, " ")
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
