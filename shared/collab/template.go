package collab

import (
	"encoding/json"
	"strings"
)

// Names that every headline template knows.
const (
	ActionUser    = "actionUser"
	RecipientUser = "recipientUser"
)

// HeadlineFor returns the notification's headline as one recipient reads it: plain text, to be escaped where it is shown as anything
// else. Where the template data leaves them out, `{actionUser}` is the user who acted and `{recipientUser}` the recipient.
func (n *Notification) HeadlineFor(recipient User) string {
	return renderTemplate(n.Headline, func(name string) (string, bool) {
		if text, ok := templateText(n.TemplateData[name]); ok {
			return text, true
		}
		switch name {
		case ActionUser:
			return n.ActionUser.DisplayName(), true
		case RecipientUser:
			return recipient.DisplayName(), true
		}
		return "", false
	})
}

// renderTemplate replaces each `{name}` by the value of that name; a name without one stays as it is, braces included. A name is what
// stands between a brace and the next one that closes it, with no brace in between. What a value holds is never expanded.
func renderTemplate(template string, value func(name string) (text string, ok bool)) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			break
		}
		b.WriteString(template[:open])
		template = template[open:]
		n := strings.IndexAny(template[1:], "{}")
		if n < 0 {
			break
		}
		end := 1 + n
		if template[end] == '}' {
			name := template[1:end]
			end++
			if text, ok := value(name); ok {
				b.WriteString(text)
				template = template[end:]
				continue
			}
		}
		b.WriteString(template[:end])
		template = template[end:]
	}
	b.WriteString(template)
	return b.String()
}

// templateText returns how a template shows a value: a text as it is, a number as it was written, a boolean, a user by name, else
// e-mail address, else id. ok is false for anything else, absence and null among it.
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
