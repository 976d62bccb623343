package mail

import (
	"encoding/json"
	"strings"

	"collabdata/shared/collab"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// newPolicy returns what a comment's HTML may have in a mail: the forms of text, and links. No images, as they would tell their server who
// reads; no styles and classes, as they could cover the rest of the mail.
func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "b", "strong", "i", "em", "u", "s", "del", "code", "pre", "blockquote", "ul", "ol", "li")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	return p
}

// clean returns the part of a comment's HTML that the policy allows, with every element closed: the cleaner alone would let through an end
// tag that ends an element of the mail. HTML that can't be parsed, as it is nested too deeply, is shown as text.
func (t templates) clean(text string) string {
	nodes, err := html.ParseFragment(strings.NewReader(text), &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div})
	if err != nil {
		return html.EscapeString(text)
	}
	var whole strings.Builder
	for _, node := range nodes {
		if err := html.Render(&whole, node); err != nil {
			return html.EscapeString(text)
		}
	}
	return strings.TrimSpace(t.policy.Sanitize(whole.String()))
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

// tagged are the users whom a comment tags.
type tagged []collab.User

// taggedNames reads the tags of a comment.
func taggedNames(taggedUserContacts collab.JSON) tagged {
	var tags []struct {
		UserID  string       `json:"userId"`
		Contact *collab.User `json:"contact"`
	}
	if len(taggedUserContacts) == 0 || json.Unmarshal(taggedUserContacts, &tags) != nil {
		return nil
	}
	var users tagged
	for _, tag := range tags {
		user := collab.User{UserID: tag.UserID}
		if tag.Contact != nil {
			user.Name, user.Email = tag.Contact.Name, tag.Contact.Email
		}
		users = append(users, user)
	}
	return users
}

// inText replaces the tokens `{{userId}}` by names, once: a name that looks like a token stays.
func (users tagged) inText(text string) string {
	var pairs []string
	for _, u := range users {
		pairs = append(pairs, "{{"+u.UserID+"}}", u.DisplayName())
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// inHTML does the same in HTML, where an id may be written with entities and a name must be.
func (users tagged) inHTML(text string) string {
	var pairs []string
	for _, u := range users {
		name := html.EscapeString(u.DisplayName())
		pairs = append(pairs, "{{"+u.UserID+"}}", name, "{{"+html.EscapeString(u.UserID)+"}}", name)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
