package collab

import (
	"cmp"
	"encoding/json"
	"iter"
	"strings"
)

// Names that every headline template knows.
const (
	ActionUser    = "actionUser"
	RecipientUser = "recipientUser"
)

// MaxHeadline is the maximum size of a headline, in bytes.
const MaxHeadline = 1_000

const maxTemplate = 4 * MaxHeadline

// Headline is a notification's headline with its values, except the recipient's name.
type Headline struct {
	parts []string // separated by the recipient's name
}

// RenderHeadline puts values into the notification's template. By default, `{actionUser}` is the
// acting user and `{recipientUser}` the recipient. A name without a value is unchanged, with its
// braces; values are not expanded. Time and memory depend on the sizes of template and data, not on
// repeats of a name.
func (n *Notification) RenderHeadline() Headline {
	var (
		parts []string
		part  strings.Builder
		left  = MaxHeadline
		texts = map[string]string{} // texts of used values, or the variables themselves
	)
	for piece, variable := range pieces(Cut(n.Headline, maxTemplate)) {
		if variable {
			text, ok := texts[piece]
			if !ok {
				text, ok = n.value(piece[1 : len(piece)-1])
				if !ok && piece == "{"+RecipientUser+"}" {
					parts = append(parts, part.String())
					part.Reset()
					continue
				}
				if !ok {
					text = piece
				}
				texts[piece] = text
			}
			piece = text
		}
		fitting := Cut(piece, left)
		part.WriteString(fitting)
		if left -= len(fitting); left == 0 || len(fitting) < len(piece) {
			break
		}
	}
	return Headline{append(parts, part.String())}
}

// For returns the headline for a recipient, as plain text of at most MaxHeadline bytes.
func (h Headline) For(recipient User) string {
	b := newShortText(MaxHeadline)
	for i, part := range h.parts {
		if i > 0 {
			b.WriteString(Isolate(recipient.DisplayName()))
		}
		b.WriteString(part)
	}
	return b.String()
}

// BodyFor returns the secondary text for a recipient: its template, rendered like a headline, or
// else the plain text.
func (n *Notification) BodyFor(recipient User) string {
	if n.BodyTemplate == "" {
		return n.Body
	}
	body := Notification{ActionUser: n.ActionUser, Headline: n.BodyTemplate, TemplateData: n.BodyData, Names: n.Names}
	return body.RenderHeadline().For(recipient)
}

// value returns the text of a variable, at most as long as a headline. ok is false if the variable
// is unchanged.
func (n *Notification) value(name string) (text string, ok bool) {
	text, ok = n.templateText(n.TemplateData[name])
	if !ok && name == ActionUser {
		text, ok = n.nameOf(n.ActionUser), true
	}
	return Isolate(Cut(text, MaxHeadline)), ok
}

// pieces yields a template in pieces, and whether each is a variable, `{name}`: text between
// braces, without a brace.
func pieces(template string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for template != "" {
			end := len(template)
			variable := false
			if template[0] != '{' {
				if i := strings.IndexByte(template, '{'); i >= 0 {
					end = i
				}
			} else if i := strings.IndexAny(template[1:], "{}"); i >= 0 {
				end = 1 + i
				if variable = template[end] == '}'; variable {
					end++
				}
			}
			if !yield(template[:end], variable) {
				return
			}
			template = template[end:]
		}
	}
}

// nameOf returns the present name of a user, or else the name in the object, or the id.
func (n *Notification) nameOf(u User) string { return cmp.Or(n.Names[u.UserID], u.DisplayName()) }

// templateText returns a value as text: a string, a number as sent, a boolean, or a user's name or
// id. ok is false for other values, such as null.
func (n *Notification) templateText(value JSON) (text string, ok bool) {
	if len(value) == 0 {
		return "", false
	}
	switch value[0] {
	case '"':
		err := json.Unmarshal(value, &text)
		return text, err == nil
	case '{':
		u := UserOf(value)
		return n.nameOf(u), u.UserID != ""
	case 't', 'f', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return string(value), true
	}
	return "", false
}
