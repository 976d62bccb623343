// Package content converts comments to text and clean HTML, with names in place of tags.
package content

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"collabdata/shared/collab"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of a comment.
const (
	MaxShown = 2_000 // characters of text
	MaxName  = 150   // characters of a name

	maxSource = 256 << 10 // bytes of source text or HTML
	maxLead   = 400       // characters before a mention that would otherwise be cut off
)

// Shown is a comment as its readers see it.
type Shown struct {
	Text string // without markup; "" for none
	HTML string // clean; "" for a comment with only text
	Cut  bool   // "…" replaces the missing end
}

// Of returns a comment for a reader: its first MaxShown characters, or those around the first
// mention of the reader if that comes later. Then come the names of its files. The text of a
// comment with HTML is that of the HTML, because other readers see it.
func Of(c *collab.Comment, to Reader) (shown Shown) {
	t := tagsOf(c.TaggedUserContacts, to)
	if sent := collab.Deref(c.HTML); sent != "" {
		shown.HTML, shown.Cut = clean(sent, t)
		text := Lines(textOf(shown.HTML)) // with line ends and addresses of links
		shown.Text = collab.Shorten(text, 2*MaxShown)
		shown.Cut = shown.Cut || shown.Text != text
	}
	if sent := collab.Deref(c.Text); sent != "" && shown.Text == "" {
		shown.Text, shown.Cut = t.shorten(sent)
	}
	if files := filesOf(c.Attachments); files != "" {
		shown.Text = strings.TrimSpace(shown.Text + "\n" + files)
		if shown.HTML != "" {
			shown.HTML += `<p dir="auto">` + html.EscapeString(files) + "</p>"
		}
	}
	return shown
}

// Limits of the line with a comment's files.
const (
	shownFiles  = 3
	maxFileName = 80 // characters
)

// filesOf returns the names of a comment's attachments in a line, "" if there are none. It counts
// those beyond shownFiles.
func filesOf(attachments collab.JSON) string {
	var list []struct{ Name string }
	if len(attachments) == 0 || json.Unmarshal(attachments, &list) != nil || len(list) == 0 {
		return ""
	}
	var names []string
	for i, a := range list {
		if i == shownFiles {
			names = append(names, fmt.Sprintf("+%d", len(list)-i))
			break
		}
		name := strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Bidi_Control, r) {
				return -1 // it can hide the end of the name
			}
			return r
		}, lineOf(a.Name))
		names = append(names, cmp.Or(collab.Shorten(name, maxFileName), "…"))
	}
	return "📎 " + strings.Join(names, ", ")
}

// Author returns the name of a comment's author for a reader, or "".
func Author(c *collab.Comment, to Reader) string {
	var author collab.User
	if len(c.From) == 0 || json.Unmarshal(c.From, &author) != nil {
		return ""
	}
	return to.name(author)
}

// textOf returns the text of cleaned HTML, with paragraphs and items on separate lines, and
// addresses after links. Signs stand for formats that change the meaning: ~~struck out~~, 10^6 and
// x_1, and the numbers of items.
func textOf(clean string) string {
	w := texter{}
	z := html.NewTokenizer(strings.NewReader(clean))
	for {
		kind := z.Next()
		switch token := z.Token(); kind {
		case html.ErrorToken:
			return squeeze(string(w.text))
		case html.TextToken:
			w.write(token.Data)
		case html.StartTagToken, html.SelfClosingTagToken:
			w.start(token)
		case html.EndTagToken:
			w.end(token.DataAtom)
		}
	}
}

// texter writes the text of cleaned HTML.
type texter struct {
	text   []byte
	link   string
	pre    int
	lists  []int // numbers of the next items of the open lists, 0 without numbers
	raised []int // positions of open superscripts and subscripts
	apart  bool  // the next text is not part of the word before
}

func (w *texter) write(text string) {
	if w.pre == 0 {
		text = collapse(text)
	}
	if first, _ := utf8.DecodeRuneInString(text); w.apart && inWord(first) {
		w.text = append(w.text, ' ')
	}
	if text != "" {
		w.apart = false
	}
	w.text = append(w.text, text...)
}

func (w *texter) start(token html.Token) {
	switch token.DataAtom {
	case atom.Br, atom.P, atom.Blockquote:
		w.text = append(w.text, '\n')
	case atom.Ul, atom.Ol:
		w.text = append(w.text, '\n')
		first := 0
		if token.DataAtom == atom.Ol {
			first = 1
			for _, a := range token.Attr {
				if n, err := strconv.Atoi(a.Val); a.Key == "start" && err == nil {
					first = n
				}
			}
		}
		w.lists = append(w.lists, first)
	case atom.Li:
		depth := max(len(w.lists)-1, 0)
		w.text = append(w.text, "\n"+strings.Repeat("  ", depth)...)
		if len(w.lists) == 0 || w.lists[depth] == 0 {
			w.text = append(w.text, "- "...)
			return
		}
		w.text = fmt.Appendf(w.text, "%d. ", w.lists[depth])
		w.lists[depth]++
	case atom.Pre:
		w.text = append(w.text, '\n')
		w.pre++
	case atom.Del, atom.S:
		if last, _ := utf8.DecodeLastRune(w.text); inWord(last) {
			w.text = append(w.text, ' ')
		}
		w.text, w.apart = append(w.text, "~~"...), false
	case atom.Sup, atom.Sub:
		w.raised = append(w.raised, len(w.text))
	case atom.A:
		for _, a := range token.Attr {
			w.link = a.Val
		}
	}
}

func (w *texter) end(of atom.Atom) {
	switch of {
	case atom.P, atom.Blockquote:
		w.text = append(w.text, '\n')
	case atom.Ul, atom.Ol:
		w.text = append(w.text, '\n')
		w.lists = w.lists[:max(len(w.lists)-1, 0)]
	case atom.Pre:
		w.text = append(w.text, '\n')
		w.pre--
	case atom.Del, atom.S:
		w.text, w.apart = append(w.text, "~~"...), true
	case atom.Sup, atom.Sub:
		if len(w.raised) > 0 {
			w.raise(of)
		}
	case atom.A:
		if w.link != "" && !strings.HasSuffix(string(w.text), w.link) {
			w.text = append(w.text, " ("+w.link+")"...)
		}
		w.link = ""
	}
}

// raise ends a superscript or subscript: ^6, or ^(n+1) if it is more than a word.
func (w *texter) raise(of atom.Atom) {
	from := w.raised[len(w.raised)-1]
	w.raised = w.raised[:len(w.raised)-1]
	inner := string(w.text[from:])
	if inner == "" {
		return
	}
	if strings.ContainsFunc(inner, func(r rune) bool { return !inWord(r) }) {
		inner = "(" + inner + ")"
	}
	sign := "^"
	if of == atom.Sub {
		sign = "_"
	}
	w.text, w.apart = append(w.text[:from], sign+inner...), true
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// collapse replaces consecutive white space by a space.
func collapse(text string) string {
	var b strings.Builder
	space := false
	for _, r := range text {
		if was := space; strings.ContainsRune(" \t\n\r\f", r) {
			if space = true; was {
				continue
			}
			r = ' '
		} else {
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// squeeze drops spaces at line ends and repeated empty lines.
func squeeze(text string) string {
	var kept []string
	for l := range strings.SplitSeq(text, "\n") {
		l = strings.TrimRight(l, " ")
		if l != "" || len(kept) > 0 && kept[len(kept)-1] != "" {
			kept = append(kept, l)
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// tags are the users and groups that a comment tags.
type tags struct {
	names   map[string]string // by id
	own     []string          // the reader's ids
	picture string            // replacement of a picture
}

// tagsOf reads the tags of a comment for a reader.
func tagsOf(taggedUserContacts collab.JSON, to Reader) tags {
	list := collab.Tags(taggedUserContacts)
	t := tags{names: make(map[string]string, len(list)), picture: to.Text("picture")}
	var groups []string
	for _, tag := range list {
		if tag.GroupID != "" {
			t.names[tag.GroupID] = lineOf(cmp.Or(tag.Text, tag.GroupID))
			groups = append(groups, tag.GroupID)
			continue
		}
		user := collab.User{UserID: tag.UserID}
		if tag.Contact != nil {
			user.Name = tag.Contact.Name
		}
		if t.names[tag.UserID] = to.name(user); tag.UserID == to.UserID {
			t.own = []string{tag.UserID}
		}
	}
	if t.own == nil && to.Mentioned {
		t.own = groups
	}
	return t
}

// maxPiece limits the bytes of a piece of text, to save work on hidden text.
const maxPiece = 4_000

// pieces yields a text in pieces: the original text, and "@" with a name for each token
// `{{userId}}`, with the id. A name that looks like a token is unchanged.
func (t tags) pieces(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		written := func(text string) bool {
			for text != "" {
				piece := collab.Cut(text, maxPiece)
				if text = text[len(piece):]; !yield(piece, "") {
					return false
				}
			}
			return true
		}
		begin, closing := 0, -1 // start of the remaining text, and the first "}}" after the token
		for at := 0; len(t.names) > 0; {
			i := strings.Index(text[at:], "{{")
			if i < 0 {
				break
			}
			i += at
			if closing < i+len("{{") {
				if closing = strings.Index(text[i+len("{{"):], "}}"); closing < 0 {
					break
				}
				closing += i + len("{{")
			}
			at = i + 1
			id := text[i+len("{{") : closing]
			if len(id) > collab.MaxID {
				continue
			}
			name, ok := t.names[id]
			if !ok {
				continue
			}
			if name = collab.Isolate(name); !strings.HasSuffix(text[:i], "@") {
				name = "@" + name
			}
			if !written(text[begin:i]) || !yield(name, id) {
				return
			}
			begin = closing + len("}}")
			at = begin
		}
		written(text[begin:])
	}
}

// shorten shortens a plain text, and reports whether its end is missing.
func (t tags) shorten(sent string) (text string, cut bool) {
	source := collab.Cut(sent, maxSource)
	w := t.shown(len(source), func(w *window) {
		for piece, id := range t.pieces(source) {
			if w.add(printable(piece), slices.Contains(t.own, id)); w.done {
				return
			}
		}
		w.end(len(source) < len(sent))
	})
	return strings.TrimSpace(w.out.String()), w.cut
}

// shown returns the visible window of a text. fill adds text to a window until the window is done.
// If the text has more than size bytes before the reader's mention, shown looks for the mention
// first.
func (t tags) shown(size int, fill func(*window)) *window {
	seek := &window{mention: -1, seeking: true}
	if len(t.own) > 0 && size > MaxShown-maxLead {
		fill(seek)
	}
	w := &window{left: MaxShown, mention: -1}
	if seek.mention > MaxShown-maxLead {
		w.skip = seek.mention - maxLead
	}
	fill(w)
	return w
}

// window collects the visible characters of a text.
type window struct {
	out     strings.Builder
	seeking bool   // only looks for the mention
	mention int    // characters before the reader's mention; -1 for none
	count   int    // characters read so far
	skip    int    // characters to skip
	left    int    // characters to show
	begin   func() // called before the first shown character after skipped ones
	escape  func(string) string
	done    bool // nothing more is shown
	cut     bool // more text followed
}

// add adds a text. own marks a mention of the reader.
func (w *window) add(text string, own bool) {
	n := utf8.RuneCountInString(text)
	if w.seeking {
		if own {
			w.mention, w.done = w.count, true
		}
		w.count += n
		return
	}
	if w.skip > 0 {
		if n < w.skip {
			w.skip -= n
			return
		}
		text = strings.TrimLeftFunc(afterWord(text[len(collab.CutCharacters(text, w.skip)):]), unicode.IsSpace)
		w.skip = 0
		if w.begin != nil {
			w.begin()
		}
		w.write("… ")
	}
	shown := collab.CutCharacters(text, w.left)
	w.left -= utf8.RuneCountInString(shown)
	w.write(shown)
	w.end(len(shown) < len(text) && strings.TrimSpace(text) != "")
}

// afterWord removes the partial word at the start of a text.
func afterWord(text string) string {
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 && i < maxLead/4 {
		return text[i:]
	}
	return text
}

// end ends the window. more means that the text continues.
func (w *window) end(more bool) {
	if more && !w.cut && !w.seeking {
		w.write("…")
		w.cut = true
	}
	w.done = w.done || more
}

func (w *window) write(text string) {
	if w.escape != nil {
		text = w.escape(text)
	}
	w.out.WriteString(text)
}

func nameOf(u collab.User) string { return lineOf(u.DisplayName()) }

func lineOf(name string) string {
	return collab.Shorten(Line(name), MaxName)
}

// Line returns a text as one line without control characters.
func Line(text string) string { return strings.Join(strings.Fields(Lines(text)), " ") }

// Lines is Line, but keeps line ends.
func Lines(text string) string { return strings.TrimSpace(printable(text)) }

func printable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
}
