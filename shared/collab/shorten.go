package collab

import "encoding/json"

// What a shortened event keeps of what it holds, in bytes as EncodeJSON writes them.
const (
	shortName   = 200   // of a name
	shortEmail  = 320   // of an e-mail address: no real one exceeds it
	shortMember = 200   // of any other member of an object
	shortText   = 1_000 // of a value of a headline's template
)

// Shorten makes the event's JSON fit into limit bytes. An event that does not fit says so in Truncated, and is cut: the
// context and long members such as the icon of a status go, each text keeps its beginning, and of many comments the last go. People are
// never left out: who acted, the assignee, those in People, and the author of each comment that is kept. They alone may exceed the limit.
// What the event points to is copied before it is changed.
func (e *Event) Shorten(limit int) error {
	body, err := EncodeJSON(e)
	if err != nil || len(body) <= limit {
		return err
	}
	e.Truncated = true
	if e.Actor != nil {
		actor := e.Actor.Short()
		e.Actor = &actor
	}
	e.Annotation, e.Previous = e.Annotation.short(), e.Previous.short()
	e.Notification = e.Notification.short(limit)
	comments := make([]EventComment, len(e.Comments))
	for i, c := range e.Comments {
		comments[i] = c.short(max(limit/6/len(comments), limit/64))
	}
	for e.Comments = comments; len(e.Comments) > 1; e.Comments = e.Comments[:len(e.Comments)/2] {
		if body, err = EncodeJSON(e); err != nil || len(body) <= limit {
			return err
		}
	}
	return nil
}

// Short returns the user without details, with a name of at most 200 bytes, and without an address of more than 320, as EncodeJSON writes
// them: a cut address may be somebody else's.
func (u User) Short() User {
	u.UserDetails = UserDetails{}
	u.Name = cutEncodedOpt(u.Name, shortName)
	if email := Deref(u.Email); CutEncoded(email, shortEmail) != email {
		u.Email = nil
	}
	return u
}

// short returns the comment with text, HTML and tags of at most limit bytes each, as EncodeJSON writes them, and with short names. Of the
// tags the last are left out.
func (c EventComment) short(limit int) EventComment {
	c.Text, c.HTML = cutEncodedOpt(c.Text, limit), cutEncodedOpt(c.HTML, limit)
	c.From = shortUser(c.From)
	if len(c.TaggedUserContacts) > limit {
		c.TaggedUserContacts = shortTags(c.TaggedUserContacts, limit)
	}
	return c
}

// short returns the notification with what its headline needs, within three quarters of the limit. The whole one is stored by itself.
func (n *Notification) short(limit int) *Notification {
	if n == nil {
		return nil
	}
	s := *n
	s.ActionUser = n.ActionUser.Short()
	s.Headline, s.Body = CutEncoded(n.Headline, min(limit/8, maxTemplate)), CutEncoded(n.Body, limit/8)
	s.BodyTemplate, s.BodyData, s.Metadata, s.Location = "", nil, nil, shortObject(n.Location)
	if len(n.SourceData) > limit/4 {
		s.SourceData = nil
	}
	s.TemplateData = nil
	left := limit / 4
	for piece, variable := range pieces(s.Headline) {
		if !variable {
			continue
		}
		name := piece[1 : len(piece)-1]
		value := n.TemplateData[name]
		if _, done := s.TemplateData[name]; done || value == nil {
			continue
		}
		if len(value) > shortText {
			text, _ := templateText(value)
			value, _ = EncodeJSON(CutEncoded(text, shortText)) // a text always has a JSON form
		}
		if left -= len(name) + len(value); left < 0 {
			break
		}
		if s.TemplateData == nil {
			s.TemplateData = map[string]JSON{}
		}
		s.TemplateData[name] = value
	}
	return &s
}

// shortUser returns a user object with short texts.
func shortUser(object JSON) JSON {
	var u User
	if len(object) <= shortName+shortEmail || json.Unmarshal(object, &u) != nil {
		return object
	}
	text, _ := EncodeJSON(u.Short()) // a user always has a JSON form
	return text
}

// shortObject returns an object of the contract with a short name and without other long members.
func shortObject(object JSON) JSON {
	var members map[string]JSON
	if len(object) <= shortName+shortMember || json.Unmarshal(object, &members) != nil {
		return object
	}
	for name, value := range members {
		var text string
		switch {
		case name == "id" || len(value) <= shortMember:
		case (name == "name" || name == "locationName") && json.Unmarshal(value, &text) == nil:
			members[name], _ = EncodeJSON(CutEncoded(text, shortName)) // a text always has a JSON form
		default:
			delete(members, name)
		}
	}
	text, _ := EncodeJSON(members) // as they had one before
	return text
}

// Tag is a user whom a comment tags.
type Tag struct {
	UserID  string `json:"userId"`
	Contact *User  `json:"contact,omitempty"` // as the request named the user
}

// Tags reads the tags of a comment; nil for none.
func Tags(taggedUserContacts JSON) (tags []Tag) {
	if len(taggedUserContacts) == 0 || json.Unmarshal(taggedUserContacts, &tags) != nil {
		return nil
	}
	return tags
}

// shortTags returns the first of the tags of a comment that take at most limit bytes together, with short names.
func shortTags(contacts JSON, limit int) JSON {
	tags := Tags(contacts)
	for i := range tags {
		if c := tags[i].Contact; c != nil {
			*c = c.Short()
		}
		tag, _ := EncodeJSON(tags[i]) // a tag always has a JSON form
		if limit -= len(tag) + len(","); limit < len("[]") {
			tags = tags[:i]
			break
		}
	}
	text, _ := EncodeJSON(tags)
	return text
}
