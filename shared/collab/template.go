package collab

import (
	"encoding/json"
	"iter"
	"strings"
)

// Names that every headline template knows.
const (
	ActionUser    = "actionUser"
	RecipientUser = "recipientUser"
)

// MaxHeadline is the most that a headline takes, in bytes.
const MaxHeadline = 1_000

// maxTemplate is how much of a template is read, in bytes: what follows would hardly ever be part of a headline.
const maxTemplate = 4 * MaxHeadline

// Headline is a notification's headline with its values, except the recipient's name.
type Headline struct {
	parts []string // between each two of them comes the recipient's name
}

// RenderHeadline puts the values into the notification's template. Where the template data leaves them out, `{actionUser}` is the user who
// acted and `{recipientUser}` the recipient. A name without a value stays as it is, braces included; what a value holds is never expanded.
// It takes time and memory by the sizes of template and data, however often the template names a value.
func (n *Notification) RenderHeadline() Headline {
	var (
		parts []string
		part  strings.Builder
		left  = MaxHeadline
		known = map[string]string{} // the texts of values used, and the variables themselves where there is none
	)
	for piece, variable := range pieces(Cut(n.Headline, maxTemplate)) {
		if variable {
			text, ok := known[piece]
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
				known[piece] = text
			}
			piece = text
		}
		kept := Cut(piece, left)
		part.WriteString(kept)
		if left -= len(kept); left == 0 || len(kept) < len(piece) {
			break
		}
	}
	return Headline{append(parts, part.String())}
}

// For returns the headline as one recipient reads it, at most MaxHeadline bytes: plain text, to be escaped where it is shown as anything
// else.
func (h Headline) For(recipient User) string {
	b := NewBounded(MaxHeadline)
	for i, part := range h.parts {
		if i > 0 {
			b.WriteString(Isolate(recipient.DisplayName()))
		}
		b.WriteString(part)
	}
	return b.String()
}

// BodyFor returns the secondary text as a recipient reads it: its template, filled in and bounded like a headline, else the plain text.
func (n *Notification) BodyFor(recipient User) string {
	if n.BodyTemplate == "" {
		return n.Body
	}
	body := Notification{ActionUser: n.ActionUser, Headline: n.BodyTemplate, TemplateData: n.BodyData}
	return body.RenderHeadline().For(recipient)
}

// value returns the text in the place of a variable, not longer than a headline; ok is false where the variable stays as it is.
func (n *Notification) value(name string) (text string, ok bool) {
	text, ok = templateText(n.TemplateData[name])
	if !ok && name == ActionUser {
		text, ok = n.ActionUser.DisplayName(), true
	}
	return Isolate(Cut(text, MaxHeadline)), ok
}

// pieces yields a template in pieces, each with whether it is a variable, `{name}`: a text between an opening and a closing
// brace, with no brace in it.
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

// templateText returns how a template shows a value: a text as it is, a number as it was written, a boolean, a user by name, else
// id. ok is false for anything else, absence and null among it.
func templateText(value JSON) (text string, ok bool) {
	if len(value) == 0 {
		return "", false
	}
	switch value[0] {
	case '"':
		err := json.Unmarshal(value, &text)
		return text, err == nil
	case '{':
		var u User
		err := json.Unmarshal(value, &u)
		return u.DisplayName(), err == nil && u.UserID != ""
	case 't', 'f', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return string(value), true
	}
	return "", false
}
