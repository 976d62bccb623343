package commentannotations

import (
	"bytes"
	"encoding/json"
	"strings"

	"collabdata/shared/collab"
)

// replacements maps the id of an old user to the new user. All replacements apply at once, so two
// users can be swapped.
type replacements map[string]collab.User

// replaceInHead replaces the creator and the assignee, and reports whether it changed anything.
func (r replacements) replaceInHead(a *collab.Annotation) (changed bool) {
	creator := r.replace(&a.From, &a.CreatorID)
	assignee := a.AssigneeID()
	return r.replace(&a.AssignedTo, &assignee) || creator
}

// replace replaces a user object, and the id stored with it.
func (r replacements) replace(user *collab.JSON, id *string) (changed bool) {
	replacement, ok := r[*id]
	if !ok {
		return false
	}
	object := encode(replacement)
	changed = !bytes.Equal(object, *user)
	*user, *id = object, replacement.UserID
	return changed
}

// replaceInComment replaces the author, the tagged contacts, and the tokens of tagged users in text
// and HTML.
func (r replacements) replaceInComment(c *collab.Comment) (changed bool, err error) {
	author := r.replace(&c.From, &c.AuthorID)
	tags, tokens, err := r.replaceTags(c.TaggedUserContacts)
	if err != nil || tokens == nil {
		return author, err
	}
	tagged := !bytes.Equal(tags, c.TaggedUserContacts)
	c.TaggedUserContacts = tags
	c.Text, c.HTML = replaceTokens(tokens, c.Text), replaceTokens(tokens, c.HTML)
	return author || tagged, nil
}

// replaceTags replaces users in the tags of a comment, except for the texts. tokens holds pairs of
// old and new tokens, or is nil.
func (r replacements) replaceTags(stored collab.JSON) (tags collab.JSON, tokens []string, err error) {
	if stored == nil {
		return nil, nil, nil
	}
	var list []Tag
	if err := json.Unmarshal(stored, &list); err != nil {
		return nil, nil, err
	}
	for i := range list {
		tag := &list[i]
		replacement, ok := r[tag.UserID]
		if !ok {
			continue
		}
		tokens = append(tokens, token(tag.UserID), token(replacement.UserID))
		tag.UserID = replacement.UserID
		if tag.Contact != nil {
			tag.Contact = &replacement
		}
	}
	if tokens == nil {
		return stored, nil, nil
	}
	return encode(list), tokens, nil
}

func token(userID string) string { return "{{" + userID + "}}" }

func replaceTokens(tokens []string, text *string) *string {
	if text == nil {
		return nil
	}
	replaced := strings.NewReplacer(tokens...).Replace(*text)
	return &replaced
}
