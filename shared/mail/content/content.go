// Package content converts comments to text and clean HTML, with names in place of tags.
package content

import (
	"cmp"
	"encoding/json"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"collabdata/shared/collab"
)

// Limits of a comment.
const (
	MaxShown = 2_000 // characters of text, unless a Reader has another number
	MaxName  = 150   // characters of a name

	maxSource = 256 << 10 // bytes of source text or HTML
	maxLead   = 400       // characters before a mention that would otherwise be cut off
)

// Shown is a comment as its readers see it: its HTML, if that has a text, else its text.
type Shown struct {
	Text  string // the text form of HTML, or a plain text; "" for none
	HTML  string // clean; "" for a comment with only text
	Files string // a line with the names of its files; "" for none
	Cut   bool   // "…" replaces the missing end
}

// Body returns the text and the line of files.
func (s Shown) Body() string { return strings.TrimLeft(s.Text+"\n"+s.Files, "\n") }

// Of returns a comment for a reader: its first characters, or those around the first mention of the
// reader if that comes later.
func Of(c *collab.Comment, to Reader) (shown Shown) {
	t := tagsOf(c.TaggedUserContacts, to)
	shown.Files = files(c.Attachments, to)
	if sent := collab.Deref(c.HTML); sent != "" {
		shown.HTML, shown.Cut = clean(sent, t)
		text := strings.Trim(printable(textOf(shown.HTML)), "\n") // with line ends and addresses of links
		shown.Text = collab.Shorten(text, 2*t.limit)
		shown.Cut = shown.Cut || shown.Text != text
	}
	if sent := collab.Deref(c.Text); sent != "" && shown.Text == "" {
		shown.HTML = ""
		shown.Text, shown.Cut = t.shorten(sent)
	}
	return shown
}

// Limits of the line of files.
const (
	maxFiles    = 3
	maxFileName = 60 // characters
)

// files returns a line with the names of the first files, "" for none.
func files(attachments collab.JSON, to Reader) string {
	var list []struct {
		Name string `json:"name"`
	}
	if len(attachments) == 0 || json.Unmarshal(attachments, &list) != nil || len(list) == 0 {
		return ""
	}
	var names []string
	for _, f := range list[:min(len(list), maxFiles)] {
		names = append(names, collab.Isolate(cmp.Or(fileName(f.Name), to.Text("file"))))
	}
	shown := strings.Join(names, ", ")
	if more := len(list) - len(names); more > 0 {
		return to.Count("filesMore", more, "files", shown)
	}
	return to.Text("files", "files", shown)
}

// fileName returns the name of a file with its extension, without characters that change the
// direction of text.
func fileName(name string) string {
	name = Line(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, collab.Cut(name, maxPiece)))
	extension := path.Ext(name)
	if utf8.RuneCountInString(extension) > maxFileName/4 {
		extension = ""
	}
	return collab.Shorten(strings.TrimSuffix(name, extension), maxFileName-utf8.RuneCountInString(extension)) + extension
}

// Suggestion is a suggested change as its readers see it. Each text is "" if there is none.
type Suggestion struct {
	Old, New, Reason string
	Unknown          bool // there is no new text, not even an empty one, so no old one is shown
}

const maxSuggested = 500 // characters of a text of a suggestion

// SuggestionOf returns the suggestion of a thread, nil if the thread is none or there is nothing to
// show.
func SuggestionOf(head *collab.Annotation) *Suggestion {
	s := head.Suggested()
	if s == nil {
		return nil
	}
	shown := &Suggestion{New: valueOf(s.NewValue), Unknown: s.NewValue == nil}
	if !shown.Unknown {
		shown.Old = cmp.Or(valueOf(s.OldValue), Lines(head.TargetText()))
	}
	if s.Status == collab.SuggestionIsRejected {
		shown.Reason = valueOf(s.RejectReason)
	}
	if *shown == (Suggestion{Unknown: true}) {
		return nil
	}
	return shown
}

// valueOf returns a value as text: texts unchanged, others as JSON.
func valueOf(value collab.JSON) string {
	var text string
	if len(value) > 0 && json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return collab.Shorten(Lines(collab.Cut(text, maxPiece)), maxSuggested)
}

// body returns the suggestion as lines of text.
func (s *Suggestion) body(to Reader) string {
	var lines []string
	if s.Old != "" {
		lines = append(lines, to.Text("oldText")+" "+s.Old)
	}
	if !s.Unknown {
		lines = append(lines, to.Text("newText")+" "+cmp.Or(s.New, to.Text("withoutText")))
	}
	if s.Reason != "" {
		lines = append(lines, to.Text("rejectReason")+" "+s.Reason)
	}
	return strings.Join(lines, "\n")
}

// Author returns the name of a comment's author for a reader, with that of the agent with which the
// author wrote it, or "". An author without a name has that of the agent.
func Author(c *collab.Comment, to Reader) string {
	author := collab.UserOf(c.From)
	if author.UserID == "" {
		return ""
	}
	name, agent := to.name(author), lineOf(c.Agent.Text("agentName"))
	switch {
	case agent == "" || agent == name:
		return name
	case to.Names[author.UserID] == "" && collab.Deref(author.Name) == "":
		return agent
	}
	return to.Text("withAgent", "name", name, "agent", collab.Isolate(agent))
}

// collapse replaces consecutive white space by a space.
func collapse(text string) string {
	var b strings.Builder
	space := false
	for _, r := range text {
		if before := space; strings.ContainsRune(" \t\n\r\f", r) {
			if space = true; before {
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

// tags are the users and groups that a comment tags.
type tags struct {
	names   map[string]string // by id
	own     []string          // the reader's ids
	picture string            // replacement of a picture
	limit   int               // characters to show
}

// tagsOf reads the tags of a comment for a reader.
func tagsOf(taggedUserContacts collab.JSON, to Reader) tags {
	list := collab.Tags(taggedUserContacts)
	t := tags{names: make(map[string]string, len(list)), picture: to.Text("picture"), limit: cmp.Or(to.Most, MaxShown)}
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
	if len(t.own) > 0 && size > t.limit-maxLead {
		fill(seek)
	}
	w := &window{left: t.limit, mention: -1}
	if seek.mention > t.limit-maxLead {
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
