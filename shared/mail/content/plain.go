package content

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// textOf returns the text form of cleaned HTML. Signs keep the meaning of its formats:
//
//	~~struck out~~ 10^6 x_1 1. - [x] [ ]
//
// Paragraphs and items are on separate lines, items of inner lists are indented, and addresses
// follow links.
func textOf(clean string) string {
	var w plain
	link := ""
	z := html.NewTokenizer(strings.NewReader(clean))
	for {
		kind := z.Next()
		switch token := z.Token(); kind {
		case html.ErrorToken:
			return strings.TrimRight(string(w.out), " \n")
		case html.TextToken:
			w.text(token.Data)
		case html.StartTagToken, html.SelfClosingTagToken:
			switch tag := token.DataAtom; tag {
			case atom.Span:
				w.box = true
			case atom.A:
				link = attribute(token, "href")
			default:
				w.start(token)
			}
		case html.EndTagToken:
			switch tag := token.DataAtom; tag {
			case atom.Span:
				w.box = false
			case atom.A:
				if link != "" && !bytes.HasSuffix(w.out, []byte(link)) {
					w.text(" (" + link + ")")
				}
				link = ""
			default:
				w.end(tag)
			}
		}
	}
}

func attribute(token html.Token, name string) string {
	for _, a := range token.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// plain writes the text form.
type plain struct {
	out    []byte
	breaks int    // line ends before the next text
	lists  []list // open ones, outermost first
	marker bool   // the next text begins an item without a list

	pre   int  // open elements with their own white space
	fresh bool // the next text begins such an element
	box   bool // the next text is the sign of a box to tick

	signs []sign // open ones, outermost first
	ended sign   // the last superscript or subscript, if no text followed
	apart bool   // a letter that follows needs a space
}

type list struct {
	ordered bool
	number  int
	marker  bool // the next text begins an item
}

// sign is a format that a sign stands for, and where its text is.
type sign struct {
	atom.Atom
	begin, end int // begin is -1 if there is no text yet
}

func (w *plain) start(token html.Token) {
	switch tag := token.DataAtom; tag {
	case atom.Br:
		w.breaks++
	case atom.P, atom.Blockquote:
		w.breakLine()
	case atom.Pre:
		w.breakLine()
		w.pre, w.fresh = w.pre+1, true
	case atom.Ul, atom.Ol:
		if len(w.lists) == 0 {
			w.breakLine()
		}
		first, err := strconv.Atoi(attribute(token, "start"))
		if err != nil {
			first = 1
		}
		w.lists = append(w.lists, list{ordered: tag == atom.Ol, number: first - 1})
	case atom.Li:
		w.breaks = max(w.breaks, 1)
		if n := len(w.lists) - 1; n < 0 {
			w.marker = true
		} else {
			w.lists[n].number++
			w.lists[n].marker = true
			if number, err := strconv.Atoi(attribute(token, "value")); err == nil {
				w.lists[n].number = number
			}
		}
	case atom.Del, atom.S, atom.Sup, atom.Sub:
		w.signs = append(w.signs, sign{tag, -1, -1})
	}
}

// breakLine ends the line, except after the marker of an item.
func (w *plain) breakLine() {
	if n := len(w.lists) - 1; n < 0 && !w.marker || n >= 0 && !w.lists[n].marker {
		w.breaks++
	}
}

func (w *plain) end(tag atom.Atom) {
	switch tag {
	case atom.P, atom.Blockquote:
		w.breaks++
	case atom.Pre:
		w.breaks++
		w.pre--
	case atom.Ul, atom.Ol:
		if n := len(w.lists) - 1; n >= 0 {
			w.lists = w.lists[:n]
			w.breaks = max(w.breaks, 1)
		}
	case atom.Del, atom.S, atom.Sup, atom.Sub:
		if n := len(w.signs) - 1; n >= 0 {
			ended := w.signs[n]
			w.signs = w.signs[:n]
			w.mark(ended)
		}
	}
}

// text adds the text of a token.
func (w *plain) text(text string) {
	if w.box {
		text = strings.NewReplacer(ticked, "[x]", unticked, "[ ]").Replace(text)
	}
	if w.pre == 0 {
		w.line(collapse(text))
		return
	}
	if w.fresh {
		text, w.fresh = strings.TrimPrefix(text, "\n"), false
	}
	for i, l := range strings.Split(text, "\n") {
		if i > 0 {
			w.breaks++
		}
		w.line(l)
	}
}

// line adds a text without line ends.
func (w *plain) line(text string) {
	if w.breaks > 0 || len(w.out) == 0 || w.marker {
		if w.pre == 0 {
			text = strings.TrimLeft(text, " ")
		}
		if strings.TrimSpace(text) == "" && w.pre == 0 || text == "" {
			return
		}
		w.newLine()
	}
	if text == "" {
		return
	}
	first, _ := utf8.DecodeRuneInString(text)
	opens := len(w.signs) > 0 && w.signs[len(w.signs)-1].begin < 0
	switch {
	case !wordy(first):
	case w.apart:
		w.out = append(w.out, ' ')
	case w.ended.Atom != 0 && !opens:
		w.enclose()
	}
	w.apart, w.ended = false, sign{}
	if trimmed := strings.TrimLeft(text, " "); trimmed != "" {
		for i := len(w.signs) - 1; i >= 0 && w.signs[i].begin < 0; i-- {
			w.signs[i].begin = len(w.out) + len(text) - len(trimmed)
		}
	}
	w.out = append(w.out, text...)
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// mark adds the signs of a format that ended.
func (w *plain) mark(s sign) {
	s.end = len(bytes.TrimRight(w.out, " "))
	if s.begin < 0 || s.begin >= s.end {
		return
	}
	clear := !bytes.ContainsFunc(bytes.TrimLeft(w.out[s.begin:s.end], "+-−"), func(r rune) bool { return !wordy(r) })
	if s.Atom == atom.Sup || s.Atom == atom.Sub {
		mark := "^"
		if s.Atom == atom.Sub {
			mark = "_"
		}
		w.out = slices.Insert(w.out, s.begin, mark[0])
		s.begin, s.end = s.begin+1, s.end+1
		if w.ended = s; !clear {
			w.enclose()
		} else if s.end < len(w.out) {
			w.ended = sign{}
		}
		return
	}
	if slices.ContainsFunc(w.signs, func(outer sign) bool { return outer.Atom == atom.Del || outer.Atom == atom.S }) {
		return
	}
	w.apart = s.end == len(w.out)
	w.out = slices.Insert(w.out, s.end, '~', '~')
	before := "~~"
	if last, _ := utf8.DecodeLastRune(w.out[:s.begin]); wordy(last) || last == '~' {
		before = " ~~"
	}
	w.out = slices.Insert(w.out, s.begin, []byte(before)...)
}

// enclose puts the text of the last superscript or subscript in parentheses, so that its end is
// clear.
func (w *plain) enclose() {
	w.out = slices.Insert(w.out, w.ended.end, ')')
	w.out = slices.Insert(w.out, w.ended.begin, '(')
	w.ended = sign{}
}

// newLine writes the due line ends, at most two, and the indentation or marker of an item.
func (w *plain) newLine() {
	w.out = bytes.TrimRight(w.out, " ")
	written := len(w.out) - len(bytes.TrimRight(w.out, "\n"))
	for range min(w.breaks, 2-written) {
		if len(w.out) > 0 {
			w.out = append(w.out, '\n')
		}
	}
	if w.marker {
		w.out = append(w.out, "- "...)
	}
	for i := range w.lists {
		l := &w.lists[i]
		mark := "- "
		if l.ordered {
			mark = strconv.Itoa(l.number) + ". "
		}
		if !l.marker {
			mark = strings.Repeat(" ", len(mark))
		}
		l.marker = false
		w.out = append(w.out, mark...)
	}
	w.breaks, w.marker, w.apart, w.ended = 0, false, false, sign{}
}
