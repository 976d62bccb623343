// Package content makes what people read of a comment: text, and clean HTML, in which tags have become names.
package content

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode"

	"collabdata/shared/collab"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The parts of a comment that are read and shown, in bytes.
const (
	MaxText = 4_000 // of its text, of its HTML, and of what either becomes
	MaxName = 200   // of a name

	maxExcerpt = 1_000
)

// Excerpt is what a notification shows of a comment: the beginning of its text.
func Excerpt(c *collab.Comment) string {
	text, _ := Of(c)
	if len(text) > maxExcerpt {
		text = collab.Cut(text, maxExcerpt) + "…"
	}
	return text
}

// Of renders a comment. text has no markup, "" where there is none; html is clean, "" where there is text alone.
func Of(c *collab.Comment) (text, html string) {
	names := taggedNames(c.TaggedUserContacts)
	if sent := collab.Deref(c.HTML); sent != "" {
		html = clean(collab.Cut(sent, MaxText), names)
		text = Lines(textOf(html))
	}
	if sent := collab.Deref(c.Text); sent != "" {
		text = Lines(names.in(collab.Cut(sent, MaxText)))
	}
	return text, html
}

// Author is how people read who wrote a comment.
func Author(c *collab.Comment) string {
	var author collab.User
	if len(c.From) == 0 || json.Unmarshal(c.From, &author) != nil {
		return ""
	}
	return nameOf(author)
}

// textOf returns the text of cleaned HTML: paragraphs and items on lines of their own, links followed by where they lead.
func textOf(clean string) string {
	var b strings.Builder
	var link string
	pre := 0
	z := html.NewTokenizer(strings.NewReader(clean))
	for {
		kind := z.Next()
		switch token := z.Token(); kind {
		case html.ErrorToken:
			return squeeze(b.String())
		case html.TextToken:
			if pre == 0 {
				b.WriteString(collapse(token.Data))
			} else {
				b.WriteString(token.Data)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			switch token.DataAtom {
			case atom.Br, atom.P, atom.Blockquote, atom.Ul, atom.Ol:
				b.WriteByte('\n')
			case atom.Li:
				b.WriteString("\n- ")
			case atom.Pre:
				b.WriteByte('\n')
				pre++
			case atom.A:
				for _, a := range token.Attr {
					link = a.Val
				}
			}
		case html.EndTagToken:
			switch token.DataAtom {
			case atom.P, atom.Blockquote, atom.Ul, atom.Ol:
				b.WriteByte('\n')
			case atom.Pre:
				b.WriteByte('\n')
				pre--
			case atom.A:
				if link != "" && !strings.HasSuffix(b.String(), link) {
					b.WriteString(" (" + link + ")")
				}
				link = ""
			}
		}
	}
}

// collapse makes one space of all white space in a row, as HTML shows it.
func collapse(text string) string {
	inner := strings.Join(strings.Fields(text), " ")
	if inner == "" && text != "" {
		return " "
	}
	if strings.TrimLeft(text, " \t\n\r\f") != text {
		inner = " " + inner
	}
	if strings.TrimRight(text, " \t\n\r\f") != text {
		inner += " "
	}
	return inner
}

// squeeze drops the space at line ends and all but one of empty lines in a row.
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

// tagged are the names of the users whom a comment tags, by user id.
type tagged map[string]string

// taggedNames reads the tags of a comment.
func taggedNames(taggedUserContacts collab.JSON) tagged {
	tags := collab.Tags(taggedUserContacts)
	names := make(tagged, len(tags))
	for _, tag := range tags {
		if tag.GroupID != "" {
			names[tag.GroupID] = Line(collab.Cut(cmp.Or(tag.Text, tag.GroupID), MaxName))
			continue
		}
		user := collab.User{UserID: tag.UserID}
		if tag.Contact != nil {
			user.Name = tag.Contact.Name
		}
		names[tag.UserID] = nameOf(user)
	}
	return names
}

// in returns a text with names in the place of its tokens `{{userId}}`, at most MaxText bytes. A name that looks like a token stays.
func (names tagged) in(text string) string {
	b := collab.NewBounded(MaxText)
	for !b.Full() {
		before, after, found := strings.Cut(text, "{{")
		id, rest, closed := strings.Cut(after, "}}")
		if !found || !closed {
			b.WriteString(text)
			break
		}
		b.WriteString(before)
		if name, ok := names[id]; ok {
			b.WriteString(name)
			text = rest
		} else {
			b.WriteString("{")
			text = text[len(before)+1:]
		}
	}
	return b.String()
}

// nameOf is how a mail calls a user.
func nameOf(u collab.User) string { return Line(collab.Cut(u.DisplayName(), MaxName)) }

// Line makes a text one line, without control characters, which nothing shows.
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
