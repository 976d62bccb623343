package erasure

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"collabdata/shared/collab"
	"collabdata/shared/keys"
)

const (
	// distinct is how long an id is, in bytes, that names the person in whatever text it is equal to. A shorter one may be something else's:
	// it names the person in the fields that are for users alone.
	distinct = 8

	mostNames = 100 // names and addresses that a job remembers
)

// people are those who are forgotten, with the names and addresses that user objects of theirs have. Safe for concurrent use.
type people struct {
	ids     map[string]bool
	escaped map[string]bool // as parts of keys have them

	mu    sync.Mutex
	names map[string]bool
}

func newPeople(ids, names []string) *people {
	p := &people{ids: map[string]bool{}, escaped: map[string]bool{}, names: map[string]bool{}}
	for _, id := range ids {
		p.ids[id], p.escaped[keys.Escape(id)] = true, true
	}
	for _, name := range names {
		p.names[name] = true
	}
	return p
}

// known returns the names and addresses, sorted.
func (p *people) known() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.names))
}

// learn remembers the names and addresses of a user object.
func (p *people) learn(user map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, field := range []string{"name", "email"} {
		if text, _ := user[field].(string); text != "" && text != collab.ErasedUserName && len(text) < 500 && len(p.names) < mostNames {
			p.names[text] = true
		}
	}
}

// calledBy returns the names and addresses of which keep says so.
func (p *people) calledBy(keep func(name string) bool) (list []string) {
	for _, name := range p.known() {
		if keep(name) {
			list = append(list, name)
		}
	}
	return list
}

// form says what a JSON text is, and so in which of its texts the people may be named.
type form uint8

const (
	object form = iota // of a caller's, or of the service's: users stand in fields for users
	prose              // what is shown of a notification: names stand in its texts, too
	answer             // of a request, or what a job means: whatever is equal to an id is one
)

// json returns a JSON text without the people, and whether that differs. What is no JSON stays. name is that of the field that holds it.
func (p *people) json(name string, text []byte, of form) ([]byte, bool) {
	if !p.mayName(text, of) {
		return text, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return text, false
	}
	v, changed, _ := p.value(name, v, of)
	if !changed {
		return text, false
	}
	made, err := collab.EncodeJSON(v)
	if err != nil {
		return text, false // what was decoded has a JSON form
	}
	return made, true
}

// mayName reports whether a JSON text may name one of the people: an escape in it may hide an id.
func (p *people) mayName(text []byte, of form) bool {
	if bytes.IndexByte(text, '\\') >= 0 {
		return true
	}
	for id := range p.ids {
		if bytes.Contains(text, []byte(id)) {
			return true
		}
	}
	return len(p.calledBy(func(name string) bool {
		return (of == prose || strings.Contains(name, "@")) && bytes.Contains(text, []byte(name))
	})) > 0
}

// value returns a value without the people; drop says that it stands for one of them and nothing else.
func (p *people) value(name string, v any, of form) (_ any, changed, drop bool) {
	switch v := v.(type) {
	case map[string]any:
		return p.object(v, of)
	case []any:
		kept := v[:0:0]
		list := listsUsers(name)
		for _, e := range v {
			e, differs, gone := p.value(name, e, of)
			if changed = changed || differs; !gone || !list {
				kept = append(kept, e)
			}
		}
		return kept, changed, false
	case string:
		made := p.text(name, v, of)
		return made, made != v, made == collab.ErasedUser && v != made
	}
	return v, false, false
}

// listsUsers reports whether a field of this name holds a list of users: those who are forgotten go out of it.
func listsUsers(name string) bool {
	switch name {
	case "people", "notifyUsers", "users":
		return true
	}
	return strings.HasSuffix(name, "UserIds") || name == "userIds"
}

// namesUser reports whether a field of this name holds the id of a user.
func namesUser(name string) bool {
	return name == "userId" || strings.HasSuffix(name, "UserId") || listsUsers(name)
}

func (p *people) object(m map[string]any, of form) (_ any, changed, drop bool) {
	if id, _ := m["userId"].(string); p.ids[id] {
		p.learn(m)
		if contact, tag := m["contact"].(map[string]any); tag {
			p.learn(contact)
			return map[string]any{"userId": collab.ErasedUser, "contact": collab.Erased()}, true, true
		}
		if _, event := m["organizationIds"]; event || len(m) == 1 {
			return map[string]any{"userId": collab.ErasedUser}, true, true
		}
		return collab.Erased(), true, true
	}
	by := map[string]bool{} // the fields that held one of the people
	for _, key := range slices.Sorted(maps.Keys(m)) {
		made, differs, gone := p.value(key, m[key], of)
		if differs {
			m[key], changed = made, true
		}
		by[key] = gone
		if p.ids[key] && (of == answer || len(key) >= distinct) {
			changed = true
			m[collab.ErasedUser] = m[key]
			delete(m, key)
		}
	}
	if by["from"] && m["commentId"] != nil { // a comment of theirs in an event
		for _, key := range []string{"commentText", "commentHtml", "taggedUserContacts"} {
			delete(m, key)
		}
	}
	if by["actionUser"] && m["notificationId"] != nil { // a notification of theirs in an event
		for _, key := range []string{
			"displayHeadlineMessageTemplateData", "displayBodyMessage", "displayBodyMessageTemplate", "displayBodyMessageTemplateData",
			"notificationSourceData", "metadata",
		} {
			delete(m, key)
		}
		m["displayHeadlineMessageTemplate"] = ""
	}
	return m, changed, false
}

// text returns a text that stands in a field of a name without the people: their ids and addresses where it is equal to one, mentions of
// them, and in prose their names.
func (p *people) text(name, text string, of form) string {
	if p.ids[text] && (of == answer || namesUser(name) || len(text) >= distinct) {
		return collab.ErasedUser
	}
	text = p.withoutMentions(text)
	for _, known := range p.known() {
		switch {
		case text == known && (of == prose || strings.Contains(known, "@")):
			return collab.ErasedUserName
		case of == prose:
			text = replaceWord(text, known, collab.ErasedUserName)
		}
	}
	return text
}

// withoutMentions returns the text of a comment without mentions of the people.
func (p *people) withoutMentions(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	for id := range p.ids {
		text = strings.ReplaceAll(text, "{{"+id+"}}", "{{"+collab.ErasedUser+"}}")
	}
	return text
}

// named reports whether a text that somebody else made, such as the answer of a receiver, has an id, a name or an address of the people.
func (p *people) named(text string) bool {
	for id := range p.ids {
		if replaceWord(text, id, "") != text {
			return true
		}
	}
	return len(p.calledBy(func(name string) bool { return replaceWord(text, name, "") != text })) > 0
}

// replaceWord replaces a word where neither a letter nor a digit stands next to it.
func replaceWord(text, word, with string) string {
	if !strings.Contains(text, word) {
		return text
	}
	var b strings.Builder
	last := ' '
	for text != "" {
		rest, ok := strings.CutPrefix(text, word)
		next, _ := utf8.DecodeRuneInString(rest)
		if ok && !inWord(last) && (rest == "" || !inWord(next)) {
			b.WriteString(with)
			last, text = ' ', rest
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		b.WriteString(text[:n])
		last, text = r, text[n:]
	}
	return b.String()
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// before returns a text that sorts right before an id, and after all that sort before that, so that a place behind the id can be kept.
func before(id string) string {
	r, n := utf8.DecodeLastRuneInString(id)
	r--
	if !utf8.ValidRune(r) {
		r = 0xD7FF // the one before the surrogates
	}
	return id[:len(id)-n] + string(r) + string(utf8.MaxRune)
}
